/** The owner's settings: nanobot's config.json, and nanogate.json beside it for what nanobot has no word for. */
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { expandHome } from "./home.js";

export type Settings = {
  readonly home: string;
  readonly workspace: string;
  /** `sessions.driver` in nanogate.json. */
  readonly driver: string;
};

export function loadSettings(home: string): Settings {
  const config = readJson(join(home, "config.json"));
  const own = readJson(join(home, "nanogate.json"));
  const setting = (path: readonly string[]): string | undefined =>
    textAt(own, path, "nanogate.json") ?? textAt(config, path, "config.json");
  const workspace = setting(["agents", "defaults", "workspace"]);
  return {
    home,
    workspace: workspace === undefined ? join(home, "workspace") : resolve(home, expandHome(workspace)),
    driver: setting(["sessions", "driver"]) ?? "jsonl",
  };
}

function readJson(path: string): unknown {
  try {
    return JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    if (errorCode(error) === "ENOENT") return undefined;
    throw new UserError(
      `${path} cannot be read: ${reasonOf(error)}`,
      "Correct the file, or move it away to start anew.",
      {
        cause: error,
      },
    );
  }
}

function textAt(root: unknown, path: readonly string[], file: string): string | undefined {
  let value = root;
  for (const name of path) {
    if (value === undefined) return undefined;
    value = (value as Record<string, unknown> | null)?.[name];
  }
  if (value === undefined || typeof value === "string") return value;
  throw new UserError(
    `${path.join(".")} in ${file} must be a text, not ${JSON.stringify(value)}.`,
    "Put it in quotes.",
  );
}
