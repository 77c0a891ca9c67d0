/** Text that grows on the screen and is drawn again, rendered, as it grows; it can also be taken back. */
import { stripVTControlCharacters } from "node:util";
import { renderMarkdown } from "./markdown.js";

export function createLiveText(write: (text: string) => void, columns: number, markdown: boolean) {
  let source = "";
  /** The screen lines of what is drawn and may still change. */
  let drawn: readonly string[] = [];

  const draw = (lines: readonly string[]): void => {
    let same = 0;
    while (same < drawn.length && same < lines.length && drawn[same] === lines[same]) same++;
    const up = drawn.length - same;
    const back = up > 0 ? `\u001b[${up}A\r\u001b[J` : "";
    const rest = lines.slice(same);
    write(back + rest.map((line) => `${line}\n`).join(""));
    drawn = lines;
  };

  const linesOf = (text: string): string[] =>
    text === ""
      ? []
      : (markdown ? renderMarkdown(text) : printable(text)).split("\n").flatMap((line) => folded(line, columns));

  return {
    add(text: string): void {
      source += text;
      draw(linesOf(source));
    },
    /** Shows this instead of what has been shown. */
    replace(text: string): void {
      source = text;
      draw(linesOf(text));
    },
    clear(): void {
      source = "";
      draw([]);
    },
  };
}

const printable = (text: string): string => text.replaceAll(/[^\P{Cc}\n\t]/gu, "�");

/** A line as it stands on the screen: broken between words where that is possible. */
function folded(line: string, columns: number): string[] {
  if (stripVTControlCharacters(line).length <= columns / 2) return [line];
  const parts: string[] = [];
  let part = "";
  let width = 0;
  const next = (): void => {
    parts.push(part.trimEnd());
    part = "";
    width = 0;
  };
  for (const word of line.match(/\s+|[^\s]+/gu) ?? []) {
    if (width + widthOf(word) > columns && width > 0) next();
    if (part === "" && parts.length > 0 && word.trim() === "") continue;
    for (const piece of word.match(/\u001b\[[\d;]*m|./gsu) ?? []) {
      if (width + widthOf(piece) > columns) next();
      part += piece;
      width += widthOf(piece);
    }
  }
  return [...parts, part];
}

/** East Asian characters and emoji take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;

function widthOf(text: string): number {
  let width = 0;
  for (const character of stripVTControlCharacters(text)) width += wide.test(character) ? 2 : 1;
  return width;
}
