import { expect, it } from "vitest";
import { evaluate } from "../../src/providers/arithmetic.js";

it.each<[string, number]>([
  ["17*23", 391],
  ["2 + 3 * 4", 14],
  ["(2 + 3) * 4", 20],
  ["10 - 4 - 3", 3],
  ["-2^2", -4],
  ["2^3^2", 512],
  ["2**-1", 0.5],
  ["7 % 4", 3],
  ["6 ÷ 4 × 2", 3],
  [".5 + 1.25", 1.75],
  ["--3", 3],
  ["1/0", Infinity],
])("%s is %d", (text, value) => {
  expect(evaluate(text)).toBe(value);
});

it.each(["", "2 +", "(2", "2)", "2 3", "process.exit()", "0/0", "a+1", "1".padEnd(999, "+1")])(
  "%j is not a sum",
  (text) => {
    expect(evaluate(text)).toBeUndefined();
  },
);
