/** Puts the pieces of a streamed chat completion together into one reply. */
import { randomUUID } from "node:crypto";
import type { ToolCall } from "../message.js";
import { BrokenOffFailure, FinishFailure, ProtocolFailure } from "./failures.js";
import type { ModelFailure, Reply, Usage } from "./provider.js";

type Fields = Readonly<Record<string, unknown>>;
type Call = { id: string; name: string; arguments: string };

type End = Reply["end"] | { readonly failure: ModelFailure };

const ends: ReadonlyMap<string, End> = new Map<string, End>([
  ["tool_calls", "tools"],
  ["function_call", "tools"],
  ["length", "length"],
  ["max_tokens", "length"],
  ["content_filter", { failure: "content" }],
  ["safety", { failure: "content" }],
  ["sensitive", { failure: "content" }],
  ["model_context_window_exceeded", { failure: "too-long" }],
  ["insufficient_system_resource", { failure: "overload" }],
  ["network_error", { failure: "overload" }],
  ["error", { failure: "overload" }],
]);

export function createAssembly() {
  const calls: Call[] = [];
  /** Which call the fragments of a choice's index belong to. */
  const places = new Map<string, Call>();
  let text = "";
  let reasoning = "";
  let finish: string | undefined;
  let usage: Usage = { input: 0, output: 0, cached: 0 };

  const callFor = (choice: unknown, fragment: Fields): Call => {
    const id = string(fragment["id"]);
    const place = `${String(choice)}/${String(fragment["index"])}`;
    const known = fragment["index"] === undefined ? calls.at(-1) : places.get(place);
    // Some servers number every call 0, or not at all: a second id is then the only sign of a second call.
    if (known && (id === "" || known.id === "" || known.id === id)) return known;
    const call = { id, name: "", arguments: "" };
    calls.push(call);
    places.set(place, call);
    return call;
  };

  const addCall = (choice: unknown, fragment: Fields): void => {
    const made = fields(fragment["function"]);
    const name = string(made["name"]);
    const call = callFor(choice, fragment);
    call.id ||= string(fragment["id"]);
    if (name !== call.name) call.name += name; // some repeat the name with every fragment
    const given = made["arguments"];
    if (given !== undefined && given !== null)
      call.arguments += typeof given === "string" ? given : JSON.stringify(given);
  };

  return {
    /** Takes one chunk, and says which text came with it and whether anything did. */
    add(chunk: unknown): { readonly text: string; readonly said: boolean } {
      const { choices, usage: counted } = fields(chunk);
      if (typeof counted === "object" && counted !== null) usage = usageOf(fields(counted));
      let added = "";
      let said = false;
      for (const choice of Array.isArray(choices) ? choices.map(fields) : []) {
        const delta = fields(choice["delta"] ?? choice["message"]);
        const { words, thoughts } = contentOf(delta);
        added += words;
        reasoning += thoughts;
        const fragments = Array.isArray(delta["tool_calls"]) ? delta["tool_calls"].map(fields) : [];
        for (const fragment of fragments) addCall(choice["index"], fragment);
        if (typeof choice["finish_reason"] === "string") finish = choice["finish_reason"];
        said ||= words !== "" || thoughts !== "" || fragments.length > 0;
      }
      text += added;
      return { text: added, said };
    },

    get finished(): boolean {
      return finish !== undefined;
    },

    /** The whole reply. Throws if there is none: a stream that ends early is not an answer. */
    reply(): Reply {
      if (finish === undefined) {
        if (text === "" && calls.length === 0) throw new ProtocolFailure("the answer is empty");
        throw new BrokenOffFailure("the answer broke off before its end");
      }
      const end = ends.get(finish.toLowerCase()) ?? "stop";
      if (typeof end === "object") throw new FinishFailure(end.failure, finish);
      return {
        text: text === "" ? null : text,
        toolCalls: withIds(calls),
        ...(reasoning !== "" && { reasoning }),
        // Some say "stop" after a call, and some "tool_calls" without one.
        end: end === "length" ? "length" : calls.length > 0 ? "tools" : "stop",
        usage,
      };
    },
  };
}

const fields = (value: unknown): Fields => (typeof value === "object" && value !== null ? (value as Fields) : {});
const string = (value: unknown): string => (typeof value === "string" ? value : "");
const count = (value: unknown): number => (typeof value === "number" && value > 0 ? Math.round(value) : 0);

/** Text is text, or a list of parts (Mistral); thoughts have three names. */
function contentOf(delta: Fields): { words: string; thoughts: string } {
  const content = delta["content"];
  const parts = Array.isArray(content) ? content.map(fields) : [];
  const listed = (type: string): string =>
    parts
      .filter((part) => part["type"] === type)
      .map(partText)
      .join("");
  return {
    words: (typeof content === "string" ? content : listed("text")) + string(delta["refusal"]),
    thoughts: (string(delta["reasoning_content"]) || string(delta["reasoning"])) + listed("thinking"),
  };
}

const partText = (part: Fields): string =>
  Array.isArray(part["thinking"])
    ? part["thinking"].map((inner) => string(fields(inner)["text"])).join("")
    : string(part["text"]);

function usageOf(counted: Fields): Usage {
  const details = fields(counted["prompt_tokens_details"]);
  return {
    input: count(counted["prompt_tokens"]),
    output: count(counted["completion_tokens"]),
    cached: count(details["cached_tokens"]) || count(counted["prompt_cache_hit_tokens"]), // the second is DeepSeek's
  };
}

/** Every call has an id of its own, whatever the server thought of that. */
function withIds(calls: readonly Call[]): ToolCall[] {
  const taken = new Set<string>();
  return calls.map(({ id, name, arguments: text }) => {
    const own = id !== "" && !taken.has(id) ? id : `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    taken.add(own);
    return { id: own, type: "function", function: { name, arguments: text } };
  });
}
