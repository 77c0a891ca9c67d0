/** The owner's settings: nanobot's config.json, nanogate.json merged over it, environment variables where both are silent. */
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { UserError } from "../util/errors.js";
import { nearest } from "../util/nearest.js";
import { doubtsAbout, doubtsAboutProviders } from "./doubts.js";
import { expandHome } from "./home.js";
import { isTree, readJsonFile, type Tree } from "./json-file.js";
import { unknownKeys, withOneSpelling } from "./known-keys.js";
import { type Config, configSchema, knownRoots, ownRoots } from "./schema.js";

export type Settings = Config & {
  readonly home: string;
  readonly workspace: string;
  /** What is probably mistyped, though it may belong to another version: a sentence each. */
  readonly doubts: readonly string[];
};

/** Where settings come from; the later ones win. */
type Source = { readonly name: string; readonly tree: Tree };

export function loadSettings(home: string, env: NodeJS.ProcessEnv): Settings {
  const config = fileSource(join(home, "config.json"), checkConfig);
  const own = fileSource(join(home, "nanogate.json"), checkOwn);
  const sources = [{ name: "the environment", tree: treeFromEnv(env) }, config, own];
  const merged = sources.map(({ tree }) => tree).reduce(merge);
  const parsed = z.safeParse(configSchema, withVariables(merged, env, []));
  if (!parsed.success) throw explain(parsed.error.issues, merged, sources);
  const { workspace } = parsed.data.agents.defaults;
  return {
    ...parsed.data,
    doubts: [
      ...doubtsAbout(configSchema, { providers: merged["providers"] ?? {} }),
      ...doubtsAboutProviders(merged["providers"]),
    ],
    home,
    workspace: workspace === "" ? join(home, "workspace") : resolve(home, expandHome(workspace)),
  };
}

function fileSource(path: string, check: (path: string, tree: Tree) => void): Source {
  const tree = withOneSpelling(configSchema, readJsonFile(path) ?? {});
  check(path, tree);
  return { name: path, tree };
}

/** nanobot's file: what is below its roots may belong to another version, and is left alone. */
function checkConfig(path: string, tree: Tree): void {
  const stray = Object.keys(tree).find((name) => !knownRoots.has(name));
  if (stray !== undefined) throw unknownKey(path, [stray], [...knownRoots]);
  checkOwn(path, Object.fromEntries(Object.entries(tree).filter(([name]) => ownRoots.has(name))));
}

/** Our own file: a name that we do not know is surely a typo. */
function checkOwn(path: string, tree: Tree): void {
  const [stray] = unknownKeys(configSchema, tree);
  if (stray) throw unknownKey(path, stray.path, stray.known);
}

function unknownKey(file: string, path: readonly string[], known: readonly string[]): UserError {
  const meant = nearest(path.at(-1) ?? "", known);
  return new UserError(
    `${file}: nobody knows the key ${path.join(".")}.`,
    meant === undefined
      ? `Use one of ${known.join(", ")}.`
      : `Did you mean ${[...path.slice(0, -1), meant].join(".")}?`,
  );
}

/** `over` wins, leaf by leaf. */
export function merge(under: Tree, over: Tree): Tree {
  const entries = Object.entries(over).map(([name, value]) => {
    const below = under[name];
    return [name, isTree(value) && isTree(below) ? merge(below, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(entries) };
}

/** `NANOBOT_PROVIDERS__ANTHROPIC__API_KEY=x` as `{providers: {anthropic: {api_key: "x"}}}`; and the one name of document 003. */
function treeFromEnv(env: NodeJS.ProcessEnv): Tree {
  const window = env["SESSION_WINDOW_SIZE"];
  let tree: Tree = window === undefined || window === "" ? {} : { rotation: { windowSize: window } };
  for (const [name, value] of Object.entries(env)) {
    const path = /^NANOBOT_(.+)$/i.exec(name)?.[1]?.toLowerCase().split("__");
    if (!path || path.length < 2 || value === undefined || !knownRoots.has(path[0] ?? "")) continue;
    tree = merge(tree, path.reduceRight<unknown>((inner, part) => ({ [part]: inner }), jsonOrText(value)) as Tree);
  }
  return withOneSpelling(configSchema, tree);
}

function jsonOrText(value: string): unknown {
  if (!/^[[{]/.test(value)) return value;
  try {
    return JSON.parse(value);
  } catch {
    return value;
  }
}

/** `${NAME}` in any text is the environment's. */
function withVariables(value: unknown, env: NodeJS.ProcessEnv, path: readonly string[]): unknown {
  if (Array.isArray(value)) return value.map((item, at) => withVariables(item, env, [...path, String(at)]));
  if (isTree(value)) {
    return Object.fromEntries(
      Object.entries(value).map(([name, item]) => [name, withVariables(item, env, [...path, name])]),
    );
  }
  if (typeof value !== "string") return value;
  return value.replaceAll(/\$\{([A-Za-z_][A-Za-z0-9_]*)\}/g, (_, name: string) => {
    const found = env[name];
    if (found !== undefined) return found;
    throw new UserError(
      `${path.join(".")} refers to the environment variable ${name}, which is not set.`,
      `Set ${name}, or write the value into the configuration.`,
    );
  });
}

type Issue = { readonly path: readonly PropertyKey[]; readonly message: string };

/** Each wrong value with its path, and the place where it was written. */
function explain(issues: readonly Issue[], merged: Tree, sources: readonly Source[]): UserError {
  const problems = issues.map(({ path, message }) => {
    const value = valueAt(merged, path);
    const given = value === undefined || isSecret(path) ? "" : `, not ${shortened(JSON.stringify(value))}`;
    return `${path.map(String).join(".")} ${message}${given}`;
  });
  const places = new Set(issues.map(({ path }) => sources.findLast(({ tree }) => valueAt(tree, path) !== undefined)));
  const names = [...places].flatMap((source) => source?.name ?? []);
  return new UserError(
    `The configuration has ${issues.length === 1 ? "a wrong value" : "wrong values"}:\n    ${problems.join("\n    ")}`,
    `Correct ${issues.length === 1 ? "it" : "them"} in ${names.join(" and ")}.`,
  );
}

const valueAt = (tree: unknown, path: readonly PropertyKey[]): unknown =>
  path.reduce<unknown>((value, name) => (value as Record<PropertyKey, unknown> | undefined)?.[name], tree);

/** A wrong key or token may still be a secret. */
const isSecret = (path: readonly PropertyKey[]): boolean =>
  /(?:key|token|secret|password)$|headers/i.test(path.join("."));

const shortened = (text: string): string => (text.length > 60 ? `${text.slice(0, 60)}…` : text);
