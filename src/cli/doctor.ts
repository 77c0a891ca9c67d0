/** `nanogate doctor`: everything a gateway needs, looked at one by one, each with what to do about it. */
import { rm, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { findChannel } from "../app/channels.js";
import { checkModel } from "../app/check-model.js";
import { tryToListen } from "../app/listening.js";
import { askGateway } from "../app/running.js";
import { hasSandbox } from "../agent/tools/sandbox.js";
import { findHome, makeHome } from "../config/home.js";
import { loadSettings, type Settings } from "../config/load.js";
import { type Fetch, Unreachable } from "../util/ask-server.js";
import { reasonOf, UserError } from "../util/errors.js";
import { makeFolder } from "../util/folder.js";
import { systemWorld } from "../world.js";
import { openLedger } from "./open-ledger.js";
import { backendChecks, needsModel } from "./doctor-backends.js";
import { exit, styled, type Terminal } from "./terminal.js";

export type Finding = {
  readonly name: string;
  readonly state: "ok" | "warn" | "fail";
  readonly detail: string;
  readonly fix?: string;
};

export type DoctorWorld = {
  readonly env: NodeJS.ProcessEnv;
  readonly fetch: Fetch;
  readonly now: () => number;
};

const leastNode = [20, 19] as const;
const leastBytes = 200e6;
/** Nothing of this program is older. */
const firstDay = Date.UTC(2026, 0, 1);
const clockToleranceMs = 5 * 60_000;

export async function examine(
  options: { readonly home?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { env, fetch } = systemWorld();
  const findings = await diagnose(findHome(options.home, env), { env, fetch, now: () => Date.now() });
  const sick = findings.some(({ state }) => state === "fail");
  if (options.json) terminal.out(JSON.stringify({ ok: !sick, checks: findings }));
  else for (const finding of findings) terminal.out(inWords(terminal, finding));
  return sick ? exit.failed : exit.ok;
}

const colours = { ok: "green", warn: "yellow", fail: "red" } as const;

const inWords = (terminal: Terminal, { name, state, detail, fix }: Finding): string =>
  `${styled(terminal, colours[state], state.padEnd(4))}  ${name.padEnd(13)}  ${detail}${fix === undefined ? "" : `\n${" ".repeat(21)}→ ${fix}`}`;

export async function diagnose(home: string, world: DoctorWorld): Promise<Finding[]> {
  const clock = watchClocks(world);
  const findings = [nodeVersion()];
  let settings: Settings;
  try {
    settings = loadSettings(home, world.env);
    findings.push(ok("configuration", home));
  } catch (error) {
    return [...findings, failure("configuration", error)];
  }
  const asking = { ...world, fetch: clock.fetch };
  if (needsModel(settings)) findings.push(await modelCheck(settings, asking));
  findings.push(...(await backendChecks(settings, asking, failure)));
  for (const [name, raw] of Object.entries(settings.channels)) {
    if (isTree(raw) && raw["enabled"] === true) findings.push(...(await channelCheck(name, raw, home, clock.fetch)));
  }
  findings.push(
    await sandboxCheck(settings),
    await writable(home, "workspace", settings.workspace),
    await writable(home, "state", join(home, "state")),
    ...(await ledgerCheck(home)),
    clock.finding(),
    await gatewayCheck(settings, world.fetch),
  );
  return findings;
}

const ok = (name: string, detail: string): Finding => ({ name, state: "ok", detail });
const warn = (name: string, detail: string, fix: string): Finding => ({ name, state: "warn", detail, fix });
const failure = (name: string, error: unknown): Finding => {
  // Nobody could be asked, now: that need not be our fault.
  const state = error instanceof Unreachable ? "warn" : "fail";
  const fix = error instanceof UserError ? error.fix : undefined;
  return { name, state, detail: reasonOf(error), ...(fix !== undefined && { fix }) };
};

const isTree = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);

function nodeVersion(): Finding {
  const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
  const [leastMajor, leastMinor] = leastNode;
  if (major > leastMajor || (major === leastMajor && minor >= leastMinor)) return ok("node", process.version);
  return {
    name: "node",
    state: "fail",
    detail: `${process.version} is too old`,
    fix: `Install Node ${leastNode.join(".")} or newer.`,
  };
}

async function modelCheck({ agents, providers }: Settings, { env, fetch }: DoctorWorld): Promise<Finding> {
  const { model, provider } = agents.defaults;
  if (provider === "demo") return warn("model", "the built-in demo answers", "`nanogate init` connects a real one.");
  try {
    const found = await checkModel({ model, provider, providers }, env, fetch);
    if (found !== undefined) return ok("model", `${found} can be reached${model === "" ? "" : `, for ${model}`}`);
    return warn("model", "no key is set: a local model or the built-in demo answers", "`nanogate init` sets one.");
  } catch (error) {
    return failure("model", error);
  }
}

async function channelCheck(
  name: string,
  raw: Readonly<Record<string, unknown>>,
  home: string,
  fetch: Fetch,
): Promise<Finding[]> {
  const textOf = (key: string): string => (typeof raw[key] === "string" ? raw[key] : "");
  const allowed = raw["allowFrom"] ?? raw["allow_from"];
  const findings: Finding[] = [];
  try {
    const kind = findChannel(name);
    if (!kind) return [warn(name, "nanogate has no such channel", "It stays off; the others are not affected.")];
    if (!Array.isArray(allowed) || allowed.length === 0) {
      findings.push(warn(name, "nobody may speak there", `Add your id to channels.${name}.allowFrom.`));
    }
    // As a gateway would, up to the point where it would dial.
    await kind.open(raw, {
      ...systemWorld(),
      mediaFolder: join(home, "media", name),
      stateFolder: join(home, "state"),
    });
    if (!kind.setup) return findings;
    const access = { token: textOf("token"), apiRoot: textOf("apiRoot") || textOf("api_root") };
    const { name: bot, lacks } = await kind.setup.check(access, fetch);
    const fix = "Then start the gateway again.";
    findings.push(
      lacks === undefined
        ? ok(name, `the bot is ${bot}`)
        : { name, state: "fail", detail: `the bot is ${bot}; ${lacks}`, fix },
    );
  } catch (error) {
    findings.push(failure(name, error));
  }
  return findings;
}

async function sandboxCheck({ tools }: Settings): Promise<Finding> {
  if (!tools.exec.enable) return ok("sandbox", "not needed: commands are off");
  if (await hasSandbox()) return ok("sandbox", "commands run in bubblewrap");
  const outcome = tools.exec.sandbox === "" ? "run without a sandbox" : "are refused";
  return warn(
    "sandbox",
    `commands ${outcome}: bubblewrap is missing or may not make namespaces`,
    "Install it (apt install bubblewrap), or switch commands off with tools.exec.enable: false.",
  );
}

async function writable(home: string, name: string, folder: string): Promise<Finding> {
  try {
    makeHome(home);
    makeFolder(folder);
    const probe = join(folder, `.doctor-${process.pid}`);
    await writeFile(probe, "ok");
    await rm(probe);
    const { bavail, bsize } = await statfs(folder);
    if (bavail * bsize >= leastBytes) return ok(name, folder);
    return warn(name, `${folder}: only ${Math.round((bavail * bsize) / 1e6)} MB are free`, "Make room on this disk.");
  } catch (error) {
    return { name, state: "fail", detail: reasonOf(error), fix: `Make ${folder} writable for this user.` };
  }
}

async function ledgerCheck(home: string): Promise<Finding[]> {
  try {
    const ledger = await openLedger({ home }, "look");
    if (!ledger) return [];
    const { open, unsent, dead } = await ledger.reports.summary();
    await ledger.close();
    return [ok("ledger", `${open} open, ${unsent} to be sent, ${dead} put aside`)];
  } catch (error) {
    return [failure("ledger", error)];
  }
}

async function gatewayCheck({ home, gateway }: Settings, fetch: Fetch): Promise<Finding> {
  const found = await askGateway(home, fetch);
  if (found.kind === "none") {
    const refusal = await tryToListen(gateway);
    return refusal ? failure("gateway", refusal) : ok("gateway", "not running");
  }
  if (found.kind === "mute") {
    const detail = `process ${found.running.pid} does not answer`;
    return { name: "gateway", state: "fail", detail, fix: "Look at its log, end it, and start it again." };
  }
  const { ready, pid, ledger } = found.status;
  if (!ready) return warn("gateway", `process ${pid} is not ready`, "`nanogate status` says which channel is not up.");
  return ok("gateway", `process ${pid} is ready, ${ledger.open} message(s) open`);
}

/** Servers say what time it is with every answer. */
function watchClocks({ fetch, now }: DoctorWorld) {
  let off = 0;
  const watched: Fetch = async (input, init) => {
    const response = await fetch(input, init);
    const theirs = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(theirs)) off = now() - theirs;
    return response;
  };
  return {
    fetch: watched,
    finding(): Finding {
      const fix = "Let the machine set its clock from the network (timedatectl set-ntp true).";
      if (now() < firstDay) return { name: "clock", state: "fail", detail: "the clock is years behind", fix };
      if (Math.abs(off) < clockToleranceMs) return ok("clock", new Date(now()).toISOString().slice(0, 16));
      return warn("clock", `the clock is off by ${Math.round(Math.abs(off) / 60_000)} minutes`, fix);
    },
  };
}
