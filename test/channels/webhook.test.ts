/** The webhook channel: signed HTTP in both directions. */
import { createHmac } from "node:crypto";
import { writeFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import { connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { SendFailure, type Sending } from "../../src/channels/channel.js";
import { webhook } from "../../src/channels/webhook.js";
import { systemWorld } from "../../src/world.js";
import { temporaryFolder } from "../support/workspace.js";
import { describeChannel, memoryLink } from "./channel.contract.js";

const secret = "a secret of some length";
const never = new AbortController().signal;
const sign = (body: string, key = secret): string => `sha256=${createHmac("sha256", key).update(body).digest("hex")}`;

type Seen = { readonly body: string; readonly headers: IncomingHttpHeaders };
type Reply = {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly body?: string;
  readonly die?: true;
};

/** A free port, and a program that is answered there. */
async function openWebhook(settings: object = {}) {
  const seen: Seen[] = [];
  const replies: Reply[] = [];
  const program = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const { status = 200, headers = {}, body = "", die } = replies.shift() ?? {};
      if (status < 300) seen.push({ body: Buffer.concat(chunks).toString(), headers: request.headers });
      if (die) request.socket.destroy();
      else response.writeHead(status, headers).end(body);
    });
  });
  await new Promise<void>((resolve) => program.listen(0, "127.0.0.1", resolve));
  const address = `http://127.0.0.1:${(program.address() as AddressInfo).port}/in`;
  const port = await freePort();
  const folder = temporaryFolder();
  const warnings: string[] = [];
  const world = {
    ...systemWorld({ warn: (line) => void warnings.push(line) }),
    mediaFolder: folder,
    stateFolder: folder,
  };
  const channel = await webhook.open({ secret, port, url: address, ...settings }, world);
  const post = (body: string, headers: Record<string, string> = { "X-Nanogate-Signature": sign(body) }) =>
    fetch(`http://127.0.0.1:${port}/`, { method: "POST", body, headers });
  const close = async (): Promise<void> => {
    program.closeAllConnections();
    await new Promise((resolve) => program.close(resolve));
  };
  return { channel, port, address, folder, seen, replies, warnings, post, close };
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

async function openRunning() {
  const house = await openWebhook();
  const memory = memoryLink();
  const stop = new AbortController();
  const run = house.channel.run(memory.link, stop.signal);
  onTestFinished(async () => {
    stop.abort();
    await run;
    await house.close();
  });
  await memory.until(() => memory.lives() > 0);
  return { ...house, memory };
}

const message = (changes: object = {}): string =>
  JSON.stringify({ id: "1", chat: "build", sender: "ci", text: "the build is red", ...changes });

const textTo = (text: string): Sending & { readonly kind: "text" } => ({
  kind: "text",
  to: { channel: "webhook", chat: "build" },
  text,
  intent: `intent of ${text}`,
  mayRepeat: false,
});

const failureOf = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => undefined,
    (error: unknown) => error,
  );

describeChannel("the webhook", { edits: false }, async () => {
  const { channel, post, replies, seen, close } = await openWebhook();
  let count = 0;
  return {
    channel,
    chat: { channel: "webhook", chat: "build" },
    pushes: true,
    async say(text) {
      const { status } = await post(message({ id: String(count++), text }));
      if (status !== 202) throw new Error(`refused with ${status}`);
    },
    refuse(how) {
      replies.push(how === "later" ? { status: 503 } : how === "never" ? { status: 410 } : { die: true });
    },
    posted: () => seen.map(({ body }) => (JSON.parse(body) as { text: string }).text),
    close,
  };
});

describe("settings", () => {
  const world = { ...systemWorld(), mediaFolder: "", stateFolder: "" };

  it.each([
    [{}, /channels\.webhook\.secret: /],
    [{ secret: "short" }, /channels\.webhook\.secret: must have at least 16 characters/],
    [{ secret, port: "many" }, /channels\.webhook\.port: must be a whole number/],
  ])("%j stop the start", async (settings, words) => {
    await expect(webhook.open(settings, world)).rejects.toThrow(words);
  });

  it("with a port that is taken say so", async () => {
    const { port } = await openRunning();
    const second = await webhook.open({ secret, port }, world);
    const error = await failureOf(second.run(memoryLink().link, never));
    expect(error).toMatchObject({ message: expect.stringContaining(String(port)) as string, name: "UserError" });
  });
});

describe("a message that comes in", () => {
  it("is accepted when it is signed and whole", async () => {
    const { post, memory } = await openRunning();
    const response = await post(message());
    expect([response.status, await response.json()]).toEqual([202, { status: "accepted" }]);
    expect(memory.stored).toEqual([
      { id: "1", from: { channel: "webhook", chat: "build" }, sender: ["ci"], text: "the build is red", media: [] },
    ]);
  });

  it.each([
    ["none", {}],
    ["an empty one", { "X-Nanogate-Signature": "" }],
    ["one of another secret", { "X-Nanogate-Signature": sign(message(), "another secret of length") }],
    ["one of other words", { "X-Nanogate-Signature": sign(message({ text: "the build is green" })) }],
    ["one that is too short", { "X-Nanogate-Signature": sign(message()).slice(0, -1) }],
  ])("is refused with a signature that is %s", async (_what, headers) => {
    const { post, memory } = await openRunning();
    expect((await post(message(), headers)).status).toBe(401);
    expect(memory.stored).toEqual([]);
  });

  it.each([
    ["not JSON", "{"],
    ["no object", "[]"],
    ["without an id", message({ id: undefined })],
    ["with an empty id", message({ id: "" })],
    ["with a number for a text", message({ text: 5 })],
    ["without words", message({ text: "" })],
  ])("is refused when it is %s", async (_what, body) => {
    const { post, memory } = await openRunning();
    expect((await post(body)).status).toBe(400);
    expect(memory.stored).toEqual([]);
  });

  it("is refused when it is too large", async () => {
    const { post, memory } = await openRunning();
    const answer = await failureOf(
      post(message({ text: "x".repeat(1024 * 1024) })).then(({ status }) => expect(status).toBe(413)),
    );
    // The sender may be cut off before it has read the answer.
    expect(answer === undefined || answer instanceof TypeError).toBe(true);
    expect(memory.stored).toEqual([]);
  });

  it("must be posted", async () => {
    const { port } = await openRunning();
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(405);
  });

  it("is to be sent again when it could not be stored", async () => {
    const { post, memory, warnings } = await openRunning();
    memory.failWith(new Error("the disk is full"));
    expect((await post(message())).status).toBe(503);
    expect(warnings).toEqual(["Webhook: a message could not be taken: the disk is full"]);
    memory.failWith(undefined);
    expect((await post(message())).status).toBe(202);
    expect(memory.stored).toHaveLength(1);
  });

  it("that never ends does not keep the channel from ending", async () => {
    const house = await openWebhook();
    onTestFinished(house.close);
    const memory = memoryLink();
    const stop = new AbortController();
    const run = house.channel.run(memory.link, stop.signal);
    await memory.until(() => memory.lives() > 0);
    const socket = connect(house.port, "127.0.0.1", () =>
      socket.write("POST / HTTP/1.1\r\nContent-Length: 9\r\n\r\n{"),
    );
    socket.on("error", () => {});
    await new Promise((resolve) => socket.once("connect", resolve));
    const closed = new Promise((resolve) => socket.once("close", resolve));
    stop.abort();
    await run;
    await closed;
  });
});

describe("an answer", () => {
  it("is signed and says which one it is", async () => {
    const { channel, seen, replies, close } = await openWebhook();
    onTestFinished(close);
    replies.push({ status: 201, body: '{"id":"theirs"}' });
    expect(await channel.send(textTo("hello"), never)).toEqual({ id: "theirs" });
    expect(await channel.send(textTo("again"), never)).toEqual({ id: "intent of again" });
    const [{ body, headers } = { body: "", headers: {} }] = seen;
    expect(JSON.parse(body)).toEqual({ id: "intent of hello", chat: "build", text: "hello" });
    expect(headers).toMatchObject({ "x-nanogate-signature": sign(body), "idempotency-key": "intent of hello" });
  });

  it("says which message it answers, by the id that the other side gave it", async () => {
    const { channel, seen, close } = await openWebhook();
    onTestFinished(close);
    for (const answers of ["build-17", "own-5f0c", "cron-daily-7"]) {
      await channel.send({ ...textTo("hello"), answers }, never);
    }
    expect(seen.map(({ body }) => (JSON.parse(body) as { answers?: string }).answers)).toEqual([
      "build-17",
      undefined,
      undefined,
    ]);
  });

  it("may carry a file", async () => {
    const { channel, seen, folder, close } = await openWebhook();
    onTestFinished(close);
    const path = join(folder, "log.txt");
    writeFileSync(path, "line");
    const { to } = textTo("");
    await channel.send({ kind: "file", to, path, caption: "see", intent: "i", mayRepeat: false }, never);
    expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
      id: "i",
      chat: "build",
      text: "see",
      file: { name: "log.txt", data: Buffer.from("line").toString("base64") },
    });
    const gone = { kind: "file", to, path: join(folder, "gone"), caption: "", intent: "j", mayRepeat: false } as const;
    expect(await failureOf(channel.send(gone, never))).toMatchObject({ when: "never" });
  });

  it.each([
    [{ status: 429, headers: { "Retry-After": "3" } }, "later", 3000],
    [{ status: 503 }, "later", undefined],
    [{ status: 408 }, "later", undefined],
    [{ status: 400 }, "never", undefined],
    [{ status: 404 }, "never", undefined],
  ] as const)("that is answered %j goes %s", async (reply, when, afterMs) => {
    const { channel, replies, close } = await openWebhook();
    onTestFinished(close);
    replies.push(reply);
    const failure = await failureOf(channel.send(textTo("hello"), never));
    expect(failure).toBeInstanceOf(SendFailure);
    expect([(failure as SendFailure).when, (failure as SendFailure).afterMs]).toEqual([when, afterMs]);
  });

  it("is not sent anywhere else, whatever the other side says", async () => {
    const elsewhere = await openWebhook();
    onTestFinished(elsewhere.close);
    const { channel, replies, close } = await openWebhook();
    onTestFinished(close);
    const moved = { status: 307, headers: { Location: elsewhere.address } };
    replies.push(moved, moved);
    expect(await failureOf(channel.send(textTo("hello"), never))).toMatchObject({ when: "never" });
    expect(elsewhere.seen).toEqual([]);
  });

  it("without an address has nowhere to go", async () => {
    const { channel, close } = await openWebhook({ url: "" });
    onTestFinished(close);
    expect(await failureOf(channel.send(textTo("hello"), never))).toMatchObject({ when: "never" });
  });
});
