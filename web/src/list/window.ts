/** Which rows of a long list are on the screen, and how the view stays where it is while rows change their height. */
import type { Heights } from "./heights.js";

export type View = { readonly top: number; readonly height: number };
/** From the first row to draw up to and without `to`. */
export type Range = { readonly from: number; readonly to: number };

const mostFlat = 50;

export function rangeOf(heights: Heights, { top, height }: View, beyond: number): Range {
  if (heights.count === 0) return { from: 0, to: 0 };
  let from = heights.at(Math.max(0, top - beyond));
  // Rows without any height are at no place; they are drawn with their neighbour, or they could never grow.
  for (let more = 0; more < mostFlat && from > 0 && heights.of(from - 1) === 0; more++) from--;
  return { from, to: heights.at(top + height + beyond) + 1 };
}

/** What the reader is looking at: a row and how far it has been scrolled, or the end, wherever that is. */
export type Anchor = "end" | { readonly row: number; readonly past: number };

/** So near the end counts as being there. */
const nearEnd = 24;

export function anchorOf(heights: Heights, { top, height }: View): Anchor {
  if (top + height >= heights.total - nearEnd) return "end";
  const row = heights.at(top);
  return { row, past: top - heights.offset(row) };
}

/** Where to scroll so that the reader sees what he was looking at. */
export function topOf(heights: Heights, anchor: Anchor, height: number): number {
  const end = Math.max(0, heights.total - height);
  if (anchor === "end") return end;
  return Math.min(end, heights.offset(anchor.row) + anchor.past);
}
