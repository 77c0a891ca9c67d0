/** `nanogate init`: model, channels and owner into a small config.json; by questions or by flags. */
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { checkModel } from "../app/check-model.js";
import type { BotAccess } from "../channels/channel.js";
import { findHome, nanobotHome } from "../config/home.js";
import { readJsonFile, type Tree } from "../config/json-file.js";
import { loadSettings } from "../config/load.js";
import { updateConfig } from "../config/write.js";
import { providerSpecs } from "../providers/provider-table.js";
import { camel, snake } from "../providers/registry.js";
import type { Fetch } from "../util/ask-server.js";
import { UserError } from "../util/errors.js";
import { isAddress } from "../util/settings.js";
import { systemWorld } from "../world.js";
import { type Connectable, connectable } from "./init-channels.js";
import { type Present, presentIn } from "./init-present.js";
import { askEverything } from "./init-questions.js";
import { Cancelled, openPrompts, type Prompts } from "./prompts.js";
import { exit, styled, type Terminal } from "./terminal.js";

/** What was answered, by flag or by question. Absent: not asked, and left as it is. */
export type Answers = ModelAnswers & { readonly channels: Readonly<Record<string, ChannelAnswers>> };
export type ModelAnswers = {
  readonly provider?: string;
  readonly apiKey?: string;
  readonly apiBase?: string;
  readonly model?: string;
};
export type ChannelAnswers = { readonly token?: string; readonly allow?: string; readonly apiRoot?: string };

/** As the flags are called: `--telegram-token` is `telegramToken`. */
export type InitOptions = ModelAnswers & {
  readonly home?: string;
  readonly yes?: boolean;
  readonly skipChecks?: boolean;
} & { readonly [flag in `${string}${"Token" | "Allow" | "ApiRoot"}`]?: string };

export type InitWorld = {
  readonly env: NodeJS.ProcessEnv;
  readonly fetch: Fetch;
  /** Undefined: nobody is there to be asked. */
  readonly prompts?: Prompts;
};

const flags = [
  "--provider NAME --api-key KEY [--model NAME] [--api-base URL]",
  ...connectable.map(({ name }) => `--${name}-token TOKEN --${name}-allow ID,ID`),
  "--home FOLDER  --skip-checks  --yes",
];

function given(options: InitOptions): Answers {
  const { provider, apiKey, apiBase, model } = options;
  const channels: Record<string, ChannelAnswers | undefined> = {};
  for (const { name } of connectable) {
    const [token, allow] = [options[`${name}Token`], options[`${name}Allow`]];
    channels[name] = said({ token, allow, apiRoot: options[`${name}ApiRoot`] });
  }
  return { ...said({ provider, apiKey, apiBase, model }), channels: said(channels) ?? {} };
}

export async function init(options: InitOptions, terminal: Terminal): Promise<number> {
  const { env, fetch } = systemWorld();
  const mayAsk = process.stdin.isTTY && process.stdout.isTTY && options.yes !== true;
  const prompts = mayAsk ? await openPrompts() : undefined;
  return setUp(options, { env, fetch, ...(prompts && { prompts }) }, terminal);
}

/** The exit code: whoever breaks it off has no home that is set up. */
export async function setUp(options: InitOptions, world: InitWorld, terminal: Terminal): Promise<number> {
  try {
    await answerAndWrite(options, world, terminal);
    return exit.ok;
  } catch (error) {
    if (!(error instanceof Cancelled)) throw error;
    terminal.err("nanogate: nothing has been changed.\n");
    return exit.failed;
  }
}

async function answerAndWrite(options: InitOptions, world: InitWorld, terminal: Terminal): Promise<void> {
  const { prompts } = world;
  const flagged = given(options);
  if (!prompts && options.yes !== true && Object.keys({ ...flagged, ...flagged.channels }).length === 1) {
    throw new UserError(
      "There is nobody to ask: this is no terminal.",
      `Answer with flags:\n    ${flags.join("\n    ")}`,
    );
  }
  if (!prompts && (options.apiKey ?? options.apiBase) !== undefined && options.provider === undefined) {
    throw new UserError("Whose key or address that is has not been said.", "Add --provider NAME.");
  }
  if (options.apiBase !== undefined && !isAddress(options.apiBase)) {
    throw new UserError(`--api-base ${options.apiBase} is no address.`, "Write it like https://host/v1.");
  }
  const home = await chooseHome(options, world);
  // Before anything is asked: a file that cannot be read, or is wrong already, will not be written either.
  const present = presentIn(loadSettings(home, world.env), world.env);
  const before = readJsonFile(join(home, "config.json")) ?? {};
  const check = options.skipChecks === true ? noChecks : liveChecks(before, present, world);
  const answers = prompts ? await askEverything(flagged, present, check, prompts, world.fetch) : flagged;
  if (!prompts) {
    // What the questions check one by one.
    await check.model(answers);
    for (const one of connectable) await check.channel(one, answers.channels[one.name] ?? {});
  }
  const path = await updateConfig(home, changesFor(answers, present));
  loadSettings(home, world.env);
  terminal.out(nextSteps(terminal, home, path, answers));
}

/** An existing nanobot home is offered, not taken: it goes on as it is, and Python can go on with it. */
async function chooseHome({ home }: InitOptions, { env, prompts }: InitWorld): Promise<string> {
  const usual = findHome(home, env);
  const own = join(homedir(), ".nanogate");
  if (!prompts || home !== undefined || env["NANOGATE_HOME"] || usual !== nanobotHome()) return usual;
  return prompts.choose("There is a nanobot home on this machine.", [
    { value: usual, label: "Use it as it is", hint: "every conversation goes on; Python can still use it" },
    { value: own, label: `Start anew in ${own}` },
  ]);
}

export type Checks = {
  /** Each throws what the owner should know; a name, if there is one to show. */
  model(answers: ModelAnswers): Promise<string | undefined>;
  channel(channel: Connectable, answers: ChannelAnswers): Promise<string | undefined>;
};

const noChecks: Checks = { model: async () => undefined, channel: async () => undefined };

function liveChecks(before: Tree, { of }: Present, { env, fetch }: InitWorld): Checks {
  return {
    async model({ provider, apiKey, apiBase, model }) {
      if (provider === undefined || provider === "demo") return undefined;
      knownProvider(provider, apiBase);
      const providers = { [camel(snake(provider))]: { ...of(provider).settings, ...said({ apiKey, apiBase }) } };
      return checkModel({ model: model ?? "", provider: snake(provider), providers }, env, fetch);
    },
    async channel({ name, setup }, { token, apiRoot }) {
      if (token === undefined) return undefined;
      const known = (before["channels"] as Tree | undefined)?.[name] as Tree | undefined;
      const set = known?.["apiRoot"];
      const access: BotAccess = { token, apiRoot: apiRoot ?? (typeof set === "string" ? set : "") };
      const { name: bot, lacks } = await setup.check(access, fetch);
      return lacks === undefined ? bot : `${bot}; ${lacks}`;
    },
  };
}

function knownProvider(name: string, apiBase: string | undefined): void {
  if (apiBase !== undefined || providerSpecs.some((spec) => spec.name === snake(name))) return;
  throw new UserError(
    `Nobody knows a provider ${name}.`,
    `Use one of ${providerSpecs.map((spec) => spec.name).join(", ")}; or give its address with --api-base.`,
  );
}

/** nanobot's shape, and only what was answered. Lists are of texts: a number among them voids the file for Python. */
function changesFor(answers: Answers, present: Present): Tree {
  const { apiKey, apiBase, channels } = answers;
  const provider = providerChange(answers, present);
  const defaults = said({ provider, model: answers.model ?? usualModel(provider, present) });
  const access = said({ apiKey, apiBase });
  const changed = Object.entries(channels).map(([channel, its]) => [channel, channelChanges(its)]);
  return (
    said({
      agents: defaults && { defaults },
      providers: access && { [camel(provider ?? "custom")]: access },
      channels: said(Object.fromEntries(changed)),
    }) ?? {}
  );
}

/** Where nobody is chosen a model of this machine or the demo answers anyway, and nanobot need not hear of it. */
function providerChange({ provider }: Answers, present: Present): string | undefined {
  if (provider === undefined) return undefined;
  const isFree = present.provider === undefined && present.model === undefined;
  return provider === "demo" && isFree ? undefined : snake(provider);
}

/** A provider that was chosen before goes on with the model it had. */
function usualModel(provider: string | undefined, present: Present): string | undefined {
  if (provider === present.provider && present.model !== undefined) return undefined;
  return providerSpecs.find((spec) => spec.name === provider)?.defaultModel;
}

function channelChanges({ token, allow, apiRoot }: ChannelAnswers): Tree | undefined {
  return said({
    enabled: token === undefined ? undefined : true,
    token,
    allowFrom: allow
      ?.split(",")
      .map((id) => id.trim().replace(/^@/, ""))
      .filter(Boolean),
    apiRoot,
  });
}

/** Only what is there; nothing at all if that is nothing. */
function said<Value>(tree: Readonly<Record<string, Value | undefined>>): Readonly<Record<string, Value>> | undefined {
  const entries = Object.entries(tree).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}

function nextSteps(terminal: Terminal, home: string, path: string, answers: Answers): string {
  const command = (text: string): string => styled(terminal, "cyan", text);
  const isNew = !existsSync(join(home, "state"));
  const closed = Object.entries(answers.channels).flatMap(([name, { token, allow }]) =>
    token !== undefined && !allow ? [name] : [],
  );
  return [
    `Written to ${path}.`,
    ...closed.map((name) => `Nobody may speak on ${name} yet: add your id to channels.${name}.allowFrom.`),
    "",
    `  ${command("nanogate gateway")}   ${isNew ? "starts it" : "starts it (if it runs already, start it again)"}`,
    `  ${command("nanogate doctor")}    checks everything`,
    `  ${command("nanogate chat")}      talks in the terminal`,
  ].join("\n");
}
