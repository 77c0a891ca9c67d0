/** Chance that can be repeated: the same seed, the same run. */
export function createRandom(seed: number) {
  let state = seed >>> 0 || 1;
  /** From 0 up to, not including, 1. */
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
  const below = (limit: number): number => Math.floor(next() * limit);
  return { next, below, oneOf: <T>(list: readonly T[]): T => list[below(list.length)] as T };
}
