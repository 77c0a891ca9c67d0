/** A diff without the long stretches in which nothing changed. */
import type { DiffLine } from "../../../../src/util/line-diff.js";

export type DiffPart = DiffLine | { readonly kind: "folded"; readonly count: number };

/** So many lines around a change are shown. */
const around = 2;

export function foldSame(lines: readonly DiffLine[]): DiffPart[] {
  const isNear = lines.map((_, at) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ kind }) => kind !== "same"),
  );
  if (!isNear.includes(true)) return [];
  const parts: DiffPart[] = [];
  lines.forEach((line, at) => {
    const last = parts.at(-1);
    if (isNear[at]) parts.push(line);
    else if (last?.kind === "folded") parts[parts.length - 1] = { kind: "folded", count: last.count + 1 };
    else parts.push({ kind: "folded", count: 1 });
  });
  return parts;
}
