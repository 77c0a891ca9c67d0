/** The interactive chat in a real terminal: tmux draws, we type and look. */
import { spawnSync } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import type { ServerResponse } from "node:http";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { buildProgram, openHome, program, servedBy } from "../support/cli.js";
import { type Answer, delta, fragment, type Heard, openFakeOpenAi, says, streams } from "../support/fake-openai.js";

const hasTmux = spawnSync("tmux", ["-V"]).status === 0;
if (!hasTmux) process.stdout.write("note: tmux is not installed; the chat is not tried in a real terminal.\n");

type Size = { readonly columns?: number; readonly rows?: number };

/** A chat in a terminal of its own. */
async function openChat(home: string, { columns = 80, rows = 24 }: Size = {}, ...args: string[]) {
  const socket = `nanogate-test-${randomUUID()}`;
  const tmux = (...words: string[]): string =>
    spawnSync("tmux", ["-L", socket, "-f", "/dev/null", ...words], { encoding: "utf8" }).stdout;
  const command = [process.execPath, program, "chat", "--home", home, ...args].join(" ");
  const size = ["-x", String(columns), "-y", String(rows)];
  tmux(
    "new-session",
    "-d",
    "-s",
    "chat",
    ...size,
    `env -u NODE_OPTIONS HOME=${home} ${command}; echo left with $?; sleep 60`,
  );
  tmux("set-option", "-g", "history-limit", "5000");
  onTestFinished(async () => {
    tmux("kill-server");
    // It may still be putting its things away.
    while (spawnSync("pgrep", ["-f", home]).status === 0) await sleep(25);
  });
  const chat = {
    /** What is on the screen; with `all`, also what has left it. */
    screen: (all?: "all") => tmux("capture-pane", "-p", "-t", "chat", ...(all ? ["-S", "-"] : [])).trimEnd(),
    keys: (...keys: string[]) => void tmux("send-keys", "-t", "chat", ...keys),
    say: (text: string) => chat.keys("-l", text) ?? chat.keys("Enter"),
    paste(text: string): void {
      tmux("set-buffer", "-b", "text", text);
      tmux("paste-buffer", "-p", "-b", "text", "-t", "chat");
    },
    close: () => void tmux("kill-server"),
    resize: (width: number, height: number) =>
      void tmux("resize-window", "-t", "chat", "-x", String(width), "-y", String(height)),
    /** The screen, as soon as it shows this. */
    async until(sign: string | RegExp): Promise<string> {
      for (let tries = 0; tries < 200; tries++) {
        const seen = chat.screen();
        if (typeof sign === "string" ? seen.includes(sign) : sign.test(seen)) return seen;
        await sleep(25);
      }
      throw new Error(`${String(sign)} does not appear on:\n${chat.screen()}`);
    },
  };
  await chat.until("You:");
  return chat;
}

/** Streams words one after the other, and goes on only while somebody listens. */
const slowly =
  (words: readonly string[], ms = 2): Answer =>
  (response) => {
    const say = async (): Promise<void> => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      for (const content of words) {
        if (response.destroyed) return;
        response.write(`data: ${JSON.stringify(delta({ content }))}\n\n`);
        await sleep(ms);
      }
      response.end(`data: ${JSON.stringify(delta({}, "stop"))}\n\ndata: [DONE]\n\n`);
    };
    void say();
  };

const prompt = /^You:$/m;
const numbered = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `Line **${at + 1}** of a long answer.\n\n`);
const linesOn = (text: string): number[] => [...text.matchAll(/^Line (\d+) of/gm)].map(([, number]) => Number(number));
const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);
const contentsOf = (home: string, file = "cli_direct.jsonl"): unknown[] =>
  readFileSync(join(home, "workspace", "sessions", file), "utf8")
    .trimEnd()
    .split("\n")
    .slice(1)
    .map((line) => (JSON.parse(line) as { content: unknown }).content);

describe.skipIf(!hasTmux)("the chat in a terminal", () => {
  beforeAll(buildProgram);

  it("says who answers, answers, and leaves on an exit word", async () => {
    const server = await openFakeOpenAi(says("Hello ", "**you**."));
    const home = openHome(servedBy(server.url));
    const chat = await openChat(home, {}, "-s", "work");
    expect(chat.screen()).toContain("nanogate custom/gpt-4o · cli:work");
    chat.say("hi");
    const seen = await chat.until(/Hello you\.\n\nYou:$/);
    expect(seen).toContain("You: hi\n\nnanogate\nHello you.");
    chat.say(" QUIT ");
    expect(await chat.until("left with 0")).toContain("Goodbye!");
    expect(contentsOf(home, "cli_work.jsonl")).toEqual(["hi", "Hello **you**."]);
  });

  it("shows what a turn does: a spinner, words before a tool, the tool, the answer", async () => {
    const call = fragment(0, { id: "c1", name: "list_dir", args: '{"path": "."}' });
    const server = await openFakeOpenAi(
      streams([delta({ content: "Let me look." }), delta(call), delta({}, "tool_calls")]),
      slowly(["All", " done."], 300),
    );
    const chat = await openChat(openHome(servedBy(server.url)));
    chat.say("look");
    await chat.until("thinking…");
    const seen = await chat.until(/All done\.\n\nYou:$/);
    expect(seen).toContain('nanogate\nLet me look.\n  ↳ list_dir(".")\nAll done.\n\nYou:');
  });

  it("draws an answer that is taller than the screen once, whole, also while the window changes", async () => {
    const server = await openFakeOpenAi(slowly(numbered(60), 5), slowly(numbered(60), 25));
    const chat = await openChat(openHome(servedBy(server.url)), { rows: 12 });
    chat.say("long");
    await chat.until(/Line 60 [^]*\nYou:$/);
    expect(linesOn(chat.screen("all"))).toEqual(upTo(60));
    chat.say("again");
    await chat.until("Line 10 of");
    chat.resize(20, 12);
    await chat.until("Line 20 of");
    chat.resize(100, 12);
    await chat.until(/Line 60 [^]*\nYou:$/);
    const [, second = ""] = chat.screen("all").split("You: again");
    expect(linesOn(second)).toEqual(upTo(60));
  });

  it("folds words, wide characters, lists, tables and code into forty columns", async () => {
    const text =
      "- an item with a text that has to be folded\n- 日本語の長い文章はここで折り返される必要があります\n\n" +
      "| name | what it means to the reader | and more |\n|---|---|---|\n| a | b | c |\n\n```\nlet a = 1;\n```\n";
    const server = await openFakeOpenAi(says(text));
    const chat = await openChat(openHome(servedBy(server.url)), { columns: 40, rows: 30 });
    chat.say("fold");
    expect(await chat.until(/let a = 1;\n\nYou:$/)).toContain(
      [
        "• an item with a text that has to be",
        "  folded",
        "• 日本語の長い文章はここで折り返される必",
        "  要があります",
        "",
        "name: a",
        "what it means to the reader: b",
        "and more: c",
        "",
        "  let a = 1;",
      ].join("\n"),
    );
  });

  it("stops the turn on Ctrl-C, and leaves on the next", async () => {
    const server = await openFakeOpenAi(streams([delta({ content: "I begin" })], "stall"), says("Hello."));
    const home = openHome(servedBy(server.url));
    const chat = await openChat(home);
    chat.say("go");
    await chat.until("I begin");
    chat.keys("C-c");
    await chat.until(/Stopped\. Nothing of this turn was stored\.\n\nYou:$/);
    chat.say("hi");
    await chat.until(/Hello\.\n\nYou:$/);
    expect(contentsOf(home)).toEqual(["hi", "Hello."]);
    chat.keys("half a question", "C-c"); // takes the line back, no more
    chat.keys("C-c");
    await chat.until("Ctrl-C again leaves.");
    chat.keys("C-c");
    await chat.until("left with 0");
  });

  it("leaves on Ctrl-D", async () => {
    const chat = await openChat(openHome());
    chat.keys("C-d");
    expect(await chat.until("left with 0")).toContain("Goodbye!");
  });

  it("takes pasted lines as one message, and a long paste by its size", async () => {
    const server = await openFakeOpenAi(says("One."), says("Two."));
    const home = openHome(servedBy(server.url));
    const chat = await openChat(home);
    chat.paste("first ü\nsecond");
    await chat.until("You: first ü⏎second");
    chat.keys("Enter");
    await chat.until(/One\.\n\nYou:$/);
    const long = upTo(100).join("\n");
    chat.paste(long);
    await chat.until("You: [pasted 1: 100 lines]");
    chat.say(" all?");
    await chat.until(/Two\.\n\nYou:$/);
    expect(contentsOf(home)).toEqual(["first ü\nsecond", "One.", `${long} all?`, "Two."]);
  });

  it("keeps what is typed during a turn for the next prompt", async () => {
    const held: ServerResponse[] = [];
    const server = await openFakeOpenAi((response) => void held.push(response), says("Two."));
    const chat = await openChat(openHome(servedBy(server.url)));
    chat.say("first");
    await chat.until("thinking…");
    chat.say("second");
    chat.keys("-l", "third");
    await expect.poll(() => held.length).toBe(1);
    await sleep(100); // until the keys have arrived, of which nothing is to be seen
    says("One.")(held[0] as ServerResponse, server.heard[0] as Heard);
    const seen = await chat.until(/Two\.\n\nYou: third$/);
    expect(seen).toContain("You: first\n\nnanogate\nOne.\n\nYou: second\n\nnanogate\nTwo.\n\nYou: third");
  });

  it("does not send half a line when its window is closed", async () => {
    const server = await openFakeOpenAi(says("Never."));
    const home = openHome(servedBy(server.url));
    const chat = await openChat(home);
    chat.keys("-l", "half a");
    await chat.until("You: half a");
    chat.close();
    await expect.poll(() => spawnSync("pgrep", ["-f", home]).status).toBe(1);
    expect(server.heard).toEqual([]);
    expect(existsSync(join(home, "history"))).toBe(false);
  });

  it("remembers what was typed in an earlier run", async () => {
    const home = openHome();
    const first = await openChat(home);
    first.say("what is 2+2");
    await first.until(/= 4\n\nYou:$/);
    first.close();
    const second = await openChat(home);
    second.keys("Up");
    await second.until("You: what is 2+2");
  });

  it("says what is wrong in words, and goes on", async () => {
    const chat = await openChat(openHome(servedBy("http://127.0.0.1:9/v1")));
    chat.say("/help");
    await chat.until("/new — Start a new conversation");
    chat.say("hi");
    await chat.until("thinking…");
    chat.keys("C-c");
    await chat.until(/Stopped\.[^]*\nYou:$/);
    expect(chat.screen()).toMatch(prompt);
  });
});
