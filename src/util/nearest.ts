/** The known name that somebody probably meant. */

export function nearest(name: string, known: Iterable<string>): string | undefined {
  const same = (text: string): string => text.toLowerCase().replaceAll(/[-_]/g, "");
  let best: { readonly candidate: string; readonly distance: number } | undefined;
  for (const candidate of known) {
    const distance = edits(same(name), same(candidate));
    if (distance <= Math.max(1, Math.floor(candidate.length / 3)) && distance < (best?.distance ?? Infinity)) {
      best = { candidate, distance };
    }
  }
  return best?.candidate;
}

/** How many letters have to be changed, added, left out or swapped with their neighbour. */
function edits(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const changed = from[i - 1] === to[j - 1] ? 0 : 1;
      const swapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(
        (last[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (last[j - 1] ?? 0) + changed,
        swapped ? (beforeLast[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    beforeLast = last;
    last = row;
  }
  return last[to.length] ?? 0;
}
