/**
 * In the place of what discord.js brings along (scripts/bundle.js): an HTTP client and a guesser of file types that nobody
 * asks here, an emitter of events with an inspector of its own inside, and the names of everything that Discord knows.
 */
import { EventEmitter } from "node:events";

export const fetch = (...args) => globalThis.fetch(...args);

export const filetypeinfo = () => [];

export class AsyncEventEmitter extends EventEmitter {
  constructor() {
    super({ captureRejections: true });
  }
}

export * from "discord-api-types/gateway/v10";
export * from "discord-api-types/rest/v10";
