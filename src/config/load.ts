/** The owner's settings: nanobot's config.json, nanogate.json merged over it, environment variables where both are silent. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import * as z from "zod/mini";
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { expandHome } from "./home.js";
import { type Config, configSchema, knownRoots } from "./schema.js";

export type Settings = Config & {
  readonly home: string;
  readonly workspace: string;
};

type Tree = { readonly [name: string]: unknown };

export function loadSettings(home: string, env: NodeJS.ProcessEnv): Settings {
  const merged = [treeFromEnv(env), readTree(join(home, "config.json")), readTree(join(home, "nanogate.json"))].reduce(
    merge,
  );
  const parsed = z.safeParse(configSchema, withVariables(merged, env, []));
  if (!parsed.success) throw explain(parsed.error.issues, home);
  const { workspace } = parsed.data.agents.defaults;
  return {
    ...parsed.data,
    home,
    workspace: workspace === "" ? join(home, "workspace") : resolve(home, expandHome(workspace)),
  };
}

function readTree(path: string): Tree {
  let tree: unknown;
  try {
    tree = JSON.parse(readFileSync(path, "utf8").replace(/^\ufeff/, ""));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return {};
    throw new UserError(
      `${path} cannot be read: ${reasonOf(error)}`,
      "Correct the file, or move it away to start anew.",
      {
        cause: error,
      },
    );
  }
  if (!isTree(tree)) throw new UserError(`${path} is not a JSON object.`, "It should start with { and end with }.");
  for (const name of Object.keys(tree)) {
    if (knownRoots.has(name)) continue;
    throw new UserError(`${path}: nobody knows the key "${name}".`, `Use one of ${[...knownRoots].join(", ")}.`);
  }
  return tree;
}

const isTree = (value: unknown): value is Tree => typeof value === "object" && value !== null && !Array.isArray(value);

/** `over` wins, leaf by leaf. */
function merge(under: Tree, over: Tree): Tree {
  const entries = Object.entries(over).map(([name, value]) => {
    const below = under[name];
    return [name, isTree(value) && isTree(below) ? merge(below, value) : value] as const;
  });
  return { ...under, ...Object.fromEntries(entries) };
}

/** `NANOBOT_PROVIDERS__ANTHROPIC__API_KEY=x` as `{providers: {anthropic: {api_key: "x"}}}`. */
function treeFromEnv(env: NodeJS.ProcessEnv): Tree {
  let tree: Tree = {};
  for (const [name, value] of Object.entries(env)) {
    const path = /^NANOBOT_(.+)$/i.exec(name)?.[1]?.toLowerCase().split("__");
    if (!path || path.length < 2 || value === undefined || !knownRoots.has(path[0] ?? "")) continue;
    tree = merge(tree, path.reduceRight<unknown>((inner, part) => ({ [part]: inner }), jsonOrText(value)) as Tree);
  }
  return tree;
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

function explain(issues: readonly { path: readonly PropertyKey[]; message: string }[], home: string): UserError {
  const problems = issues.map(({ path, message }) => `${path.map(String).join(".")}: ${message}`);
  return new UserError(
    `The configuration has ${issues.length === 1 ? "a wrong value" : "wrong values"}:\n    ${problems.join("\n    ")}`,
    `Correct it in ${join(home, "config.json")} or ${join(home, "nanogate.json")}.`,
  );
}
