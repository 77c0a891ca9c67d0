/** The table of settings in docs/operations.md says what the schema says. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import * as z from "zod/mini";
import { configSchema } from "../../src/config/schema.js";

const text = readFileSync(new URL("../../docs/operations.md", import.meta.url), "utf8");
const rows = [...text.matchAll(/^\| `([a-z]+(?:\.\w+)+)`(?: \\\*)? +\| (?:`(.*?)`)? +\|/gm)].map(
  ([, path = "", value]) => [path, value] as const,
);
/** Said by the gateway, where the schema leaves it open. */
const elsewhere = { "channels.sendProgress": true, "channels.sendToolHints": false };
/** On pages of their own. */
const apart = /^(?:backends|rotation|providers|tools\.exec)\./;

function leaves(value: unknown, path: readonly string[] = []): [string, unknown][] {
  const isSection = typeof value === "object" && value !== null && !Array.isArray(value);
  if (!isSection) return [[path.join("."), value]];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, [...path, name]));
}

describe("docs/operations.md", () => {
  it("lists every setting with its default", () => {
    const schema = leaves(z.parse(configSchema, {})).filter(([path]) => !apart.test(path));
    const said = rows.map(([path, value]) => [path, value === undefined ? undefined : (JSON.parse(value) as unknown)]);
    const right = { "tools.web.search.provider": undefined, ...elsewhere, ...Object.fromEntries(schema) };
    expect(Object.fromEntries(said)).toEqual(right);
  });
});
