/** What the HTTP door needs of the gateway, put together when somebody knocks. */
import type { RequestListener } from "node:http";
import { join } from "node:path";
import type { App } from "../app.js";
import type { JobStore } from "../cron/job.js";
import type { Settings } from "../config/load.js";
import type { Delivery } from "../gateway/delivery.js";
import type { Gateway } from "../gateway/gateway.js";
import type { Health } from "../gateway/health.js";
import type { Ledger } from "../gateway/ledger.js";
import type { Live } from "../gateway/live.js";
import type { Auth } from "../http/auth.js";
import { asDriver, openStore } from "../session/open.js";
import type { SessionStore } from "../session/store.js";
import { findPackage } from "../util/package-root.js";
import type { Log } from "../world.js";
import { localDoors } from "./local-channel.js";

export type HttpDoorParts = {
  readonly settings: Settings;
  readonly app: Pick<App, "sessions" | "filesOf" | "modelName">;
  readonly gateway: Pick<Gateway, "acceptOwn" | "resume">;
  readonly ledger: Ledger;
  readonly live: Live;
  readonly delivery: Pick<Delivery, "settled">;
  readonly health: Pick<Health, "status">;
  /** What the page shows and changes of the clock. */
  readonly clock: { readonly jobs: Pick<JobStore, "list" | "enable" | "remove">; readonly zone?: () => string };
  readonly auth: Auth;
  readonly now: () => number;
  readonly log: Log;
};

export function createHttpDoor({ settings, app, gateway, ledger, health, ...parts }: HttpDoorParts) {
  const { driver, segmentSize } = settings.sessions;
  let store: SessionStore | undefined;
  return {
    open: async (): Promise<RequestListener> => {
      const { createDoor } = await import("../http/door.js");
      const { createConversations } = await import("../http/conversations.js");
      const { root, version } = findPackage();
      store = openStore({ workspace: settings.workspace, driver: asDriver(driver), segmentSize, log: parts.log });
      return createDoor({
        ...parts,
        accept: (message) => gateway.acceptOwn(message),
        outcomeOf: async (id) => (await ledger.reports.trace(id))?.entry.outcome,
        resume: () => gateway.resume(),
        localDoors,
        modelName: app.modelName,
        version,
        pageFolder: join(root, "dist", "web"),
        mediaOf: (door) => join(settings.home, "media", door),
        overview: async () => {
          const { pid: _, ...overview } = await health.status();
          return overview;
        },
        conversations: createConversations({ sessions: app.sessions, store }),
        reports: ledger.reports,
        usage: ledger.usage,
        occurrences: ledger.occurrences,
        memory: { scope: settings.memory.scope, of: app.filesOf },
      });
    },
    close: async (): Promise<void> => store?.close(),
  };
}
