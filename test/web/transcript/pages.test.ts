/** Which pages of a long conversation are asked for, and which rows are forgotten. */
import { describe, expect, it } from "vitest";
import { pagesFor, tooFar } from "../../../web/src/transcript/pages.js";

const nothing = (): boolean => false;

describe("pages", () => {
  it("are asked for where something is missing, each in one piece", () => {
    expect(pagesFor({ from: 150, to: 320 }, 100_000, nothing)).toEqual([
      { page: 1, before: 200, limit: 100 },
      { page: 2, before: 300, limit: 100 },
      { page: 3, before: 400, limit: 100 },
    ]);
  });

  it("that are there are not asked for again", () => {
    expect(pagesFor({ from: 150, to: 320 }, 1000, (index) => index !== 250).map(({ page }) => page)).toEqual([2]);
    expect(pagesFor({ from: 150, to: 320 }, 1000, () => true)).toEqual([]);
  });

  it("end where the conversation does", () => {
    expect(pagesFor({ from: -5, to: 900 }, 130, nothing)).toEqual([
      { page: 0, before: 100, limit: 100 },
      { page: 1, before: 130, limit: 30 },
    ]);
    expect(pagesFor({ from: 0, to: 10 }, 0, nothing)).toEqual([]);
  });

  it("far from the view are forgotten, but not the newest", () => {
    const known = [0, 40_000, 50_000, 51_000, 60_000, 99_950];
    expect(tooFar(known, { from: 50_000, to: 50_020 }, 100_000)).toEqual([0, 40_000, 60_000]);
  });
});
