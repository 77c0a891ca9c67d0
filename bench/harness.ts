/** What every bench needs: contestants timed in turns, targets, rows to write, and the bytes a process has written. */
import { readFileSync } from "node:fs";
import type { Row } from "../src/message.js";

export type Bench = {
  readonly name: string;
  readonly title: string;
  /** `folder` is the bench's own and is removed afterwards. `full`: take the time that the whole of it needs. */
  readonly run: (folder: string, full: boolean) => Promise<Outcome>;
};

export type Outcome = {
  readonly table: readonly Readonly<Record<string, string | number>>[];
  readonly targets: readonly Target[];
  readonly notes: readonly string[];
};

export type Target = {
  readonly label: string;
  readonly actual: number;
  readonly kind: "at most" | "at least";
  readonly limit: number;
  readonly unit: string;
};

export const atMost = (label: string, actual: number, limit: number, unit = "x"): Target => ({
  label,
  actual,
  kind: "at most",
  limit,
  unit,
});

export const atLeast = (label: string, actual: number, limit: number, unit = "x"): Target => ({
  label,
  actual,
  kind: "at least",
  limit,
  unit,
});

export const isMet = ({ actual, kind, limit }: Target): boolean =>
  kind === "at most" ? actual <= limit : actual >= limit;

/**
 * One way to do the job. `work` is timed; a slow contestant takes part in fewer rounds than the others. One that takes
 * microseconds does it `burst` times in a row, each timed: alone it would mostly measure the caches that the contestant
 * before it has left behind.
 */
export type Contestant = {
  readonly work: () => unknown;
  readonly rounds: number;
  readonly burst?: number;
  /** Tidies up; not timed. */
  readonly after?: () => unknown;
};

/**
 * The milliseconds each contestant needed, round for round. They take turns, so that a noisy moment of the machine hits
 * them all; the first tenth of the rounds only warms up.
 */
export async function race<Name extends string>(
  contestants: Readonly<Record<Name, Contestant>>,
): Promise<Record<Name, number[]>> {
  const entries = Object.entries<Contestant>(contestants);
  const times = Object.fromEntries(entries.map(([name]) => [name, [] as number[]])) as Record<Name, number[]>;
  const rounds = Math.max(...entries.map(([, contestant]) => contestant.rounds));
  for (let round = 0; round < rounds; round++) {
    for (const [name, contestant] of entries) {
      // Spread evenly: whoever takes part in a third of the rounds does so in every third one.
      const before = Math.floor((round * contestant.rounds) / rounds);
      if (Math.floor(((round + 1) * contestant.rounds) / rounds) === before) continue;
      for (let time = 0; time < (contestant.burst ?? 1); time++) {
        times[name as Name].push(await milliseconds(contestant.work));
        await contestant.after?.();
      }
    }
  }
  for (const taken of Object.values<number[]>(times)) taken.splice(0, Math.ceil(taken.length / 10));
  return times;
}

export async function milliseconds(work: () => unknown): Promise<number> {
  const start = performance.now();
  await work();
  return performance.now() - start;
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);

/** The rows of a turn as nanobot stores it: question, tool call, result, answer. Each takes about 400 bytes on disk. */
export function turnOf(number: number): Row[] {
  const id = `call_${number}`;
  const timestamp = "2026-02-24T16:24:47.000120";
  const call = { id, type: "function", function: { name: "read_file", arguments: `{"path": "notes/${number}.md"}` } };
  return [
    { role: "user", content: prose(310), timestamp },
    { role: "assistant", content: prose(170), tool_calls: [call], timestamp },
    { role: "tool", tool_call_id: id, name: "read_file", content: prose(245), timestamp },
    { role: "assistant", content: prose(305), timestamp },
  ];
}

export const rowsPerTurn = 4;

/** The first `count` rows of a long conversation. */
export const conversation = (count: number): Row[] =>
  Array.from({ length: Math.ceil(count / rowsPerTurn) }, (_, turn) => turnOf(turn))
    .flat()
    .slice(0, count);

/** So many characters of something a chat could say: mostly ASCII, with quotes, a line break and an umlaut here and there. */
const prose = (length: number): string => sentence.repeat(Math.ceil(length / sentence.length)).slice(0, length);
const sentence = 'The train to Zürich leaves at 7:42 from "track 9".\nShall I book a seat by the window for you? ';

/** The bytes this process has handed to the system for writing; undefined where nobody counts them. */
export function bytesWritten(): number | undefined {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1]);
  } catch {
    return undefined;
  }
}
