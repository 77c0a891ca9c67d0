/** The backends that the owner's settings name, and the turns they think through. */
import { realpathSync } from "node:fs";
import { join, resolve } from "node:path";
import { isInside } from "../agent/tools/fence.js";
import type { SubagentTask } from "../agent/tools/spawn.js";
import type { Thought, TurnInput } from "../agent/turn.js";
import { modelOf } from "../backends/as-model.js";
import type { Backend } from "../backends/backend.js";
import { createChoice, usedBackends } from "../backends/choice.js";
import { createClaudeCli } from "../backends/claude-cli.js";
import type { ClaudeSettings } from "../backends/claude-command.js";
import { createCleaner } from "../backends/cleanup.js";
import type { Handles } from "../backends/handles.js";
import { createResponses } from "../backends/openai-responses.js";
import { createRotation, type Rotation } from "../backends/rotation.js";
import { backendSystem } from "../backends/system.js";
import { type BackendThinkingParts, createBackendThinking } from "../backends/thinking.js";
import { expandHome } from "../config/home.js";
import type { Settings } from "../config/load.js";
import { openSqliteLedger } from "../gateway/ledger-sqlite.js";
import type { SessionKey } from "../message.js";
import type { Model } from "../providers/provider.js";
import { UserError } from "../util/errors.js";
import { askingAgain } from "../util/http-fetch.js";
import type { World } from "../world.js";

export type BackendsParts = {
  readonly settings: Settings;
  readonly world: World;
  /** Those of the gateway's ledger; absent: the same file is opened here. */
  readonly handles?: Handles;
};

type Kind = (settings: Settings, world: World) => Backend;

const kinds: Readonly<Record<string, Kind>> = {
  "claude-cli": (settings, { env }) => createClaudeCli({ settings: claudeSettings(settings), env }),
  "openai-responses": ({ backends }, { env, fetch }) => {
    const { model, apiKey, apiBase: baseUrl, timeoutSeconds } = backends["openai-responses"];
    const key = apiKey || env["OPENAI_API_KEY"];
    if (model === "" || !key) {
      throw new UserError(
        `The backend openai-responses has no ${model === "" ? "model" : "key"}.`,
        `Set backends.openai-responses.${model === "" ? "model" : "apiKey"} in nanogate.json.`,
      );
    }
    return createResponses({ model, apiKey: key, baseUrl, timeoutSeconds, fetch: askingAgain(fetch) });
  },
};

/** The names of those that somebody is to use. */
export const backendsInUse = ({ agents, backends }: Settings): string[] =>
  usedBackends({ use: backends.use, fallback: agents.defaults.backend }, Object.keys(kinds));

/** What is left out is absent, and a folder that would open the conversations of all chats to each of them is refused. */
export function claudeSettings({ backends, home, workspace }: Settings): ClaudeSettings {
  const { command, folder, configDir, model, fallbackModel, permissionMode, maxTurns, ...rest } =
    backends["claude-cli"];
  const place = folder === "" ? join(workspace, "claude") : resolve(home, expandHome(folder));
  const closed = [join(workspace, "sessions"), join(home, "state"), join(home, "config.json")];
  if (closed.some((path) => isInside(real(place), real(path)))) {
    throw new UserError(
      `backends.claude-cli.folder is ${place}, where the conversations of all chats can be read.`,
      "Give it a folder of its own, or leave the setting out.",
    );
  }
  return {
    ...rest,
    command: expandHome(command),
    folder: place,
    ...(configDir !== "" && { configDir: resolve(home, expandHome(configDir)) }),
    ...(model !== "" && { model }),
    ...(fallbackModel !== "" && { fallbackModel }),
    ...(permissionMode !== "" && { permissionMode }),
    ...(maxTurns > 0 && { maxTurns }),
  };
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}

/** What the turns need of the rest of the program. */
export type ThinkingParts = Pick<BackendThinkingParts, "sessions" | "clock" | "memory" | "leaving"> & {
  /** One of the owner's files. */
  readonly read: (name: string) => Promise<string | undefined>;
};

export type Backends = Awaited<ReturnType<typeof openBackends>>;

/** Undefined: a model answers everywhere, and there is nothing to open. */
export async function openBackends({ settings, world, handles: given }: BackendsParts) {
  const names = backendsInUse(settings);
  if (names.length === 0) return undefined;
  const { log } = world;
  const { agents, rotation: window } = settings;
  const maxAgeMs = window.maxAgeHours * 3_600_000;
  const opened = names.map((name) => kinds[name]?.(settings, world)).filter((backend) => backend !== undefined);
  const file = join(settings.home, "state", "ledger.sqlite");
  const own = given ? undefined : await openSqliteLedger({ file, now: () => Date.now(), reach: () => {} });
  const handles = given ?? own?.handles;
  if (!handles) throw new Error("there are no handles");
  const cleaner = createCleaner({ handles, backends: opened, maxAgeMs, log });
  const rotations = new Map<string, { backend: Backend; rotation: Rotation }>(
    opened.map((backend) => {
      const rotation = createRotation({ backend, handles, settings: { windowSize: window.windowSize, maxAgeMs }, log });
      return [backend.name, { backend, rotation }];
    }),
  );
  const choose = createChoice({ use: settings.backends.use, fallback: agents.defaults.backend });
  const everywhere = rotations.get(agents.defaults.backend);
  const memoryModel: Model | undefined =
    everywhere && modelOf(everywhere.backend, everywhere.rotation.once, agents.defaults.contextWindowTokens);

  return {
    /** Who answers where nothing else is said; undefined: the model. */
    everywhere: everywhere?.backend.name,
    /** Summarises for memory, where a backend answers everywhere. */
    memoryModel,
    /** How turns are thought through, session by session; undefined where a model does it. */
    thinking(parts: ThinkingParts) {
      const { read, ...rest } = parts;
      const thinking = new Map(
        [...rotations.values()].map(({ backend, rotation }) => {
          const system = ({ from }: TurnInput): Promise<string> => backendSystem({ from, read });
          return [
            backend.name,
            createBackendThinking({ ...rest, backend, rotation, system, settings: window }),
          ] as const;
        }),
      );
      return (session: SessionKey): ((input: TurnInput) => Promise<Thought>) | undefined => {
        const { backend, stateless } = choose(session);
        const think = thinking.get(backend);
        return (
          think &&
          ((input) => {
            cleaner.tidy();
            return think(stateless ? { ...input, stateless: true } : input);
          })
        );
      };
    },
    /** Does a subagent's task in one go, if a backend is to do it; in the settings they all go by one name. */
    subagent({ task, origin }: SubagentTask, read: ThinkingParts["read"]) {
      const once = rotations.get(choose("subagent").backend)?.rotation.once;
      if (!once) return undefined;
      return async (signal: AbortSignal): Promise<string> => {
        const system = await backendSystem({ from: origin.from, read });
        const exchange = { chat: origin.session, message: task, files: [], system, signal, starting: () => {} };
        return (await once(exchange)).text;
      };
    },
    async close(): Promise<void> {
      await cleaner.idle();
      await own?.close();
    },
  };
}
