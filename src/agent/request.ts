/**
 * One pure function from what was said to what a model is asked: always legal, always within the limit, whatever the
 * history looks like. Between `past` and `turn` runs the line that may be crossed only in need: what is asked right now
 * is cut last.
 */
import type { ModelMessage, Row } from "../message.js";
import { legalMessages, takingTurns } from "./legal.js";
import { cutText, tokensOf, tokensOfText } from "./tokens.js";

export type RequestParts = {
  readonly system: string;
  /** Earlier rows, oldest first. */
  readonly past: readonly Row[];
  /** This turn so far: the user's message, then what model and tools have said. */
  readonly turn: readonly Row[];
  /** So many tokens the request may have. */
  readonly limit: number;
};

export function buildRequest({ system, past, turn, limit }: RequestParts): ModelMessage[] {
  const head: ModelMessage = {
    role: "system",
    content: system.trim() === "" ? "You are a helpful assistant." : system,
  };
  const now = startingWithUser(legalMessages(turn));
  const room = limit - tokensOf([head]) - tokensOf(now);
  if (room < 0) return squeezed([head, ...takingTurns(now)], limit);
  const history = newestExchanges(legalMessages(past), room);
  return uniqueIds([head, ...takingTurns([...history, ...now])]);
}

/** Conversations start with a user; where rows do not, a mark stands in. */
const opening: ModelMessage = { role: "user", content: "(earlier)" };

const startingWithUser = (messages: readonly ModelMessage[]): readonly ModelMessage[] =>
  messages[0]?.role === "user" ? messages : [opening, ...messages];

/**
 * When not all fit, the beginning moves in steps of so many exchanges: were it to move with every turn, no prompt cache
 * would ever hit.
 */
const step = 8;

/** As many whole exchanges from the end as there is room for. An exchange is a user's message and all that answers it. */
function newestExchanges(messages: readonly ModelMessage[], room: number): readonly ModelMessage[] {
  const starts = messages.flatMap(({ role }, at) => (role === "user" || at === 0 ? [at] : []));
  let first = starts.length;
  let left = room - (messages[0]?.role === "user" ? 0 : tokensOf([opening]));
  while (first > 0) {
    left -= tokensOf(messages.slice(starts[first - 1], starts[first]));
    if (left < 0) break;
    first--;
  }
  const stepped = Math.ceil(first / step) * step;
  const start = starts[stepped < starts.length ? stepped : first];
  return start === undefined ? [] : startingWithUser(messages.slice(start));
}

/** Ids are unique within `past` and within `turn`; together they may meet. */
function uniqueIds(messages: readonly ModelMessage[]): ModelMessage[] {
  const used = new Set<string>();
  const renamed = new Map<string, string>();
  return messages.map((message) => {
    if (message.role === "assistant" && message.tool_calls !== undefined) {
      renamed.clear();
      const calls = message.tool_calls.map((call) => {
        let id = call.id;
        for (let count = 2; used.has(id); count++) id = `${call.id.slice(0, 32)}_${count}`;
        used.add(id);
        renamed.set(call.id, id);
        return { ...call, id };
      });
      return { ...message, tool_calls: calls };
    }
    if (message.role !== "tool") return message;
    return { ...message, tool_call_id: renamed.get(message.tool_call_id) ?? message.tool_call_id };
  });
}

/** No text of a squeezed request is cut below this, as long as there are rounds to drop. */
const leastTokens = 16;

/** A turn that is too long by itself: no history, the oldest rounds go if there are too many, the longest texts are cut. */
function squeezed(messages: readonly ModelMessage[], limit: number): ModelMessage[] {
  let rest = messages.map(withoutImages);
  while (tokensOf(rest.map((message) => cutMessage(message, leastTokens))) > limit) {
    const shorter = withoutOldestRound(rest);
    if (shorter.length === rest.length) break;
    rest = shorter;
  }
  let low = 1;
  let high = Math.max(leastTokens, limit);
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (tokensOf(rest.map((message) => cutMessage(message, middle))) <= limit) low = middle;
    else high = middle - 1;
  }
  return rest.map((message) => cutMessage(message, low));
}

/** Without the first assistant message behind the user's and the tool results that belong to it. */
function withoutOldestRound(messages: readonly ModelMessage[]): ModelMessage[] {
  const from = messages.findIndex(({ role }) => role === "assistant");
  if (from < 0) return [...messages];
  let to = from + 1;
  while (messages[to]?.role === "tool") to++;
  return takingTurns([...messages.slice(0, from), ...messages.slice(to)]);
}

function withoutImages(message: ModelMessage): ModelMessage {
  if (message.role !== "user" || typeof message.content === "string") return message;
  const texts = message.content.map((part) => (part.type === "text" ? part.text : "[image]"));
  return { role: "user", content: texts.join("\n") };
}

function cutMessage(message: ModelMessage, tokens: number): ModelMessage {
  if (message.role === "assistant") {
    const calls = message.tool_calls?.map((call) =>
      tokensOfText(call.function.arguments) <= tokens
        ? call
        : { ...call, function: { ...call.function, arguments: "{}" } },
    );
    const content = message.content === null ? null : cutText(message.content, tokens);
    return { role: "assistant", content, ...(calls && { tool_calls: calls }) };
  }
  return { ...message, content: cutText(message.content as string, tokens) };
}
