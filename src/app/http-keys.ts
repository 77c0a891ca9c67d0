/** The token that the HTTP door wants to see, and where it comes from. */
import { randomBytes } from "node:crypto";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Settings } from "../config/load.js";
import { isLoopback } from "../http/guard.js";
import { errorCode, UserError } from "../util/errors.js";

export type HttpKeys = {
  /** None: this machine's own address needs none. */
  readonly tokens: readonly string[];
  /** Where the owner finds the token that was made for him. */
  readonly file?: string;
  /** For the owner's commands on this machine, as long as the process lives. */
  readonly ownKey?: string;
};

export const leastTokenChars = 16;

export async function openHttpKeys({ home, gateway }: Pick<Settings, "home" | "gateway">): Promise<HttpKeys> {
  const { host, names, token } = gateway;
  // Behind a name there is a proxy, and before it anybody.
  const isNeeded = token !== "" || names.length > 0 || !isLoopback(host);
  if (!isNeeded) return { tokens: [] };
  const ownKey = randomBytes(32).toString("base64url");
  if (token !== "") return { tokens: [token, ownKey], ownKey };
  const file = join(home, "state", "http-token");
  return { tokens: [await keptToken(file), ownKey], file, ownKey };
}

async function keptToken(file: string): Promise<string> {
  try {
    await mkdir(join(file, ".."), { recursive: true });
    await writeFile(file, `${randomBytes(32).toString("base64url")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
    await chmod(file, 0o600);
  }
  const token = (await readFile(file, "utf8")).trim();
  if (token.length >= leastTokenChars) return token;
  throw new UserError(`${file} holds no token.`, "Remove the file; a new one is made at the next start.");
}
