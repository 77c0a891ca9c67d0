/** A backend as a model for the small tasks around conversations, such as memory: each request is a call that stands alone. */
import { randomUUID } from "node:crypto";
import type { ModelMessage } from "../message.js";
import { type Model, ModelError, type ToolSpec } from "../providers/provider.js";
import type { Backend } from "./backend.js";
import type { Rotation } from "./rotation.js";

export function modelOf(backend: Backend, once: Rotation["once"], contextTokens: number): Model {
  return {
    name: backend.name,
    contextTokens,
    async *stream({ messages, tools, mustCall }, signal) {
      const wanted = tools.find(({ name }) => name === mustCall);
      const { text, usage } = await once({
        chat: backend.name,
        system: spoken(messages, "system"),
        message: [spoken(messages, "user"), ...(wanted ? [asObject(wanted)] : [])].join("\n\n"),
        files: [],
        signal,
        starting: () => {},
      });
      const toolCalls = wanted ? [callOf(wanted.name, text)] : [];
      yield { kind: "reply", reply: { text: wanted ? null : text, toolCalls, end: wanted ? "tools" : "stop", usage } };
    },
  };
}

const spoken = (messages: readonly ModelMessage[], role: ModelMessage["role"]): string =>
  messages
    .filter((message) => message.role === role)
    .map(({ content }) => (typeof content === "string" ? content : ""))
    .join("\n\n");

const asObject = ({ name, parameters }: ToolSpec): string =>
  `You have no tools for this. Instead of calling ${name}, answer with its arguments: one JSON object, and nothing around ` +
  `it, by this schema:\n${JSON.stringify(parameters)}`;

/** The object in an answer; some put a fence around it, or a word in front. */
function callOf(name: string, text: string) {
  const found = /\{[\s\S]*\}/.exec(text)?.[0];
  try {
    JSON.parse(found ?? "");
  } catch (error) {
    throw new ModelError("request", `there is no JSON object in the answer: ${text.slice(0, 200)}`, "Try again.", {
      cause: error,
    });
  }
  return {
    id: `call_${randomUUID().slice(0, 8)}`,
    type: "function",
    function: { name, arguments: found ?? "" },
  } as const;
}
