/** The backend and its rotation with the real claude command. */
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import type { TurnEvent } from "../../src/agent/loop.js";
import { checkClaude } from "../../src/backends/claude-check.js";
import { createClaudeCli } from "../../src/backends/claude-cli.js";
import { projectName } from "../../src/backends/claude-files.js";
import { chat, numbers, openTalk, type TalkOptions } from "../support/talk-house.js";
import { openRealClaude } from "./real-claude.js";

const claude = inject("claude");

async function openReal(options: Omit<TalkOptions, "backend"> & { readonly timeoutSeconds?: number } = {}) {
  if ("missing" in claude) throw new Error(claude.missing);
  const { timeoutSeconds = 60, ...rest } = options;
  const real = await openRealClaude(claude.command, { settings: { timeoutSeconds, model: "claude-sonnet-4-5" } });
  onTestFinished(real.close);
  const backend = createClaudeCli({ settings: real.settings, env: real.world });
  return { real, backend, ...(await openTalk({ ...rest, backend })) };
}

const watched = () => {
  const events: TurnEvent[] = [];
  return { events, on: (event: TurnEvent) => void events.push(event) };
};

describe.skipIf("missing" in claude)("a chat with the real claude command", () => {
  it("rotates: bare messages inside a window, what was said lately at its beginning", async () => {
    const { say, real, rows } = await openReal({ windowSize: 3, memory: "Ann likes trains." });
    for (const text of numbers(7)) expect(await say(text)).toContain(`The last: ${text}`);
    const prompts = real.asked().map((asked) => asked.prompts);
    expect(prompts.map((list) => list.length)).toEqual([1, 2, 3, 1, 2, 3, 1]);
    expect(prompts[2]?.slice(1)).toEqual(["message 2", "message 3"]);
    expect(prompts[3]?.[0]).toContain("\nmessage 3\n");
    expect(prompts[3]?.[0]).toContain("Ann likes trains.");
    expect(await rows()).toHaveLength(14);
  });

  it("goes on when the command has lost everything, or its server fails", async () => {
    const { say, real, warnings } = await openReal();
    await say("one");
    rmSync(join(real.config, "projects"), { recursive: true });
    expect(await say("two")).toContain("The last: two");
    expect(await say("three [api:resume 529]")).toContain("The last: three");
    expect(await say("four [api:resume 401]", chat, { on: () => {} })).toContain("The last: four");
    expect(warnings).toHaveLength(3);
    await expect(say("five [api 401]")).rejects.toMatchObject({ kind: "auth" });
    await expect(say("six [api too-long]")).rejects.toMatchObject({ kind: "too-long" });
  });

  it("can be watched, and shows its tools", async () => {
    const { say, real } = await openReal();
    const { events, on } = watched();
    const answer = await say("hello", chat, { on });
    expect(events.map((event) => (event.kind === "text" ? event.text : event.kind)).join("")).toBe(answer);
    const more = watched();
    await say("look [api tool]", chat, { on: more.on });
    expect(more.events.map(({ kind }) => kind)).toEqual(
      expect.arrayContaining(["text", "restart", "progress", "tool-call", "tool-result"]),
    );
    expect(real.asked().length).toBeGreaterThanOrEqual(3);
  });

  it("keeps its files where we look for them, and nothing of what stands alone", async () => {
    const { say, real, cleanUp, pass } = await openReal();
    expect(real.place.endsWith(projectName(real.folder))).toBe(true);
    await say("one");
    await say("two", chat, { stateless: true });
    expect(real.files().filter((name) => name.endsWith(".jsonl"))).toHaveLength(1);
    pass(25 * 3_600_000);
    expect(await cleanUp()).toBe(1);
    expect(real.files().filter((name) => name.endsWith(".jsonl"))).toEqual([]);
  });

  it("reads its own folder and the files that came with a message, and nothing else", async () => {
    const { say, real } = await openReal();
    const [inside, sent, other] = ["work/a.txt", "sent.txt", "other.txt"].map((name) => join(real.home, name));
    for (const path of [inside, sent, other]) writeFileSync(path ?? "", "the words");
    const read = (path = "", media: readonly string[] = []) => say(`[api read ${path}]`, chat, { media });
    expect(await read(inside)).toContain("the words");
    expect(await read(other)).not.toContain("the words");
    expect(await read(sent, [sent ?? ""])).toContain("the words");
    expect(await read(other, [sent ?? ""])).not.toContain("the words");
  });

  it("is stopped when it takes too long, and what was seen is the answer", async () => {
    const { say } = await openReal({ timeoutSeconds: 10 });
    expect(await say("one [api hang]", chat, { on: () => {} })).toMatch(/^Let me think\n\n\[I was stopped here/);
  });

  it("says who it is and whether it is logged in, without asking a model", async () => {
    const { real } = await openReal();
    expect(await checkClaude(real.settings, real.world)).toMatchObject({ isOld: false, login: "in" });
    const { ANTHROPIC_API_KEY: _, ...env } = real.settings.env;
    expect((await checkClaude({ ...real.settings, env }, real.world)).login).not.toBe("in");
    expect(real.asked()).toEqual([]);
  });

  it("sends little that is new; the bytes are printed", { timeout: 600_000 }, async () => {
    const total = async (windowSize: number) => {
      const { say, real } = await openReal({ windowSize });
      for (const text of numbers(24)) await say(`${text}: ${"what do you think of this? ".repeat(10)}`);
      const sum = (what: "bytes" | "newBytes"): number => real.asked().reduce((all, asked) => all + asked[what], 0);
      return { sent: sum("bytes"), new: sum("newBytes") };
    };
    const [rotating, injecting] = [await total(20), await total(1)];
    process.stdout.write(`test:claude: 24 messages: ${JSON.stringify({ rotating, injecting })}\n`);
    expect(rotating.new).toBeLessThan(0.35 * injecting.new);
  });
});
