/** What the claude command prints while it works (`stream-json`), as the events that a turn of our own would have. */
import { type TurnEvent, toolHint } from "../agent/loop.js";
import type { ToolCall } from "../message.js";
import { type ClaudeEvent, isEvent } from "./claude-output.js";

export type ClaudeStream = {
  /** Takes one line; what kind of line it was. */
  push(line: string): "event" | "result" | "noise";
  /** The answer as far as it was seen. */
  partial(): string;
  toolsUsed(): readonly string[];
};

/** As much of a tool's result is shown; nobody reads more of it while it runs. */
const shownChars = 4000;

export function createClaudeStream(on: (event: TurnEvent) => void): ClaudeStream {
  let text = "";
  /** The message whose text came in pieces; it also comes as a whole. */
  let inPieces: unknown;
  const calls = new Map<string, ToolCall>();

  const say = (more: string): void => {
    if (more === "") return;
    text += more;
    on({ kind: "text", text: more });
  };

  /** What was said so far was not the answer. */
  const goOn = (): void => {
    if (text === "") return;
    on({ kind: "restart" });
    on({ kind: "progress", text });
    text = "";
  };

  const onPiece = (event: unknown): void => {
    if (!isEvent(event)) return;
    if (event["type"] === "message_start") {
      goOn();
      inPieces = isEvent(event["message"]) ? event["message"]["id"] : undefined;
    }
    const { delta } = event;
    if (isEvent(delta) && delta["type"] === "text_delta") say(textOf(delta["text"]));
  };

  const onMessage = ({ message, is_api_error_message: isError }: ClaudeEvent): void => {
    // An error of the API is dressed up as an answer; the result says what it is.
    if (!isEvent(message) || isError === true || message["model"] === "<synthetic>") return;
    for (const block of blocksOf(message)) {
      if (block["type"] === "text" && message["id"] !== inPieces) say(textOf(block["text"]));
      if (block["type"] !== "tool_use") continue;
      goOn();
      const call: ToolCall = {
        id: textOf(block["id"]),
        type: "function",
        function: { name: textOf(block["name"]), arguments: JSON.stringify(block["input"] ?? {}) },
      };
      calls.set(call.id, call);
      on({ kind: "tool-call", call, hint: toolHint(call) });
    }
  };

  const onResults = ({ message }: ClaudeEvent): void => {
    for (const block of isEvent(message) ? blocksOf(message) : []) {
      const call = calls.get(textOf(block["tool_use_id"]));
      if (block["type"] !== "tool_result" || !call) continue;
      const { content } = block;
      const result = Array.isArray(content) ? content.map(partText).join("\n") : textOf(content);
      on({ kind: "tool-result", call, result: result.slice(0, shownChars).toWellFormed() });
    }
  };

  return {
    push(line) {
      const event = eventOf(line);
      if (!event) return "noise";
      if (event["type"] === "result") return "result";
      // What its helpers say among themselves is not for the chat.
      if ((event["parent_tool_use_id"] ?? null) !== null) return "event";
      if (event["type"] === "stream_event") onPiece(event["event"]);
      else if (event["type"] === "assistant") onMessage(event);
      else if (event["type"] === "user") onResults(event);
      return "event";
    },
    partial: () => text.trim(),
    toolsUsed: () => [...calls.values()].map((call) => call.function.name),
  };
}

function eventOf(line: string): ClaudeEvent | undefined {
  try {
    const value: unknown = JSON.parse(line);
    return isEvent(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : "");
const blocksOf = ({ content }: ClaudeEvent): ClaudeEvent[] => (Array.isArray(content) ? content.filter(isEvent) : []);
const partText = (part: unknown): string => (isEvent(part) ? textOf(part["text"]) : "");
