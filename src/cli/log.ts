/** The daemon's log: JSON lines for machines, readable on a terminal; secrets never in it. */
import type { Log } from "../world.js";
import type { Terminal } from "./terminal.js";

export async function createLog(terminal: Terminal): Promise<Log> {
  const { pino } = await import("pino");
  const options = { base: null, redact: ["token", "apiKey", "*.token", "*.apiKey", "*.authorization"] };
  const stream = terminal.errIsTerminal
    ? (await import("pino-pretty")).PinoPretty({
        destination: 2,
        sync: true,
        ignore: "pid,hostname",
        translateTime: "HH:MM:ss",
      })
    : pino.destination({ dest: 2, sync: true });
  const logger = pino(options, stream);
  return {
    info: (message, fields = {}) => logger.info(fields, message),
    warn(message, { error, ...fields } = {}) {
      logger.warn({ ...fields, ...(error instanceof Error && { err: error }) }, message);
    },
  };
}
