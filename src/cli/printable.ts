/** What strangers wrote, for a terminal: control characters, which it would obey, are shown instead. */

/** For text that is read: line breaks and tabs stay, the rest becomes a replacement mark. */
export const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]/gu, "\ufffd");

/** For names and rows that are inspected: every control character is spelled out. */
export const spelledOut = (text: string, lines: "keep lines" | "one line" = "one line"): string =>
  text.replaceAll(
    lines === "keep lines" ? /[^\P{Cc}\n\t]/gu : /\p{Cc}/gu,
    (control) => `\\x${control.charCodeAt(0).toString(16).padStart(2, "0")}`,
  );
