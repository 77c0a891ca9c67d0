/** Every colour that text is written in can be read on every ground it stands on: WCAG AA, light and dark. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const sheet = readFileSync(new URL("../../web/src/styles/base.css", import.meta.url), "utf8");
const colours = new Map(
  [...sheet.matchAll(/--([\w-]+): light-dark\((#\w{6}), (#\w{6})\)/g)].map(([, name = "", light = "", dark = ""]) => [
    name,
    { light, dark },
  ]),
);

/** Which text stands on which ground. */
const pairs: readonly (readonly [text: string, ...grounds: string[]])[] = [
  ["ink", "ground", "paper", "raised", "sunken", "hover", "chosen", "accent-soft"],
  ["ink-soft", "ground", "paper", "raised", "sunken", "hover", "accent-soft"],
  ["ink-faint", "ground", "paper", "raised", "sunken", "hover"],
  ["accent", "ground", "paper", "hover", "accent-soft"],
  ["good", "paper", "good-soft"],
  ["warn", "paper", "warn-soft"],
  ["bad", "paper", "raised", "bad-soft"],
];

describe.each(["light", "dark"] as const)("in %s colours", (scheme) => {
  const colour = (name: string): string => colours.get(name)?.[scheme] ?? "";
  it.each(pairs.flatMap(([text, ...grounds]) => grounds.map((ground) => [text, ground] as const)))(
    "%s can be read on %s",
    (text, ground) => {
      expect(contrast(colour(text), colour(ground))).toBeGreaterThanOrEqual(4.5);
    },
  );

  it("white can be read on a filled button", () => {
    expect(contrast("#ffffff", colour("accent-fill"))).toBeGreaterThanOrEqual(4.5);
  });
});

function contrast(one: string, other: string): number {
  const [light = 1, dark = 0] = [luminance(one), luminance(other)].sort((a, b) => b - a);
  return (light + 0.05) / (dark + 0.05);
}

function luminance(hex: string): number {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5]
    .map((at) => Number.parseInt(hex.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}
