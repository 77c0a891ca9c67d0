/** Text that grows on the screen and is drawn again, rendered, as it grows; it can also be taken back. */
import { stripVTControlCharacters } from "node:util";
import type { Screen } from "./terminal.js";
import { folded, widthOf } from "./text-width.js";

/** Drawn at most so often: a model says more words in a second than anybody sees. */
const drawEveryMs = 40;

export function createLiveText(screen: Screen, render: (source: string, columns: number) => string) {
  let source = "";
  /** The rows as they were written, the oldest of which may have left the screen for good. */
  let drawn: readonly string[] = [];
  let drawnColumns = screen.columns;
  let timer: NodeJS.Timeout | undefined;

  const draw = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const { columns } = screen;
    const rows = source === "" ? [] : folded(render(source, columns), columns);
    const { first, up } = columns === drawnColumns ? firstChanged(rows) : afterResize(rows);
    const rest = rows.slice(first);
    // Row by row: a screen that is cleared from its first row on moves into some terminals' history.
    if (up > 0) screen.write(`\u001b[${up}A\r${rest.map((row) => `\u001b[K${row}\n`).join("")}\u001b[J`);
    else if (rest.length > 0) screen.write(`${rest.join("\n")}\n`);
    drawn = rows;
    drawnColumns = columns;
  };

  /** Rows above the upper edge cannot be written again; what has changed there stays as it was. */
  const firstChanged = (rows: readonly string[]) => {
    let same = 0;
    while (same < drawn.length && same < rows.length && drawn[same] === rows[same]) same++;
    const first = Math.max(same, drawn.length - inReach());
    return { first, up: drawn.length - first };
  };

  /** The terminal has broken the rows anew. Those in reach are replaced, from the place in the text where they begin. */
  const afterResize = (rows: readonly string[]) => {
    let up = 0;
    let kept = drawn.length;
    while (kept > 0) {
      const height = Math.max(1, Math.ceil(widthOf(drawn[kept - 1] ?? "") / screen.columns));
      if (up + height > inReach()) break;
      up += height;
      kept--;
    }
    const before = lettersIn(drawn.slice(0, kept));
    let first = 0;
    for (let letters = 0; first < rows.length && letters < before; first++)
      letters += lettersIn(rows.slice(first, first + 1));
    return { first, up };
  };

  /** The cursor stands in the row below the text. */
  const inReach = (): number => screen.rows - 1;

  return {
    add(text: string): void {
      source += text;
      timer ??= setTimeout(draw, drawEveryMs);
    },
    /** Shows this instead of what has been shown. */
    replace(text: string): void {
      source = text;
      draw();
    },
    clear(): void {
      source = "";
      draw();
    },
    /** What is shown stays; what comes next starts below it. */
    settle(): void {
      draw();
      source = "";
      drawn = [];
    },
    get text(): string {
      return source;
    },
  };
}

const lettersIn = (rows: readonly string[]): number =>
  rows.reduce((sum, row) => sum + stripVTControlCharacters(row).replaceAll(/[\s│]/gu, "").length, 0);
