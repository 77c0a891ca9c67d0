/** Finds the lines of a text that look most like given ones. */

export type Passage = {
  readonly text: string;
  /** Lines, counting from 1, both included. */
  readonly from: number;
  readonly to: number;
  /** From 0 to 1. */
  readonly similarity: number;
};

/** Below this, showing it would mislead. */
const leastSimilar = 0.5;
/** Above so many comparisons of lines only equal lines count: an edit must not take seconds. */
const mostComparisons = 200_000;
/** So much of a line is compared, and so much of a passage is shown. */
const comparedChars = 200;
const shownChars = 4000;

export function nearestPassage(content: string, wanted: string): Passage | undefined {
  const lines = content.split("\n");
  const sought = wanted.replace(/\n$/, "").split("\n");
  const exact = lines.length * sought.length > mostComparisons;
  if (exact && lines.length * sought.length > mostComparisons * 100) return undefined;
  const likeness = exact ? sameLine : similarLines();
  let best = { at: 0, similarity: 0 };
  for (let at = 0; at <= Math.max(0, lines.length - sought.length); at++) {
    let sum = 0;
    for (const [offset, line] of sought.entries()) sum += likeness(line, lines[at + offset] ?? "");
    if (sum / sought.length > best.similarity) best = { at, similarity: sum / sought.length };
  }
  if (best.similarity <= leastSimilar) return undefined;
  const passage = lines.slice(best.at, best.at + sought.length);
  const text = passage.join("\n").slice(0, shownChars).toWellFormed();
  return { text, from: best.at + 1, to: best.at + passage.length, similarity: best.similarity };
}

const sameLine = (one: string, other: string): number => (one.trim() === other.trim() ? 1 : 0);

/** The share of letter pairs two lines have in common. A line's pairs are counted once. */
function similarLines(): (one: string, other: string) => number {
  const known = new Map<string, Map<string, number>>();
  const pairsOf = (line: string): Map<string, number> => {
    const before = known.get(line);
    if (before) return before;
    const pairs = new Map<string, number>();
    for (let at = 0; at + 1 < line.length; at++) {
      const pair = line.slice(at, at + 2);
      pairs.set(pair, (pairs.get(pair) ?? 0) + 1);
    }
    known.set(line, pairs);
    return pairs;
  };
  return (one, other) => {
    if (one === other) return 1;
    const [a, b] = [one.trim().slice(0, comparedChars), other.trim().slice(0, comparedChars)];
    if (a === b) return 0.99;
    const all = Math.max(0, a.length - 1) + Math.max(0, b.length - 1);
    if (all === 0) return 0;
    const theirs = pairsOf(b);
    let common = 0;
    for (const [pair, count] of pairsOf(a)) common += Math.min(count, theirs.get(pair) ?? 0);
    return (2 * common) / all;
  };
}
