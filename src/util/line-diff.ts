/** What happened to a text, line by line. */
export type DiffLine = { readonly kind: "same" | "added" | "removed"; readonly text: string };

/** Beyond so many comparisons the middle counts as replaced: nobody reads a diff that long. */
const mostCells = 4_000_000;

export function lineDiff(before: string, after: string): DiffLine[] {
  const [old, now] = [linesOf(before), linesOf(after)];
  let head = 0;
  while (head < old.length && head < now.length && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < old.length - head && tail < now.length - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const as =
    (kind: DiffLine["kind"]) =>
    (text: string): DiffLine => ({ kind, text });
  return [
    ...old.slice(0, head).map(as("same")),
    ...middleDiff(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(as("same")),
  ];
}

/** A newline ends a line; the last one needs none. */
const linesOf = (text: string): string[] => (text === "" ? [] : text.replace(/\n$/, "").split("\n"));

/** By the longest common subsequence. */
function middleDiff(old: readonly string[], now: readonly string[]): DiffLine[] {
  const width = now.length + 1;
  const isHuge = old.length * now.length > mostCells;
  /** How many lines `old` from `at` and `now` from `to` have in common, at `at * width + to`. */
  const common = new Uint32Array(isHuge ? 0 : (old.length + 1) * width);
  const count = (at: number, to: number): number => common[at * width + to] ?? 0;
  for (let at = isHuge ? -1 : old.length - 1; at >= 0; at--) {
    for (let to = now.length - 1; to >= 0; to--) {
      common[at * width + to] =
        old[at] === now[to] ? count(at + 1, to + 1) + 1 : Math.max(count(at + 1, to), count(at, to + 1));
    }
  }
  const lines: DiffLine[] = [];
  let at = 0;
  let to = 0;
  while (at < old.length || to < now.length) {
    const [gone = "", come = ""] = [old[at], now[to]];
    if (!isHuge && at < old.length && to < now.length && gone === come) {
      lines.push({ kind: "same", text: gone });
      at++;
      to++;
    } else if (at < old.length && (to >= now.length || count(at + 1, to) >= count(at, to + 1))) {
      lines.push({ kind: "removed", text: gone });
      at++;
    } else {
      lines.push({ kind: "added", text: come });
      to++;
    }
  }
  return lines;
}
