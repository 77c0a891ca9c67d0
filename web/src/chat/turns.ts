/**
 * What is going on in one conversation besides what is already stored: questions on their way, answers being written,
 * and answers that are never stored. One entry per message, whatever is told twice, late or in another order.
 */
import type { LiveEvent } from "../../../src/gateway/live.js";
import type { Outcome } from "../../../src/gateway/ledger.js";
import type { Row, ToolCall } from "../../../src/message.js";
import { isSameRow } from "../transcript/row.js";

export type Step =
  | { readonly kind: "progress"; readonly text: string }
  | { readonly kind: "call"; readonly call: ToolCall; readonly hint: string; readonly result?: string };

/** `sending`: not stored by the gateway yet. `waiting`: stored. `refused`: the gateway did not take it. */
export type Phase =
  | { readonly kind: "sending" | "waiting" | "working" }
  | { readonly kind: "refused"; readonly problem: string; readonly fix: string }
  | { readonly kind: "ended"; readonly outcome: Outcome; readonly reply: string; readonly rows?: readonly Row[] };

export type Turn = {
  /** Chosen by whoever asked: the same however often it is sent. */
  readonly id: string;
  /** How the ledger names it. */
  readonly trace?: string;
  /** Asked on this page. */
  readonly isOwn: boolean;
  readonly question?: string;
  readonly images: readonly string[];
  readonly steps: readonly Step[];
  /** The answer so far. */
  readonly draft: string;
  /** The connection was lost: the next that is told of it begins anew. */
  readonly isStale: boolean;
  /** The number of stored rows it stands behind. */
  readonly at: number;
  readonly phase: Phase;
};

export type Happening =
  | { readonly kind: "asked"; readonly id: string; readonly text: string; readonly images: readonly string[] }
  | { readonly kind: "refused"; readonly id: string; readonly problem: string; readonly fix: string }
  | { readonly kind: "withdrawn"; readonly id: string }
  /** Whatever runs will be told from its beginning. */
  | { readonly kind: "connected" }
  | { readonly kind: "news"; readonly id: string; readonly trace?: string; readonly event: LiveEvent }
  /** Heard when asked again: it is over, and whatever was said is stored. */
  | { readonly kind: "over"; readonly id: string; readonly outcome: Outcome }
  /** The text of a question that was asked elsewhere. */
  | { readonly kind: "question"; readonly id: string; readonly text: string }
  /** Said by a tool or by the clock, not as an answer. */
  | { readonly kind: "said"; readonly id: string; readonly text: string }
  /** The newest rows of the session are these. */
  | { readonly kind: "stored"; readonly newest: readonly Row[] };

export type Turns = {
  readonly list: readonly Turn[];
  /** Messages that were shown here and now stand in the session: whatever else is told of them comes too late. */
  readonly done: readonly string[];
};

export const noTurns: Turns = { list: [], done: [] };

/** Answers that are not stored are kept so long, and so are the names of those that are. */
const mostNotes = 30;
const mostDone = 200;

/** `total`: so many rows are stored, as far as this page knows. */
export function happen(turns: Turns, happening: Happening, total: number): Turns {
  const { list, done } = turns;
  if ("id" in happening && done.includes(happening.id)) return turns;
  const withList = (next: readonly Turn[]): Turns => (next === list ? turns : { list: next, done });
  switch (happening.kind) {
    case "connected":
      return withList(list.map((turn) => (isOver(turn) ? turn : { ...turn, isStale: true })));
    case "stored":
      return tidied(turns, happening.newest);
    case "withdrawn":
      return withList(list.filter(({ id }) => id !== happening.id));
    case "said": {
      if (list.some((turn) => turn.id === happening.id || isProgressOf(turn, happening.text))) return turns;
      const phase: Phase = { kind: "ended", outcome: { kind: "answered" }, reply: happening.text, rows: [] };
      return withList([...list, { ...begun(happening.id, total), phase }]);
    }
    default: {
      const known = list.find(({ id }) => id === happening.id);
      // Learned too late: what it was the question of is over.
      if (!known && happening.kind === "question") return turns;
      const next = change(known ?? begun(happening.id, total), happening, total);
      if (next === known) return turns;
      return withList(known ? list.map((turn) => (turn === known ? next : turn)) : [...list, next]);
    }
  }
}

/** Without what stands in the session, and without notes of long ago. */
function tidied({ list, done }: Turns, newest: readonly Row[]): Turns {
  const isGone = (turn: Turn): boolean => isStored(turn, newest);
  const notes = list.filter((turn) => isOver(turn) && !isGone(turn));
  const old = new Set(notes.slice(0, -mostNotes));
  return {
    list: list.filter((turn) => !isGone(turn) && !old.has(turn)),
    done: [...done, ...list.filter((turn) => isOver(turn) && isGone(turn)).map(({ id }) => id)].slice(-mostDone),
  };
}

const begun = (id: string, at: number): Turn => ({
  id,
  isOwn: false,
  images: [],
  steps: [],
  draft: "",
  isStale: false,
  at,
  phase: { kind: "waiting" },
});

export const isOver = ({ phase }: Turn): boolean => phase.kind === "ended" || phase.kind === "refused";

type About = Exclude<Happening, { kind: "connected" | "stored" | "withdrawn" | "said" }>;

function change(turn: Turn, happening: About, total: number): Turn {
  switch (happening.kind) {
    case "asked": {
      const isNew = turn.question === undefined && turn.trace === undefined && turn.phase.kind === "waiting";
      const phase: Phase = isNew || turn.phase.kind === "refused" ? { kind: "sending" } : turn.phase;
      return { ...turn, question: happening.text, images: happening.images, isOwn: true, phase };
    }
    case "question":
      return turn.question === undefined ? { ...turn, question: happening.text } : turn;
    case "refused":
      if (turn.phase.kind !== "sending") return turn;
      return { ...turn, phase: { kind: "refused", problem: happening.problem, fix: happening.fix } };
    case "over":
      if (hasEnded(turn)) return turn;
      return { ...turn, at: total, phase: { kind: "ended", outcome: happening.outcome, reply: "" } };
    case "news": {
      const { event, trace } = happening;
      if (hasEnded(turn) && event.kind !== "finished") return turn;
      return told({ ...fresh(turn), ...(trace !== undefined && { trace }) }, event, total);
    }
    default:
      return happening;
  }
}

const hasEnded = ({ phase }: Turn): boolean => phase.kind === "ended";

/** What was told before the connection was lost is told again. */
const fresh = (turn: Turn): Turn => (turn.isStale ? { ...turn, isStale: false, steps: [], draft: "" } : turn);

function told(turn: Turn, event: LiveEvent, total: number): Turn {
  const working = { kind: "working" } as const;
  switch (event.kind) {
    case "accepted":
      return {
        ...turn,
        question: turn.question ?? event.text,
        phase: turn.phase.kind === "working" ? working : { kind: "waiting" },
      };
    case "text":
      return { ...turn, draft: turn.draft + event.text, phase: working };
    case "restart":
      return { ...turn, draft: "", phase: working };
    case "progress":
      return { ...turn, draft: "", steps: [...turn.steps, { kind: "progress", text: event.text }], phase: working };
    case "tool-call":
      return { ...turn, draft: "", steps: withCall(turn.steps, event), phase: working };
    case "tool-result":
      return { ...turn, steps: withResult(turn.steps, event.call.id, event.result), phase: working };
    case "postponed":
      return { ...turn, isStale: true, phase: { kind: "waiting" } };
    case "finished": {
      const { outcome, messages, rows } = event.turn;
      const reply = messages.flatMap((message) => (message.kind === "text" ? [message.text] : [])).join("\n\n");
      return {
        ...turn,
        isStale: false,
        at: hasEnded(turn) ? turn.at : total,
        phase: { kind: "ended", outcome, reply, rows },
      };
    }
    default:
      return event;
  }
}

function withCall(steps: readonly Step[], { call, hint }: { call: ToolCall; hint: string }): readonly Step[] {
  const isKnown = steps.some((step) => step.kind === "call" && step.call.id === call.id);
  return isKnown ? steps : [...steps, { kind: "call", call, hint }];
}

const withResult = (steps: readonly Step[], id: string, result: string): readonly Step[] =>
  steps.map((step) => (step.kind === "call" && step.call.id === id ? { ...step, result } : step));

/** Progress is told as an event and, on channels without a platform, said as well. */
const isProgressOf = (turn: Turn, text: string): boolean =>
  turn.steps.some((step) => step.kind === "progress" && step.text === text);

/** Does it stand among the stored rows, so that nobody has to be shown it twice? */
function isStored(turn: Turn, newest: readonly Row[]): boolean {
  const { phase } = turn;
  // Somebody else's turn, and nothing was heard of it since the connection was lost: the rows know.
  if (phase.kind !== "ended") return turn.isStale && !turn.isOwn;
  const last = phase.rows?.at(-1);
  // How it ended was only heard of: the rows, which were asked for later, hold the rest.
  if (phase.rows === undefined) return true;
  return last !== undefined && newest.some((row) => isSameRow(row, last));
}
