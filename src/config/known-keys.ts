/** What the schema says about names: both spellings become one, and names that nobody knows are found. */
import type * as z from "zod/mini";
import { snakeCase } from "../util/settings.js";
import { isTree, type Tree } from "./json-file.js";

type Definition = {
  readonly type: string;
  readonly shape?: Readonly<Record<string, z.ZodMiniType>>;
  readonly innerType?: z.ZodMiniType;
  readonly out?: z.ZodMiniType;
  readonly valueType?: z.ZodMiniType;
  /** What stands under names that are not in the shape. */
  readonly catchall?: z.ZodMiniType;
};

/** Through defaults and transformations to the object or map behind them. */
function core(schema: z.ZodMiniType): Definition {
  const definition = schema._zod.def as unknown as Definition;
  const inner = definition.innerType ?? definition.out;
  return inner ? core(inner) : definition;
}

/** The same settings with every known name in camelCase, which wins if both spellings are there. */
export function withOneSpelling(schema: z.ZodMiniType, tree: Tree): Tree {
  const { shape, valueType } = core(schema);
  const inside = (next: z.ZodMiniType | undefined, value: unknown): unknown =>
    next && isTree(value) ? withOneSpelling(next, value) : value;
  if (!shape) return mapped(tree, (value) => inside(valueType, value));
  const names = new Map(Object.keys(shape).map((name) => [snakeCase(name), name]));
  const entries = Object.entries(tree).flatMap(([given, value]) => {
    const name = names.get(given) ?? given;
    return name !== given && tree[name] !== undefined ? [] : [[name, inside(shape[name], value)] as const];
  });
  return Object.fromEntries(entries);
}

const mapped = (tree: Tree, change: (value: unknown) => unknown): Tree =>
  Object.fromEntries(Object.entries(tree).map(([name, value]) => [name, change(value)]));

export type UnknownKey = { readonly path: readonly string[]; readonly known: readonly string[] };

/** The names in the tree that the schema has no place for, and what could stand there instead. */
export function* unknownKeys(
  schema: z.ZodMiniType,
  tree: Tree,
  path: readonly string[] = [],
): Generator<UnknownKey, void> {
  const { shape, valueType, catchall } = core(schema);
  for (const [name, value] of Object.entries(tree)) {
    const next = shape ? (shape[name] ?? catchall) : valueType;
    if (shape && !next) yield { path: [...path, name], known: Object.keys(shape) };
    else if (next && isTree(value)) yield* unknownKeys(next, value, [...path, name]);
  }
}
