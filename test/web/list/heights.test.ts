/** Offsets and places in a list of which few rows have been measured. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createHeights } from "../../../web/src/list/heights.js";
import { anchorOf, rangeOf, topOf } from "../../../web/src/list/window.js";

const measured = fc.array(fc.record({ row: fc.nat(49), height: fc.integer({ min: 0, max: 400 }) }), { maxLength: 80 });

describe("heights", () => {
  it("agree with adding them up one by one, through measurements, growth and shrinking", () => {
    const size = fc.integer({ min: 1, max: 50 });
    fc.assert(
      fc.property(size, size, measured, measured, (first, second, before, after) => {
        const heights = createHeights(first, 40);
        let plain = Array.from({ length: first }, () => 40);
        const measure = ({ row, height }: { row: number; height: number }): void => {
          heights.measure(row, height);
          if (row < plain.length) plain[row] = height;
        };
        before.forEach(measure);
        heights.resize(second);
        plain = Array.from({ length: second }, (_, at) => plain[at] ?? 40);
        after.forEach(measure);
        const offsets = plain.map((_, at) => plain.slice(0, at).reduce((sum, height) => sum + height, 0));
        expect(offsets.map((_, at) => heights.offset(at))).toEqual(offsets);
        expect(heights.total).toBe(plain.reduce((sum, height) => sum + height, 0));
        for (let place = 0; place < heights.total; place += 17) {
          const row = heights.at(place);
          expect(heights.offset(row)).toBeLessThanOrEqual(place);
          expect(heights.offset(row) + heights.of(row)).toBeGreaterThan(place);
        }
      }),
    );
  });

  it("of a huge list stay within what a browser can lay out", () => {
    expect(createHeights(1_000_000, 80).total).toBeLessThanOrEqual(15_000_001);
  });

  it("know the first and the last row beyond both ends", () => {
    const heights = createHeights(3, 10);
    expect([-5, 0, 29, 30, 1000].map((place) => heights.at(place))).toEqual([0, 0, 2, 2, 2]);
    expect(createHeights(0, 10).at(5)).toBe(0);
  });
});

describe("what is on the screen", () => {
  it("covers the view, and little more", () => {
    const heights = createHeights(100_000, 50);
    expect(rangeOf(heights, { top: 50_000, height: 500 }, 100)).toEqual({ from: 998, to: 1013 });
    expect(rangeOf(createHeights(0, 50), { top: 0, height: 500 }, 100)).toEqual({ from: 0, to: 0 });
  });

  it("stays in its place when rows above it turn out to be higher", () => {
    fc.assert(
      fc.property(measured, fc.nat(1500), (changes, top) => {
        const heights = createHeights(50, 40);
        const view = { top, height: 300 };
        const anchor = anchorOf(heights, view);
        fc.pre(anchor !== "end");
        for (const { row, height } of changes) if (row < anchor.row) heights.measure(row, height);
        const moved = topOf(heights, anchor, view.height);
        const row = heights.at(moved);
        fc.pre(moved < heights.total - view.height);
        expect(row).toBe(anchor.row);
        expect(moved - heights.offset(row)).toBe(anchor.past);
      }),
    );
  });

  it("stays at the end when rows are added there", () => {
    const heights = createHeights(50, 40);
    const anchor = anchorOf(heights, { top: 1700, height: 300 });
    heights.resize(60);
    expect([anchor, topOf(heights, anchor, 300)]).toEqual(["end", 2100]);
  });
});

describe("rows without any height", () => {
  it("are drawn with their neighbour, so that they can grow", () => {
    const heights = createHeights(10, 50);
    for (const row of [2, 3, 4]) heights.measure(row, 0);
    expect(rangeOf(heights, { top: 100, height: 100 }, 0).from).toBe(2);
  });
});
