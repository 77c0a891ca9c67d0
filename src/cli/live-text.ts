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

/** A line as the screen breaks it, so that we know how many there are. */
function folded(line: string, columns: number): string[] {
  if (stripVTControlCharacters(line).length <= columns) return [line];
  const parts: string[] = [];
  let part = "";
  let width = 0;
  for (const piece of line.match(/\u001b\[[\d;]*m|./gsu) ?? []) {
    const step = piece.startsWith("\u001b") ? 0 : widthOf(piece);
    if (width + step > columns) {
      parts.push(part);
      part = "";
      width = 0;
    }
    part += piece;
    width += step;
  }
  return [...parts, part];
}

/** East Asian characters and emoji take two columns. */
const wide =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6]|\p{Extended_Pictographic}/u;
const widthOf = (character: string): number => (wide.test(character) ? 2 : 1);
