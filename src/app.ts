/** The composition root: the only file that knows every part. */
import { homedir } from "node:os";
import { join } from "node:path";
import { askHeartbeat } from "./agent/heartbeat.js";
import type { LoopSettings } from "./agent/loop.js";
import { createMemory } from "./agent/memory.js";
import { createMemoryFolders } from "./agent/memory-folders.js";
import { readOwnFile } from "./agent/own-file.js";
import { type PromptParts, systemPrompt } from "./agent/prompt.js";
import { createProgramFinder } from "./agent/programs.js";
import { activeSkills, loadSkills, skillSummary } from "./agent/skills.js";
import { createSubagents } from "./agent/subagents.js";
import { createTools, type ToolParts } from "./agent/tools/index.js";
import type { Send } from "./agent/tools/message.js";
import type { SearchSettings } from "./agent/tools/web-search.js";
import { createPublicAddresses } from "./agent/tools/public-address.js";
import { createThinking, storeTurn, type TurnInput, type TurnParts } from "./agent/turn.js";
import { prepareWorkspace, workspaceFence } from "./agent/workspace.js";
import { openBackends } from "./app/backends.js";
import { openConfiguredModel } from "./app/model.js";
import type { Handles } from "./backends/handles.js";
import { makeHome } from "./config/home.js";
import type { Settings } from "./config/load.js";
import type { Jobs } from "./cron/job.js";
import { createCommands } from "./gateway/commands.js";
import type { Address, Row, SessionKey } from "./message.js";
import type { Usage } from "./providers/provider.js";
import { asDriver, openSessions } from "./session/open.js";
import { reasonOf } from "./util/errors.js";
import { findPackage } from "./util/package-root.js";
import type { World } from "./world.js";

export type AppOptions = {
  readonly settings: Settings;
  readonly world: World;
  /** How the message tool reaches chats; without it there is no such tool. */
  readonly send?: Send;
  /** Where subagents report; without it there are none. */
  readonly report?: (origin: { readonly session: SessionKey; readonly from: Address }, text: string) => Promise<void>;
  /** Where backends keep their handles; absent: in the ledger of this home. */
  readonly handles?: Handles;
  /** What the agent may plan for later; without it there is no such tool. */
  readonly jobs?: Jobs;
};

export type App = Awaited<ReturnType<typeof createApp>>;

const editorIterations = 10;
const subagentIterations = 15;
const subagentLimit = 4;

export async function createApp({ settings, world, send, report, handles, jobs }: AppOptions) {
  const { workspace, home, agents, tools: toolSettings, sessions: sessionSettings } = settings;
  const { clock, log, env } = world;
  const defaults = agents.defaults;
  const templates = join(findPackage().root, "workspace");
  makeHome(home);
  await prepareWorkspace(settings, templates);

  const sessions = openSessions({
    workspace,
    clock,
    log,
    driver: asDriver(sessionSettings.driver),
    segmentSize: sessionSettings.segmentSize,
    legacyFolder: join(homedir(), ".nanobot", "sessions"),
  });
  const { model, notice } = await openConfiguredModel(settings, world);
  const backends = await openBackends({ settings, world, ...(handles && { handles }) });

  const builtInSkills = join(templates, "skills");
  const fence = workspaceFence(settings, [builtInSkills]);
  const { scope } = settings.memory;
  const folders = createMemoryFolders({ home, workspace, scope, fence, sessions, clock, log });
  const memory = createMemory({
    sessions,
    model: backends?.memoryModel ?? model,
    clock,
    log,
    filesOf: folders.of,
    window: defaults.memoryWindow,
  });

  // Where each chat has a memory of its own, no file tool of one chat may look into another's.
  const isOwn = scope === "chat";
  const toolParts: ToolParts = {
    fence: isOwn ? workspaceFence(settings, [builtInSkills], [join(workspace, "memory")]) : fence,
    addresses: createPublicAddresses({ allowed: toolSettings.ssrfWhitelist }),
    fetch: {},
    search: searchSettings(toolSettings.web.search, env),
    ...(toolSettings.exec.enable && {
      exec: { env, ...toolSettings.exec, sandbox: toolSettings.exec.sandbox === "" ? "auto" : "required" },
    }),
  };
  const loop: LoopSettings = {
    maxIterations: defaults.maxToolIterations,
    toolResultMaxChars: defaults.toolResultMaxChars,
    toolCompaction: defaults.toolCompaction,
    maxTokens: defaults.maxTokens,
  };
  const hasProgram = createProgramFinder(env["PATH"] ?? "");
  const skills = async () => {
    const found = await loadSkills({ fence, builtIn: builtInSkills, hasProgram, env });
    return { always: activeSkills(found), summary: skillSummary(found) };
  };
  const ownersFile = (name: string): Promise<string | undefined> =>
    readOwnFile(fence, join(workspace, name)).catch((error: unknown) => {
      log.warn(`${name} is not shown to the model: ${reasonOf(error)}`);
      return undefined;
    });
  const prompt = (parts: Pick<PromptParts, "memory" | "memoryIs" | "skills">): Promise<string> =>
    systemPrompt({ workspace, read: ownersFile, ...parts });
  const lifetime = new AbortController();
  const subagents =
    report &&
    createSubagents({
      model,
      tools: createTools(toolParts),
      settings: { ...loop, maxIterations: subagentIterations },
      system: async () =>
        prompt({
          memory: "",
          memoryIs: isOwn ? "own" : "shared",
          skills: { always: "", summary: (await skills()).summary },
        }),
      clock,
      log,
      limit: subagentLimit,
      signal: lifetime.signal,
      report,
      ...(backends && { once: (task) => backends.subagent(task, ownersFile) }),
    });

  const usage = { input: 0, output: 0, cached: 0 };
  const thinking: TurnParts = {
    sessions,
    model,
    clock,
    tools: createTools({
      ...toolParts,
      ...(send && { send }),
      ...(subagents && { spawn: subagents.spawn }),
      ...(isOwn && { remember: folders.remember }),
      ...(jobs && { cron: { jobs, clock, ...(defaults.timezone !== "" && { timezone: defaults.timezone }) } }),
    }),
    settings: loop,
    store: { viewMessages: defaults.memoryWindow, toolsUsed: true, failed: "nothing", outOfSteps: "sentence" },
    prompt: async ({ key }) =>
      prompt({
        memory: await memory.text(key),
        memoryIs: isOwn ? "own" : "shared",
        skills: await skills(),
      }),
  };
  const think = createThinking(thinking);
  // An editor sends its whole context along: few steps, and results that are read once and not kept.
  const thinkForEditor = createThinking({
    ...thinking,
    settings: { ...loop, maxIterations: editorIterations, toolCompaction: "store" },
    store: { ...thinking.store, outOfSteps: "marker" },
  });
  const byBackend = backends?.thinking({
    sessions,
    clock,
    read: ownersFile,
    memory: ({ key }) => memory.text(key),
    // A message is two rows. What the backend forgets now is worth a summary sooner than the model's window would ask for.
    leaving: (session) => memory.consolidateSoon(session, lifetime.signal, 2 * settings.rotation.windowSize),
  });
  const modelName = backends?.everywhere ?? model.name;
  const started = performance.now();
  const runCommand = createCommands({
    sessions,
    memory,
    status: () => [
      `Model: ${modelName}`,
      `Tokens: ${usage.input} in (${usage.cached} cached) / ${usage.output} out`,
      `Uptime: ${uptime(performance.now() - started)}`,
    ],
  });

  return {
    /** What the owner should know about the model that was chosen. */
    notice: backends?.everywhere === undefined ? notice : undefined,
    modelName,
    sessions,
    memory,
    filesOf: folders.of,
    ownersFile,
    runCommand,
    /** What a heartbeat has to do, in the model's words. */
    async askHeartbeat(file: string, signal: AbortSignal): Promise<string | undefined> {
      const { tasks, usage: spent } = await askHeartbeat(backends?.memoryModel ?? model, file, clock(), signal);
      add(usage, spent);
      return tasks;
    },
    /** Answers a message without writing anything down. */
    async think(input: TurnInput) {
      const withModel = input.session.startsWith("file:") ? thinkForEditor : think;
      const thought = await (byBackend?.(input.session) ?? withModel)(input);
      add(usage, thought.usage);
      return thought;
    },
    /** Writes a turn down; what is old is brought into memory afterwards, in the background. */
    async store(key: SessionKey, rows: readonly Row[], again: "again" | "first"): Promise<void> {
      const session = await storeTurn(sessions, key, rows, again);
      memory.consolidateSoon(session, lifetime.signal);
    },
    /** Answers a message and writes it down. */
    async answer(input: TurnInput) {
      const { rows, ...thought } = await this.think(input);
      await this.store(input.session, rows, "first");
      return thought;
    },
    stopSubagents: (session: SessionKey): number => subagents?.stop(session) ?? 0,
    /** Finishes what is running, for at most `graceMs`, and lets go of everything. */
    async close(graceMs: number): Promise<void> {
      const timer = setTimeout(() => lifetime.abort(), graceMs);
      await Promise.all([memory.idle(), subagents?.idle()]);
      clearTimeout(timer);
      folders.close();
      await backends?.close();
      await sessions.close();
    },
  };
}

function searchSettings(
  { provider, apiKey, baseUrl }: Settings["tools"]["web"]["search"],
  env: World["env"],
): SearchSettings {
  const key = apiKey || env["BRAVE_API_KEY"];
  return { ...(provider && { provider }), ...(key && { apiKey: key }), ...(baseUrl && { baseUrl }) };
}

function add(sum: { -readonly [Name in keyof Usage]: Usage[Name] }, more: Usage): void {
  sum.input += more.input;
  sum.output += more.output;
  sum.cached += more.cached;
}

function uptime(ms: number): string {
  const minutes = Math.floor(ms / 60_000);
  return minutes < 60 ? `${minutes}m ${Math.floor(ms / 1000) % 60}s` : `${Math.floor(minutes / 60)}h ${minutes % 60}m`;
}
