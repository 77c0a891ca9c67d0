/** HISTORY.md as entries: `[2026-11-16 08:05] What happened.`, the newest first. */
export type HistoryEntry = { readonly time: string; readonly text: string };

export function entriesOf(text: string): HistoryEntry[] {
  return text
    .split(/\n\s*\n/)
    .map((paragraph) => paragraph.trim())
    .filter((paragraph) => paragraph !== "" && !paragraph.startsWith("# "))
    .map((paragraph) => {
      const [, time, rest] = /^\[([^\]\n]{4,40})\]\s*([\s\S]*)$/.exec(paragraph) ?? [];
      return time === undefined ? { time: "", text: paragraph } : { time, text: rest ?? "" };
    })
    .reverse();
}
