/** Whether the gateway can listen where it should, and what to do if not. */
import { createServer } from "node:net";
import type { Settings } from "../config/load.js";
import { errorCode, reasonOf, UserError } from "../util/errors.js";

type Place = Pick<Settings["gateway"], "host" | "port">;

const otherPort = "Set gateway.port to another number, or to 0 for any that is free.";
const otherHost = "Set gateway.host to an address of this machine: 127.0.0.1, or 0.0.0.0 for all of them.";

/** What a system says when it refuses, in words for the owner. */
export function cannotListen(cause: unknown, { host, port }: Place): UserError {
  const code = errorCode(cause) ?? "";
  const why = reasons[code] ?? reasonOf(cause);
  const isHost = ["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN", "EINVAL"].includes(code);
  return new UserError(`The gateway cannot listen on ${host}:${port}: ${why}.`, isHost ? otherHost : otherPort, {
    cause,
  });
}

const reasons: Readonly<Record<string, string>> = {
  EADDRINUSE: "somebody else does",
  EADDRNOTAVAIL: "this machine has no such address",
  ENOTFOUND: "nobody knows such an address",
  EACCES: "this user may not",
};

/** Listens there for a moment. Undefined: it can be done. */
export const tryToListen = (place: Place): Promise<UserError | undefined> =>
  new Promise((resolve) => {
    const server = createServer();
    server.once("error", (error) => resolve(cannotListen(error, place)));
    server.listen({ ...place, exclusive: true }, () => server.close(() => resolve(undefined)));
  });
