/** The outside world of a gateway under test: a Telegram and a Discord full of people, and a model that answers at once. */
import { once } from "node:events";
import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { startFakeDiscord } from "../test/lab/fake-discord.js";
import { openFakeTelegram } from "../test/lab/fake-telegram.js";

export type Town = Awaited<ReturnType<typeof openTown>>;

/** How long each answer took, in milliseconds, and how many there were in a second. */
export type Talk = { readonly times: readonly number[]; readonly perSecond: number };

const patienceMs = 60_000;

export async function openTown() {
  let heard = (_chat: string): void => {};
  let open = true;
  const [telegram, discord, model] = await Promise.all([openFakeTelegram(), startFakeDiscord(), openInstantModel()]);
  // Both let us look after each request, before they answer it.
  watch(
    telegram.sent,
    ({ chat }) => heard(String(chat)),
    (look) => telegram.until(look),
  );
  watch(
    discord.posts,
    ({ channel }) => heard(channel),
    (look) => discord.until(() => look() || !open, "the end", Infinity),
  );
  const ann = discord.person("ann");
  const room = discord.addPrivateChat(ann);
  const say = {
    telegram: (chat: string): void => void telegram.say(Number(chat), "hi"),
    discord: (chat: string): void => void discord.say(chat, ann, "hi"),
  };

  return {
    telegram,
    /** A home whose gateway lives here. */
    settle(home: string): void {
      mkdirSync(home, { recursive: true });
      const config = {
        agents: { defaults: { provider: "custom", model: "instant" } },
        providers: { custom: { apiKey: "bench", apiBase: model.url } },
        channels: {
          telegram: { enabled: true, token: telegram.token, apiRoot: telegram.url, allowFrom: ["*"] },
          discord: { enabled: true, token: discord.token, apiRoot: discord.apiRoot, allowFrom: ["*"] },
        },
        gateway: { port: 0 },
      };
      writeFileSync(join(home, "config.json"), JSON.stringify(config));
    },
    /** So many people talk at once, each as soon as the last answer is there, until `turns` were answered. */
    talk(platform: "telegram" | "discord", people: number, turns: number): Promise<Talk> {
      const chats =
        platform === "discord" ? [room] : Array.from({ length: people }, (_, person) => String(1000 + person));
      const said = new Map<string, number>();
      const times: number[] = [];
      let left = turns;
      const speak = (chat: string): void => {
        if (left-- <= 0) return;
        said.set(chat, performance.now());
        say[platform](chat);
      };
      const started = performance.now();
      return new Promise((resolve, reject) => {
        const giveUp = (): void => reject(new Error(`${times.length} of ${turns} answers, and then no more`));
        const timer = setTimeout(giveUp, patienceMs);
        heard = (chat) => {
          const at = said.get(chat);
          if (at === undefined) return;
          said.delete(chat);
          times.push(performance.now() - at);
          timer.refresh();
          if (times.length === turns) {
            clearTimeout(timer);
            return resolve({ times, perSecond: (turns / (performance.now() - started)) * 1000 });
          }
          // The answer to the answer is not part of it: first let it arrive.
          setImmediate(speak, chat);
        };
        for (const chat of chats) speak(chat);
      });
    },
    async close(): Promise<void> {
      open = false;
      await Promise.all([telegram.close(), discord.close()]);
      model.close();
    },
  };
}

/** Tells of everything that is added to the list, as long as somebody asks. */
function watch<T>(list: readonly T[], tell: (one: T) => void, ask: (look: () => boolean) => Promise<void>): void {
  let seen = list.length;
  void ask(() => {
    while (seen < list.length) tell(list[seen++] as T);
    return false;
  });
}

/** Says "ok" to everything, and saves nothing new when it is asked to remember. */
async function openInstantModel() {
  const answerOf = (delta: object, end: string): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: end }] })}\n\ndata: [DONE]\n\n`;
  const call = { name: "save_memory", arguments: JSON.stringify({ history_entry: "[2026-01-01 00:00] They talked." }) };
  const summary = answerOf({ tool_calls: [{ index: 0, id: "c", type: "function", function: call }] }, "tool_calls");
  const ok = answerOf({ content: "ok" }, "stop");
  const server = createServer((request, response) => {
    let isSummary = false;
    request.on("data", (part: Buffer) => (isSummary ||= part.includes('"save_memory"')));
    request.on("end", () => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.end(isSummary ? summary : ok);
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    close(): void {
      server.closeAllConnections();
      server.close();
    },
  };
}
