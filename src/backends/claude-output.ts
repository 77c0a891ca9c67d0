/**
 * What the claude command's printing means. Measured, not assumed: a resume that fails prints nothing and leaves with 1,
 * an API error calls itself a success, and a run that used up its turns may look like one that went well.
 */
import type { ModelFailure, Usage } from "../providers/provider.js";
import { type BackendEnd, noUsage } from "./backend.js";

export type Printed = {
  readonly stdout: string;
  readonly stderr: string;
  /** Null: a signal ended it. */
  readonly code: number | null;
};

export type ClaudeEvent = Readonly<Record<string, unknown>>;

export const isEvent = (value: unknown): value is ClaudeEvent =>
  typeof value === "object" && value !== null && !Array.isArray(value);

type Run = {
  readonly handle?: string;
  /** The tools that were seen at work, where somebody watched. */
  readonly toolsUsed: readonly string[];
};

export function readEnd(printed: Printed, run: Run): BackendEnd {
  const { stdout, stderr, code } = printed;
  const result = findResult(stdout);
  if (result) return endOf(result, printed, run);
  const said = firstLine(stderr) || `it ended with ${code ?? "a signal"} and printed nothing`;
  if (code === 0) {
    return stdout.trim() === ""
      ? { kind: "silent", note: nothingSaid, usage: noUsage, toolsUsed: run.toolsUsed }
      : { kind: "unreadable", raw: stdout.trim() };
  }
  // What it prints when it breaks down is for its makers, not for a chat.
  return run.handle !== undefined && stdout.trim() === ""
    ? { kind: "lost", reason: said }
    : { kind: "failed", failure: failureIn(undefined, said), reason: said, acted: stdout.trim() !== "" };
}

/** One object; with --verbose a list of them; of a stream one in each line. The last result counts. */
function findResult(stdout: string): ClaudeEvent | undefined {
  const isResult = (value: unknown): value is ClaudeEvent => isEvent(value) && value["type"] === "result";
  const whole = jsonOf(stdout);
  if (Array.isArray(whole)) return whole.findLast(isResult);
  // A version that forgets to say what it prints is believed if there is an answer in it.
  if (isEvent(whole)) return isResult(whole) || "result" in whole || "is_error" in whole ? whole : undefined;
  return stdout.split("\n").map(jsonOf).findLast(isResult);
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function endOf(result: ClaudeEvent, { stderr }: Printed, { handle, toolsUsed }: Run): BackendEnd {
  const { subtype, session_id: session, result: text } = result;
  const usage = usageOf(result["usage"]);
  if (subtype === "error_max_turns") return { kind: "silent", note: outOfTurns, usage, toolsUsed };
  if (result["is_error"] === true) {
    const errors = Array.isArray(result["errors"]) ? result["errors"].map(String) : [];
    const reason = shortened([text, ...errors, firstLine(stderr)].find((words) => typeof words === "string" && words));
    // Only a stream has words for it.
    if (handle !== undefined && /no conversation found/i.test([...errors, stderr].join("\n"))) {
      return { kind: "lost", reason };
    }
    const turns = Number(result["num_turns"] ?? 0);
    return { kind: "failed", failure: failureIn(result, reason), reason, acted: turns > 1 || toolsUsed.length > 0 };
  }
  if (typeof text !== "string" || text.trim() === "") return { kind: "silent", note: nothingSaid, usage, toolsUsed };
  return {
    kind: "answered",
    text,
    ...(typeof session === "string" && { handle: session }),
    usage,
    toolsUsed,
  };
}

const nothingSaid =
  "I have finished working on this, but came back without an answer. Please ask again if you miss one.";
const outOfTurns =
  "I used up all the steps I may take for one message and did not come to an end. Please ask for something smaller, or tell me to go on.";

/** Tokens of this call. The cost beside it is a sum over the conversation in some versions, so nobody looks at it. */
function usageOf(value: unknown): Usage {
  const count = (name: string): number => {
    const number = isEvent(value) ? Number(value[name] ?? 0) : 0;
    return Number.isFinite(number) ? number : 0;
  };
  const cached = count("cache_read_input_tokens");
  return {
    input: count("input_tokens") + count("cache_creation_input_tokens") + cached,
    output: count("output_tokens"),
    cached,
  };
}

/** The kinds in the order they are looked for: a status is certain, words are hints. */
const signs: readonly (readonly [ModelFailure, RegExp])[] = [
  ["too-long", /prompt is too long|prompt_too_long|context (?:window|length)/i],
  ["auth", /\b40[13]\b|invalid api key|not logged in|\/login|authenticat|oauth|unauthori[sz]ed/i],
  ["limit", /\b429\b|limit reached|usage limit|rate.?limit|credit balance|quota/i],
  ["overload", /\b5\d\d\b|overloaded|internal server error/i],
  ["network", /connect|econn|enotfound|eai_again|network|fetch failed|socket|timed? ?out/i],
];

function failureIn(result: ClaudeEvent | undefined, reason: string): ModelFailure {
  const facts = [result?.["terminal_reason"], result?.["api_error_status"], result?.["api_error_type"], reason];
  const words = facts.filter((fact) => typeof fact === "string" || typeof fact === "number").join(" ");
  return signs.find(([, sign]) => sign.test(words))?.[0] ?? "request";
}

const firstLine = (text: string): string => shortened(text.split("\n").find((line) => line.trim() !== ""));

/** For the owner's log; an answer that is no answer may be long. */
const shortened = (text: unknown): string => {
  const words = typeof text === "string" ? text.trim() : "";
  return words.length > 300 ? `${words.slice(0, 300)}…`.toWellFormed() : words;
};
