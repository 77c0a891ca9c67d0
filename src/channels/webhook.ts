/** Webhook: any program may talk to the bot by signed HTTP, and is answered by signed HTTP. */
import { createHmac, timingSafeEqual } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { basename } from "node:path";
import * as z from "zod/mini";
import { errorCode, reasonOf, UserError } from "../util/errors.js";
import { withOwnSignal } from "../util/own-signal.js";
import { maybeText, section, text, textList, whole } from "../util/settings.js";
import { defineChannel, SendFailure, type Link, type Sending } from "./channel.js";

const largestBody = 1024 * 1024;
/** A sender that dawdles is not waited for. */
const requestMs = 10_000;
const answerMs = 30_000;
/** While the port is open there is proof of life so often. */
const aliveEveryMs = 15_000;

/** What comes in. The same `id` again is the same message. */
const incoming = z.object({
  id: z.string().check(z.minLength(1), z.maxLength(200)),
  chat: z.string().check(z.minLength(1), z.maxLength(200)),
  sender: z.string().check(z.minLength(1), z.maxLength(200)),
  text: z.string().check(z.minLength(1)),
});

export const webhook = defineChannel({
  name: "webhook",
  settings: section({
    secret: z.prefault(
      maybeText().check(
        z.minLength(1, {
          error: "is missing: make one up, of 16 characters or more, for the program that sends here",
          abort: true,
        }),
        z.minLength(16, "must have at least 16 characters: whoever knows it may speak to the bot"),
      ),
      "",
    ),
    host: z.prefault(text(), "127.0.0.1"),
    port: z.prefault(whole(0, 65_535), 18791),
    url: z.prefault(maybeText(), ""),
    allowFrom: z.prefault(textList(), []),
  }),
  create({ secret, host, port, url }, { fetch, sleep, log }) {
    const sign = (body: string | Buffer): string => `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

    return {
      async run(link, signal) {
        if (signal.aborted) return;
        const server = createServer({ requestTimeout: requestMs, headersTimeout: requestMs }, (request, response) => {
          receive(request, link, sign).then(
            ([status, answer]) => respond(response, status, answer),
            (error: unknown) => {
              log.warn(`Webhook: a message could not be taken: ${reasonOf(error)}`);
              respond(response, 503, "not stored, try again");
            },
          );
        });
        await listen(server, host, port);
        try {
          for (; !signal.aborted; await sleep(aliveEveryMs, signal).catch(() => {})) link.alive();
        } finally {
          server.close();
          server.closeAllConnections();
        }
      },

      async send(message, signal) {
        if (url === "") {
          throw new SendFailure("never", "channels.webhook.url is not set: there is nobody to answer to.");
        }
        const body = JSON.stringify(await payloadOf(message));
        const headers = {
          "Content-Type": "application/json",
          "X-Nanogate-Signature": sign(body),
          "Idempotency-Key": message.intent,
        };
        const [response, answer] = await withOwnSignal(signal, answerMs, async (own) => {
          // A signed message is for this address and no other.
          const taken = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: own });
          return [taken, await taken.text().catch(() => "")] as const;
        });
        if (response.ok) return { id: idIn(answer) ?? message.intent };
        throw refusal(response);
      },

      // A program takes any length.
      split: (whole) => (whole.trim() === "" ? [] : [whole]),
    };
  },
});

type Answer = readonly [status: number, text: string];

/** 202 only once the message is stored. */
async function receive(request: IncomingMessage, link: Link, sign: (body: Buffer) => string): Promise<Answer> {
  if (request.method !== "POST") return [405, "only POST"];
  const body = await bodyOf(request);
  if (!body) return [413, `at most ${largestBody} bytes`];
  if (!isSame(request.headers["x-nanogate-signature"], sign(body))) return [401, "wrong signature"];
  const parsed = z.safeParse(incoming, jsonOf(body));
  if (!parsed.success) return [400, "wanted: { id, chat, sender, text }, all of them texts"];
  const { id, chat, sender, text: said } = parsed.data;
  link.alive();
  await link.accept({ id, from: { channel: "webhook", chat }, sender: [sender], text: said, media: [] });
  return [202, "accepted"];
}

/** Undefined if it is too large. */
async function bodyOf(request: IncomingMessage): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > largestBody) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/** In a time that tells nothing about where they differ. */
function isSame(given: string | string[] | undefined, right: string): boolean {
  const [one, other] = [Buffer.from(typeof given === "string" ? given : ""), Buffer.from(right)];
  return one.length === other.length && timingSafeEqual(one, other);
}

function jsonOf(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString("utf8"));
  } catch {
    return undefined;
  }
}

function respond(response: ServerResponse, status: number, answer: string): void {
  // Whoever sends too much, or without a name, is not listened to any further.
  const close = status === 413 || status === 401 ? { Connection: "close" } : {};
  response.writeHead(status, { "Content-Type": "application/json", ...close });
  response.end(JSON.stringify(status === 202 ? { status: answer } : { error: answer }));
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject).listen(port, host, resolve);
  }).catch((cause: unknown) => {
    if (!["EADDRINUSE", "EACCES", "EADDRNOTAVAIL"].includes(errorCode(cause) ?? "")) throw cause;
    throw new UserError(
      `The webhook cannot listen on ${host}:${port}: ${reasonOf(cause)}`,
      "Set channels.webhook.port (or host) to one that is free.",
      { cause },
    );
  });
}

async function payloadOf(message: Sending): Promise<object> {
  const { kind, to, intent } = message;
  if (kind === "text") return { id: intent, chat: to.chat, text: message.text, ...questionOf(message.answers) };
  try {
    const data = (await readFile(message.path)).toString("base64");
    return { id: intent, chat: to.chat, text: message.caption, file: { name: basename(message.path), data } };
  } catch (cause) {
    throw new SendFailure("never", `${basename(message.path)} cannot be read.`, { cause });
  }
}

/** The other side's own id of what is answered; it has none for what we have asked ourselves. */
const questionOf = (id: string | undefined): object =>
  id === undefined || /^(?:own|cron)-/.test(id) ? {} : { answers: id };

/** Refused for now, or for good. */
function refusal({ status, headers }: Response): SendFailure {
  const message = `The webhook answered ${status}.`;
  if (status !== 408 && status !== 429 && status < 500) return new SendFailure("never", message);
  const given = headers.get("Retry-After") ?? "";
  const afterMs = /^\d+$/.test(given) ? Number(given) * 1000 : Date.parse(given) - Date.now();
  return new SendFailure("later", message, Number.isFinite(afterMs) ? { afterMs: Math.max(0, afterMs) } : {});
}

/** What the other side calls the message, if it says so. */
function idIn(answer: string): string | undefined {
  const parsed = z.safeParse(z.object({ id: z.string() }), jsonOf(Buffer.from(answer)));
  return parsed.success ? parsed.data.id : undefined;
}
