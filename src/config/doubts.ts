/**
 * Names that nobody knows where other versions may have names of their own: they are left alone, but one that is nearly
 * the name of a setting is worth a word.
 */
import type * as z from "zod/mini";
import { providerSpecs } from "../providers/provider-table.js";
import { camel, snake } from "../providers/registry.js";
import { nearest } from "../util/nearest.js";
import { isTree, type Tree } from "./json-file.js";
import { type UnknownKey, unknownKeys, withOneSpelling } from "./known-keys.js";

/** A sentence for each; `at` is where the tree stands in the configuration. */
export function doubtsAbout(schema: z.ZodMiniType, tree: Tree, at: readonly string[] = []): string[] {
  return [...unknownKeys(schema, withOneSpelling(schema, tree), at)].flatMap(doubt);
}

/** Providers may bear any name; one that has an address of its own is surely meant. */
export function doubtsAboutProviders(providers: unknown): string[] {
  if (!isTree(providers)) return [];
  const known = providerSpecs.map(({ name }) => camel(name));
  const strays = Object.entries(providers).filter(
    ([name, its]) => !known.includes(camel(snake(name))) && !(isTree(its) && (its["apiBase"] ?? its["api_base"])),
  );
  return strays.flatMap(([name]) => doubt({ path: ["providers", name], known }));
}

function doubt({ path, known }: UnknownKey): string[] {
  const meant = nearest(path.at(-1) ?? "", known);
  if (meant === undefined) return [];
  return [`Nobody knows the key ${path.join(".")}. Did you mean ${[...path.slice(0, -1), meant].join(".")}?`];
}
