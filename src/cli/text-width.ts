/** How wide text is on a screen, and where its lines break there. */
import { stripVTControlCharacters } from "node:util";
import { graphemesOf } from "../util/graphemes.js";

const plain = /^[ -~]*$/;
const marks = /^[\p{M}\p{Cf}]+$/u;
/** East Asian characters and emoji take two columns. Rather one too many than one too few: a line must not wrap by itself. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\ua960-\ua97f\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f000}-\u{1faff}\u{20000}-\u{3fffd}]|\ufe0f|\p{Emoji_Presentation}/u;

export function widthOf(text: string): number {
  const bare = text.includes("\u001b") ? stripVTControlCharacters(text) : text;
  if (plain.test(bare)) return bare.length;
  let width = 0;
  for (const { segment } of graphemesOf(bare)) width += marks.test(segment) ? 0 : wide.test(segment) ? 2 : 1;
  return width;
}

/** `text` with blanks behind it, up to a width. */
export const padded = (text: string, width: number): string => text + " ".repeat(Math.max(0, width - widthOf(text)));

/**
 * The lines of a text as they stand on a screen: broken between words where that is possible, hanging behind a bullet
 * or a bar, and each complete in itself, with its own styles.
 */
export function folded(text: string, columns: number): string[] {
  return text.split("\n").reduce<{ rows: string[]; styles: string }>(
    ({ rows, styles }, line) => {
      const next = foldLine(line, columns, styles);
      rows.push(...next.rows);
      return { rows, styles: next.styles };
    },
    { rows: [], styles: "" },
  ).rows;
}

const style = /\u001b\[[\d;]*m/g;
const piece = /\u001b\[[\d;]*m|\s+|[^\s\u001b]+/g;

function foldLine(line: string, columns: number, before: string): { rows: string[]; styles: string } {
  let styles = before;
  const ended = (row: string): string => (styles === "" ? row : `${row}\u001b[0m`);
  if (widthOf(line) <= columns) {
    const row = styles + line;
    styles = stylesAfter(styles, line);
    return { rows: [ended(row)], styles };
  }
  const indent = hanging(line, columns);
  const rows: string[] = [];
  let row = styles;
  let width = 0;
  const put = (part: string, size: number): void => {
    row += part;
    width += size;
  };
  const next = (): void => {
    rows.push(ended(row.trimEnd()));
    row = styles + indent;
    width = widthOf(indent);
  };
  for (const [part] of line.matchAll(piece)) {
    if (part.startsWith("\u001b")) {
      styles = stylesAfter(styles, part);
      row += part;
      continue;
    }
    const size = widthOf(part);
    if (width + size <= columns) put(part, size);
    else if (part.trim() === "") next();
    else if (size <= columns - widthOf(indent)) {
      next();
      put(part, size);
    } else {
      // Longer than any line, or without any blanks, as in Chinese.
      for (const { segment } of graphemesOf(part)) {
        const one = widthOf(segment);
        if (width + one > columns) next();
        put(segment, one);
      }
    }
  }
  return { rows: [...rows, ended(row)], styles };
}

/** Only those that are open: a reset or the end of the last one forgets them all. */
function stylesAfter(before: string, text: string): string {
  const all = [...before.matchAll(style), ...text.matchAll(style)].map(([code]) => code);
  let open: string[] = [];
  for (const code of all) {
    const number = Number(code.slice(2, -1));
    const closes = closedBy[number];
    if (number === 0) open = [];
    else if (closes) open = open.filter((other) => !closes.includes(Number(other.slice(2, -1))));
    else open.push(code);
  }
  return open.join("");
}

const colours = [30, 31, 32, 33, 34, 35, 36, 37, 90, 91, 92, 93, 94, 95, 96, 97];
const closedBy: Readonly<Record<number, readonly number[]>> = {
  22: [1, 2],
  23: [3],
  24: [4],
  27: [7],
  29: [9],
  39: colours,
};

/** What stands before the second and later rows of a line: as deep as its text, and the bars of a quotation. */
function hanging(line: string, columns: number): string {
  const [lead = ""] = /^(?:\s|│)*(?:(?:[•☐☑]|\d+\.) )?/u.exec(stripVTControlCharacters(line)) ?? [];
  const indent = lead.replaceAll(/[^│]/gu, " ");
  return indent.length > columns / 2 ? "" : indent;
}
