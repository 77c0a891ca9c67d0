/** What OpenAI's and Anthropic's APIs refuse, together: the reason, or undefined for a request both would take. */
import type { ModelMessage } from "../../src/message.js";

const allowedFields: Readonly<Record<string, readonly string[]>> = {
  system: ["role", "content"],
  user: ["role", "content"],
  assistant: ["role", "content", "tool_calls"],
  tool: ["role", "content", "tool_call_id", "name"],
};

export function refusal(messages: readonly ModelMessage[]): string | undefined {
  if (messages[0]?.role !== "system") return "the first message must be the system message";
  if (messages.filter(({ role }) => role === "system").length !== 1) return "more than one system message";
  if (messages[1]?.role !== "user") return "the first message after the system message must be the user's";
  const last = messages.at(-1);
  if (last?.role !== "user" && last?.role !== "tool") return "nothing is asked";
  const seenIds = new Set<string>();
  let open: string[] = [];
  for (const [at, message] of messages.entries()) {
    const where = `messages[${at}]`;
    for (const field of Object.keys(message)) {
      if (!allowedFields[message.role]?.includes(field)) return `${where}: unknown field ${field}`;
    }
    const textProblem = contentProblem(message);
    if (textProblem !== undefined) return `${where}: ${textProblem}`;
    if (message.role === "tool") {
      if (!open.includes(message.tool_call_id)) return `${where}: a tool result without its call`;
      open = open.filter((id) => id !== message.tool_call_id);
      continue;
    }
    if (open.length > 0) return `${where}: calls without results before it: ${open.join(", ")}`;
    if (message.role === messages[at - 1]?.role) return `${where}: two ${message.role} messages in a row`;
    if (message.role !== "assistant" || message.tool_calls === undefined) continue;
    if (message.tool_calls.length === 0) return `${where}: an empty list of calls`;
    for (const { id, type, function: called } of message.tool_calls) {
      if (!/^[a-zA-Z0-9_-]{1,40}$/.test(id)) return `${where}: bad call id ${id}`;
      if (seenIds.has(id)) return `${where}: call id ${id} is used twice`;
      if (type !== "function" || !/^[a-zA-Z0-9_-]{1,64}$/.test(called.name)) return `${where}: bad call`;
      if (!isJsonObject(called.arguments)) return `${where}: arguments are not a JSON object`;
      seenIds.add(id);
      open.push(id);
    }
  }
  return open.length > 0 ? `calls without results: ${open.join(", ")}` : undefined;
}

function contentProblem(message: ModelMessage): string | undefined {
  const { content } = message;
  if (content === null) {
    return message.role === "assistant" && message.tool_calls !== undefined ? undefined : "no content";
  }
  const texts =
    typeof content === "string" ? [content] : content.flatMap((part) => (part.type === "text" ? [part.text] : []));
  if (typeof content !== "string" && content.length === 0) return "an empty list of parts";
  for (const text of texts) {
    if (typeof text !== "string") return "a text that is none";
    if (text.trim() === "") return "text must not be blank";
    if (!text.isWellFormed()) return "half a character";
  }
  return undefined;
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}
