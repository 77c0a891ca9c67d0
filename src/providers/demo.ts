/** The built-in demo model: no network, no luck, a handful of fixed rules; enough to try everything on a fresh machine. */
import { createHash } from "node:crypto";
import type { ModelMessage, ToolCall } from "../message.js";
import { localIsoTime } from "../util/clock.js";
import { type Clock, systemClock } from "../world.js";
import { evaluate } from "./arithmetic.js";
import { recall, remember, saveMemory } from "./demo-memory.js";
import { type Done, fill, quote, report, type Scene, scheduledTask, type Step, textOf, wordsOf } from "./demo-words.js";
import type { Model, ModelEvent, ModelRequest, ToolSpec } from "./provider.js";

const howToSet =
  "To connect a real one, set a key in the environment (ANTHROPIC_API_KEY, OPENAI_API_KEY, OPENROUTER_API_KEY, …) or as " +
  "providers.<name>.apiKey in config.json, or start Ollama on this machine; then restart nanogate.";

export function createDemo(clock: Clock = systemClock): Model {
  return {
    name: "demo/demo",
    contextTokens: 32_768,
    // oxlint-disable-next-line typescript/require-await -- the port is asynchronous, this model is not
    async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      signal.throwIfAborted();
      const step = nextStep(request, clock);
      const text = "say" in step ? step.say : null;
      for (const piece of pieces(text ?? "")) {
        yield { kind: "text", text: piece };
        signal.throwIfAborted();
      }
      const toolCalls = "call" in step ? [toCall(step, request, clock)] : [];
      const usage = {
        input: estimate(JSON.stringify([request.messages, request.tools], withoutBigInts)),
        output: estimate(JSON.stringify([text, toolCalls])),
        cached: 0,
      };
      yield { kind: "reply", reply: { text, toolCalls, end: toolCalls.length > 0 ? "tools" : "stop", usage } };
    },
  };
}

/** A thing the demo can do: the words that ask for it, and the next step towards it. */
type Skill = { readonly asked: RegExp; next(match: RegExpExecArray, scene: Scene): Step | undefined };

function nextStep(request: ModelRequest, clock: Clock): Step {
  const { tools, mustCall } = request;
  const last = request.messages.findLastIndex(({ role }) => role === "user");
  const heard = wordsOf(request.messages[last]);
  const task = scheduledTask(heard);
  const text = task ?? heard;
  const scene = { text, done: doneSince(request.messages.slice(last + 1)), request, clock };
  const forced = mustCall ?? (tools.length === 1 && tools[0]?.name === "save_memory" ? "save_memory" : undefined);
  const wanted = tools.find(({ name }) => name === forced);
  if (wanted && scene.done.length === 0) {
    const input =
      wanted.name === "save_memory" ? saveMemory(textOf(request.messages[last]), clock) : fill(wanted, text);
    return { call: wanted.name, with: input };
  }
  for (const skill of skills) {
    const match = skill.asked.exec(text);
    const step = match && skill.next(match, scene);
    if (step) return offered(step, tools);
  }
  const result = scene.done.at(-1);
  if (result) return { say: report(result) };
  if (task !== undefined) return { say: `Reminder: ${task}` };
  return {
    say: `${quote(text)} I am nanogate's built-in demo model: I follow a few fixed rules and cannot really answer that. ${howToSet}`,
  };
}

/** A tool that is not there is not called; the demo says what it would have done. */
const offered = (step: Step, tools: readonly ToolSpec[]): Step =>
  "say" in step || tools.some(({ name }) => name === step.call)
    ? step
    : { say: `For this I would need the tool ${step.call}, which is not available here. (I am the demo model.)` };

const skills: readonly Skill[] = [
  {
    asked:
      /^(?:please )?(?:list|show)(?: me)?(?: all)?(?: the| my)? (?:files|folder|directory)(?: (?:in|of) [`"']?(?<path>[^\s`"'?]+))?|^ls(?: (?<dir>\S+))?$/i,
    next: ({ groups }, { done }) =>
      done.length > 0 ? undefined : { call: "list_dir", with: { path: groups?.["path"] ?? groups?.["dir"] ?? "." } },
  },
  {
    asked:
      /^(?:please )?(?:read|show|open|cat)(?: me)?(?: the)?(?: file)? [`"']?(?<path>[^\s`"'?]*[./][^\s`"'?]*[^\s`"'?.])/i,
    next: ({ groups }, { done }) =>
      done.length > 0 ? undefined : { call: "read_file", with: { path: groups?.["path"] } },
  },
  {
    asked: /^(?:please )?(?:run|execute|exec)(?: the command)?:? +(?<command>[\s\S]+)$/i,
    next: ({ groups }, { done }) =>
      done.length > 0
        ? undefined
        : { call: "exec", with: { command: (groups?.["command"] ?? "").trim().replace(/^`+([\s\S]*?)`+$/, "$1") } },
  },
  {
    asked:
      /^(?:please )?remind me (?:(?<every>every)|in) (?<count>\d+|an?|one)? ?(?<unit>seconds?|minutes?|hours?|days?)(?: to| that| of| about|:|,)?(?<what>[\s\S]*)$|^(?:please )?remind me (?:to |that |of |about )?(?<what2>[\s\S]+?) (?:(?<every2>every)|in) (?<count2>\d+|an?|one)? ?(?<unit2>seconds?|minutes?|hours?|days?)[.!]?$/i,
    next: ({ groups = {} }, { done, clock }) => (done.length > 0 ? undefined : reminder(groups, clock)),
  },
  {
    asked: /^(?:please )?remember(?: that|:|,)? +(?<fact>[\s\S]+)$/i,
    next: ({ groups }, scene) => remember(groups?.["fact"] ?? "", scene),
  },
  {
    asked: /what (?:do you (?:know|remember)|have i told you)/i,
    next: (_, { request }) => ({ say: recall(request.messages) }),
  },
  {
    asked: /what (?:did i (?:just )?say|was my last (?:message|question))/i,
    next: (_, { request }) => {
      const said = request.messages.filter(({ role }) => role === "user").at(-2);
      return {
        say: said ? `Before this you said: ${quote(wordsOf(said))}` : "This is the first thing you have said to me.",
      };
    },
  },
  {
    asked:
      /^(?:(?:what(?:'s| is)|how much is|calculate|compute|work out) )?(?<sum>[-+*/×÷·^%().\d\s]*\d[-+*/×÷·^%().\d\s]*?)\s*=?\s*\??$/i,
    next: ({ groups }) => calculate((groups?.["sum"] ?? "").trim()),
  },
  {
    asked: /^(?:hi|hello|hey|good (?:morning|evening|day)|help|who are you|what can you do)\b/i,
    next: () => ({
      say:
        `Hello! I am nanogate's built-in demo model. I work offline and follow a few fixed rules, so that you can try the ` +
        `rest. Ask me to "list files", "read <file>", "run <command>", "remember <fact>", "remind me in 1 minute to …", ` +
        `or "what is 17*23". ${howToSet}`,
    }),
  },
];

function calculate(sum: string): Step | undefined {
  if (!/[-+*/×÷·^%]/.test(sum)) return undefined;
  const value = evaluate(sum);
  if (value === undefined) return undefined;
  if (!Number.isFinite(value)) return { say: `${sum} has no finite value.` };
  return { say: `${sum} = ${Number(value.toPrecision(12))}` };
}

const seconds: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3600, day: 86_400 };

function reminder(found: Readonly<Record<string, string | undefined>>, clock: Clock): Step {
  const unit = (found["unit"] ?? found["unit2"] ?? "minute").toLowerCase().replace(/s$/, "");
  const count = Number(found["count"] ?? found["count2"] ?? "1") || 1; // "an hour" is one
  const what = (found["what"] ?? found["what2"] ?? "").trim().replace(/[.!]$/, "") || "You asked to be reminded.";
  const wait = count * (seconds[unit] ?? 60);
  if (found["every"] ?? found["every2"])
    return { call: "cron", with: { action: "add", message: what, every_seconds: wait } };
  const at = localIsoTime((Date.parse(clock()) + wait * 1000) * 1000).slice(0, 19);
  return { call: "cron", with: { action: "add", message: what, at } };
}

function doneSince(messages: readonly ModelMessage[]): Done[] {
  const calls = messages.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []));
  return messages
    .filter((message) => message.role === "tool")
    .map(({ tool_call_id, name, content }) => {
      const call = calls.find(({ id }) => id === tool_call_id);
      return { tool: name, input: call?.function.arguments ?? "{}", result: content };
    });
}

function toCall(step: Extract<Step, { call: string }>, { messages }: ModelRequest, clock: Clock): ToolCall {
  const text = JSON.stringify(step.with);
  // The same words at another time are another call.
  const id = createHash("sha1").update(`${clock()} ${messages.length} ${step.call} ${text}`).digest("hex").slice(0, 9);
  return { id, type: "function", function: { name: step.call, arguments: text } };
}

/** A few pieces, cut before words. */
function pieces(text: string): string[] {
  const words = text.match(/\s*\S+/g) ?? [];
  const size = Math.max(1, Math.ceil(words.length / 5));
  return Array.from({ length: Math.ceil(words.length / size) }, (_, at) =>
    words.slice(at * size, (at + 1) * size).join(""),
  );
}

const estimate = (text: string): number => Math.ceil(text.length / 4);
const withoutBigInts = (_: string, value: unknown): unknown => (typeof value === "bigint" ? value.toString() : value);
