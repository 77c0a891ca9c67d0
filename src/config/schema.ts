/** What can be set: nanobot's keys and defaults, and nanogate's own, which live in nanogate.json. */
import * as z from "zod/mini";
import { readActiveHours } from "../util/active-hours.js";
import { backends, rotation } from "./backend-schema.js";
import { isTree } from "./json-file.js";
import {
  decimal,
  flag,
  maybeAddress,
  maybeText,
  optionalSection,
  section,
  text,
  textList,
  textMap,
  whole,
} from "../util/settings.js";
import { isZone } from "../util/zone.js";

const provider = section({
  apiKey: z._default(maybeText(), ""),
  apiBase: z._default(maybeAddress(), ""),
  extraHeaders: z._default(textMap(), {}),
});

const timezone = () =>
  z._default(
    maybeText().check(z.refine((zone) => zone === "" || isZone(zone), "must be a time zone like Europe/Berlin")),
    "",
  );

const agentDefaults = optionalSection({
  workspace: z._default(text(), ""),
  /** Who answers where nothing else is said: a backend's name. Empty: the model below. */
  backend: z._default(text(), ""),
  model: z._default(text(), ""),
  provider: z._default(text(), "auto"),
  maxTokens: z._default(whole(1), 8192),
  temperature: z._default(decimal(), 0.1),
  maxToolIterations: z._default(whole(1), 40),
  memoryWindow: z._default(whole(2), 100),
  reasoningEffort: z._default(maybeText(), ""),
  contextWindowTokens: z._default(whole(1024), 65_536),
  toolResultMaxChars: z._default(whole(1), 4000),
  /** Of times that name none; empty: the machine's. */
  timezone: timezone(),
  toolCompaction: z._default(z.enum(["store", "view", "off"], "must be one of store, view, off"), "view"),
});

/** A channel reads its settings itself; only whether it is on is everybody's business. */
const channel = z.transform((value: unknown, { issues }) => {
  if (!isTree(value) || value["enabled"] === undefined) return value;
  const enabled = z.safeParse(flag(), value["enabled"]);
  if (enabled.success) return { ...value, enabled: enabled.data };
  for (const { message } of enabled.error.issues) {
    issues.push({ code: "custom", message, path: ["enabled"], input: value["enabled"] });
  }
  return value;
});

const channels = z.catchall(
  z.object({ sendProgress: z.optional(flag()), sendToolHints: z.optional(flag()) }, "must be an object"),
  channel,
);

/** Those that only nanobot has stand for the best one here that needs no key. */
const searchProvider = z.pipe(
  z.transform((value) =>
    ["tavily", "jina", "kagi", "olostep", "", null].includes(value as string) ? undefined : value,
  ),
  z.optional(z.enum(["brave", "searxng", "duckduckgo"], "must be one of brave, searxng, duckduckgo")),
);

export const configSchema = section({
  agents: optionalSection({ defaults: agentDefaults }),
  providers: z._default(z.record(z.string(), provider, "must be an object"), {}),
  channels: z._default(channels, {}),
  gateway: optionalSection({
    // nanobot's default of all addresses is not ours: what is open to the network has to be opened on purpose.
    host: z._default(text(), "127.0.0.1"),
    port: z._default(whole(0, 65_535), 18_790),
    maxConcurrentTurns: z._default(whole(1), 8),
    maxQueue: z._default(whole(1), 20),
    graceSeconds: z._default(whole(0), 20),
    /** Names the door is known by besides its address, and pages that may speak to it. */
    names: z._default(textList(), []),
    origins: z._default(textList(), []),
    /** Empty: where one is needed, it is made at the first start and kept in state/http-token. */
    token: z._default(
      maybeText().check(
        z.refine((token) => token === "" || /^\S{16,}$/.test(token), "must have 16 characters or more, and no spaces"),
      ),
      "",
    ),
    heartbeat: optionalSection({
      enabled: z._default(flag(), true),
      intervalS: z._default(whole(1), 1800),
      /** Empty: day and night. */
      activeHours: z._default(
        maybeText().check(
          z.refine((hours) => hours === "" || readActiveHours(hours) !== undefined, 'must be hours like "08:00-22:00"'),
        ),
        "",
      ),
      timezone: timezone(),
    }),
  }),
  tools: optionalSection({
    web: optionalSection({
      search: optionalSection({
        apiKey: z._default(maybeText(), ""),
        baseUrl: z._default(maybeText(), ""),
        provider: searchProvider,
      }),
    }),
    exec: optionalSection({
      enable: z._default(flag(), true),
      timeout: z._default(whole(1), 60),
      allowedEnvKeys: z._default(textList(), []),
      pathAppend: z._default(text(), ""),
      /** Empty: commands run in bubblewrap where it works. Named: they run in it or not at all. */
      sandbox: z._default(text(), ""),
    }),
    ssrfWhitelist: z._default(textList(), []),
  }),
  sessions: optionalSection({ driver: z._default(text(), "jsonl"), segmentSize: z._default(whole(1), 500) }),
  memory: optionalSection({
    scope: z._default(z.enum(["workspace", "chat"], "must be workspace or chat"), "workspace"),
  }),
  backends,
  rotation,
  /** How jobs are treated that do not say otherwise. */
  cron: optionalSection({
    misfire: z._default(z.enum(["skip", "once", "all"], "must be one of skip, once, all"), "once"),
    graceHours: z._default(decimal().check(z.gte(0, "must be at least 0")), 24),
    overlap: z._default(z.enum(["skip", "wait"], "must be skip or wait"), "skip"),
    limitMinutes: z._default(decimal().check(z.gt(0, "must be more than 0")), 10),
    retries: z._default(whole(0), 0),
  }),
});

export type Config = z.infer<typeof configSchema>;

/** Root keys that only we know. */
export const ownRoots: ReadonlySet<string> = new Set(["sessions", "memory", "cron", "backends", "rotation"]);

/** Root keys of any nanobot, and our own. Another one is surely a typo. */
export const knownRoots: ReadonlySet<string> = new Set([
  "agents",
  "channels",
  "providers",
  "gateway",
  "tools",
  "api",
  "transcription",
  "modelPresets",
  "model_presets",
  ...ownRoots,
]);
