/** The port of a tool: what the model is told of it, and what happens when it is called. */
import { en } from "zod/locales";
import * as z from "zod/mini";
import type { Address, SessionKey } from "../../message.js";
import type { ToolSpec } from "../../providers/provider.js";
import { reasonOf, UserError } from "../../util/errors.js";
import { castArguments } from "./cast.js";

/** Which chat a call serves. Comes with every call; tools keep no state between turns. */
export type ToolContext = {
  readonly session: SessionKey;
  readonly from: Address;
  readonly signal: AbortSignal;
  /**
   * Told when a tool has itself spoken to a chat. If that is the chat of the turn, its final reply is stored, but no
   * longer sent.
   */
  readonly said?: (to: Address) => void;
  /** Nobody has asked: the clock has. */
  readonly unasked?: true;
};

export type Tool = {
  readonly spec: ToolSpec;
  /** The result as the model will read it. What goes wrong is told in words as well; only an abort is thrown. */
  call(argumentsText: string, context: ToolContext): Promise<string>;
};

type Definition<Input extends z.ZodMiniObject> = {
  readonly name: string;
  readonly description: string;
  readonly input: Input;
  /** A thrown error tells the model what went wrong. */
  run(input: z.infer<Input>, context: ToolContext): Promise<string> | string;
};

/** A refusal whose message is written for the model: what is wrong, and what it can do instead. */
export class ToolError extends Error {
  override readonly name = "ToolError";
}

/** What a model reads behind an error, so that it does not simply repeat itself. */
export const errorAdvice = "\n\n[Analyze the error above and try a different approach.]";

export function defineTool<Input extends z.ZodMiniObject>(definition: Definition<Input>): Tool {
  const { name, description, input } = definition;
  let parameters: ToolSpec["parameters"] | undefined;
  const spec: ToolSpec = {
    name,
    description,
    // Made when first asked for: most commands, and every start, do without.
    get parameters() {
      return (parameters ??= parametersOf(input));
    },
  };
  return {
    spec,
    async call(argumentsText, context) {
      context.signal.throwIfAborted();
      const parsed = readArguments(spec, input, argumentsText);
      if (typeof parsed === "string") return parsed + errorAdvice;
      try {
        const result = await definition.run(parsed.value, context);
        return result.startsWith("Error") ? result + errorAdvice : result;
      } catch (error) {
        context.signal.throwIfAborted();
        return inWords(name, error) + errorAdvice;
      }
    },
  };
}

function inWords(name: string, error: unknown): string {
  if (error instanceof ToolError) return `Error: ${error.message}`;
  const fix = error instanceof UserError ? ` ${error.fix}` : "";
  return `Error executing ${name}: ${reasonOf(error)}${fix}`;
}

/** JSON Schema without what only validators want to know. */
function parametersOf(input: z.ZodMiniObject): Readonly<Record<string, unknown>> {
  const { $schema: _, additionalProperties: __, ...schema } = z.toJSONSchema(input, { io: "input" });
  return schema;
}

function readArguments<Input extends z.ZodMiniObject>(
  { name, parameters }: ToolSpec,
  input: Input,
  text: string,
): { value: z.infer<Input> } | string {
  let raw: unknown;
  try {
    raw = JSON.parse(text.trim() === "" ? "{}" : text);
  } catch (error) {
    return `Error: Invalid parameters for tool '${name}': not valid JSON (${reasonOf(error)})`;
  }
  const result = z.safeParse(input, castArguments(parameters, raw), { error: en().localeError });
  if (result.success) return { value: result.data };
  const problems = result.error.issues.map(({ path, message }) => `${path.join(".") || "arguments"}: ${message}`);
  return `Error: Invalid parameters for tool '${name}': ${problems.join("; ")}`;
}
