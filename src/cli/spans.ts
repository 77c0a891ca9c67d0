/** Lengths of time for people. */

/** `45 s`, `3 min`, `2 h`, `5 d`. */
export function span(ms: number): string {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7200) return `${Math.round(seconds / 60)} min`;
  return seconds < 172_800 ? `${Math.round(seconds / 3600)} h` : `${Math.round(seconds / 86_400)} d`;
}

/** `+0.003 s`, `+75.2 s`: as exact as matters. */
export const since = (ms: number): string => `+${(ms / 1000).toFixed(ms < 10_000 ? 3 : 1)} s`;
