/** The question behind a heartbeat: is there anything to do now? One call, one tool, no conversation. */
import { complete, type Model, type ToolSpec, type Usage } from "../providers/provider.js";

const tool: ToolSpec = {
  name: "heartbeat",
  description: "Say whether there is something to do now.",
  parameters: {
    type: "object",
    properties: {
      action: {
        type: "string",
        enum: ["skip", "run"],
        description: "skip: nothing is to be done now. run: something is.",
      },
      tasks: { type: "string", description: "With run: what is to be done now, in words that can stand alone." },
    },
    required: ["action"],
  },
};

const role =
  "You look after a list of standing tasks. You are shown the list and the time, and call the tool `heartbeat`: `run` " +
  "with what is to be done now, or `skip` if nothing is.";

export type HeartbeatAnswer = { readonly tasks: string | undefined; readonly usage: Usage };

/** `tasks` is undefined if nothing is to be done; a model that does not call the tool has found nothing either. */
export async function askHeartbeat(
  model: Model,
  file: string,
  time: string,
  signal: AbortSignal,
): Promise<HeartbeatAnswer> {
  const question = `It is ${time}.\n\nHEARTBEAT.md:\n\n${file}`;
  const { toolCalls, usage } = await complete(
    model.stream(
      {
        messages: [
          { role: "system", content: role },
          { role: "user", content: question },
        ],
        tools: [tool],
        mustCall: tool.name,
      },
      signal,
    ),
  );
  const call = toolCalls.find(({ function: { name } }) => name === tool.name);
  const { action, tasks } = argumentsOf(call?.function.arguments);
  if (action !== "run") return { tasks: undefined, usage };
  return { tasks: (typeof tasks === "string" && tasks.trim()) || "Do what HEARTBEAT.md asks for now.", usage };
}

function argumentsOf(text: string | undefined): { readonly action?: unknown; readonly tasks?: unknown } {
  try {
    const value: unknown = JSON.parse(text ?? "{}");
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}
