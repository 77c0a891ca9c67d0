/**
 * How high a hundred thousand rows are, of which few have been measured: offsets and places by a Fenwick tree, so that
 * a measurement and a look-up cost the logarithm of the number of rows.
 */
export type Heights = {
  readonly count: number;
  readonly total: number;
  /** The height of one row, measured or guessed. */
  of(index: number): number;
  /** Where a row begins. */
  offset(index: number): number;
  /** The row at a place; places outside belong to the first and the last. */
  at(place: number): number;
  /** How much higher it is than it was thought to be. */
  measure(index: number, height: number): number;
  /** There are more rows at the end now, or fewer. */
  resize(count: number): void;
};

/** Browsers cannot lay out what is much higher than this. */
const mostPixels = 15_000_000;

export function createHeights(first: number, guess: number): Heights {
  let count = 0;
  let guessed = guess;
  let heights = new Float64Array(0);
  /** tree[i] sums the heights of the last (i & -i) rows up to and with row i - 1. */
  let tree = new Float64Array(1);

  const add = (index: number, difference: number): void => {
    for (let at = index + 1; at <= count; at += at & -at) tree[at] = (tree[at] ?? 0) + difference;
  };

  const resize = (next: number): void => {
    guessed = Math.min(guess, mostPixels / Math.max(1, next));
    const grown = new Float64Array(next).fill(guessed);
    grown.set(heights.subarray(0, Math.min(count, next)));
    heights = grown;
    count = next;
    tree = new Float64Array(count + 1);
    for (let at = 1; at <= count; at++) {
      tree[at] = (tree[at] ?? 0) + (heights[at - 1] ?? 0);
      const parent = at + (at & -at);
      if (parent <= count) tree[parent] = (tree[parent] ?? 0) + (tree[at] ?? 0);
    }
  };

  const offset = (index: number): number => {
    let sum = 0;
    for (let at = Math.min(index, count); at > 0; at -= at & -at) sum += tree[at] ?? 0;
    return sum;
  };

  resize(first);
  return {
    get count() {
      return count;
    },
    get total() {
      return offset(count);
    },
    of: (index) => heights[index] ?? 0,
    offset,
    at(place) {
      let at = 0;
      let left = place;
      for (let step = 2 ** Math.floor(Math.log2(Math.max(1, count))); step >= 1; step /= 2) {
        const next = at + step;
        if (next <= count && (tree[next] ?? 0) <= left) {
          at = next;
          left -= tree[next] ?? 0;
        }
      }
      return Math.max(0, Math.min(at, count - 1));
    },
    measure(index, height) {
      if (index < 0 || index >= count) return 0;
      const difference = height - (heights[index] ?? 0);
      if (difference === 0) return 0;
      heights[index] = height;
      add(index, difference);
      return difference;
    },
    resize: (next) => {
      if (next !== count) resize(next);
    },
  };
}
