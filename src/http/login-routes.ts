/** The way in for the page: a token buys a cookie. */
import * as z from "zod/mini";
import type { Log } from "../world.js";
import { type Auth, noCookie } from "./auth.js";
import type { DoorApp } from "./event-stream.js";
import { login } from "./schemas.js";

export type LoginParts = { readonly auth: Auth; readonly now: () => number; readonly log: Log };

/** Whoever tries again and again is told of once in a while. */
const warnEveryMs = 60_000;

export function addLoginRoutes(app: DoorApp, { auth, now, log }: LoginParts): void {
  let warnedAt = Number.NEGATIVE_INFINITY;

  app.post("/api/login", async (context) => {
    const asked = z.safeParse(login, await context.req.json().catch(() => undefined));
    if (!asked.success) return context.json({ error: "Send {token}." }, 400);
    if (auth.entry({}) !== "open" && !auth.isToken(asked.data.token)) {
      if (now() - warnedAt > warnEveryMs) {
        warnedAt = now();
        log.warn(`Somebody at ${context.env.incoming.socket.remoteAddress} has tried to log in with a wrong token.`);
      }
      return context.json({ error: "This is not the token of this gateway." }, 401);
    }
    const isSecure = context.req.header("origin")?.startsWith("https://") === true;
    return context.json({ done: true }, 200, { "set-cookie": auth.cookie(isSecure) });
  });

  app.post("/api/logout", (context) => context.json({ done: true }, 200, { "set-cookie": noCookie }));
}
