/**
 * Many messages, every failure at random: no empty answer, no lost history, rotation where the rules say, no process left.
 * Everyday a small slice; `NANOGATE_THOROUGH` makes it 65 messages in each of 20 chats, as the document's own tests would.
 */
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { storeTurn } from "../../src/agent/turn.js";
import { createClaudeCli } from "../../src/backends/claude-cli.js";
import { ModelError } from "../../src/providers/provider.js";
import { createRandom } from "../lab/random.js";
import { isAlive, openClaude } from "../support/claude-house.js";
import { openTalk, type TalkHouse } from "../support/talk-house.js";
import { thorough } from "../support/thorough.js";

const chats = thorough ? 20 : 2;
const messages = thorough ? 65 : 12;
const windowSize = thorough ? 20 : 4;
const atOnce = thorough ? 4 : 2;
const seed = Number(process.env["NANOGATE_SEED"] ?? 1);

/** What happens to a message; and what becomes of a resumed and of a new conversation then. */
type Ending = "good" | "again" | "answered, dropped" | "failed";
type Trouble = {
  readonly words: string;
  readonly resumed: Ending;
  readonly begun: Ending;
  /** Done before the message is said. */
  readonly before?: "files removed" | "files ruined" | "a turn by a model" | "a restart";
};

const fine: Trouble = { words: "", resumed: "good", begun: "good" };
const troubles: readonly Trouble[] = [
  { words: "[api:resume 529]", resumed: "again", begun: "good" },
  { words: "[api:resume 401]", resumed: "again", begun: "good" },
  { words: "[api:resume too-long]", resumed: "again", begun: "good" },
  { words: "[stub:resume lost]", resumed: "again", begun: "good" },
  { words: "[stub:resume crash]", resumed: "again", begun: "good" },
  { words: "[api 529]", resumed: "again", begun: "failed" },
  { words: "[stub crash]", resumed: "again", begun: "failed" },
  { words: "[stub garbage]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[stub empty]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[stub no-result]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[stub nothing]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[stub no-id]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[stub bad-id]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[api hang]", resumed: "answered, dropped", begun: "answered, dropped" },
  { words: "[api tool]", resumed: "good", begun: "good" },
  { ...fine, before: "files removed", resumed: "again" },
  { ...fine, before: "files ruined", resumed: "again" },
  { ...fine, before: "a turn by a model" },
  { ...fine, before: "a restart" },
];

type Expected = { readonly text: string; readonly kinds: readonly ("new" | "on")[]; readonly known: readonly string[] };

/** One chat with a claude command of its own, all of them on one ledger and one workspace. */
async function soak(chat: number, shared: TalkHouse): Promise<void> {
  const session = `telegram:${chat}`;
  const { next, below } = createRandom(seed * 1000 + chat);
  // In calm chats windows fill up; in stormy ones each kind of trouble comes before any comes again.
  const isStormy = chat % 2 === 0;
  // Who leaves processes behind comes first, so that the small slice has it too.
  let deck = troubles.filter(({ words }) => words === "[api hang]");
  const deal = (): Trouble => {
    if (deck.length === 0) deck = [...troubles];
    return deck.splice(below(deck.length), 1)[0] ?? fine;
  };
  // The time limit is for those that hang; on a busy machine the others need some of it too.
  const claude = openClaude({ settings: { timeoutSeconds: thorough ? 10 : 6 } });
  const backend = createClaudeCli({ settings: claude.settings, env: claude.world });
  let talk = await openTalk({ backend, windowSize, before: shared });
  const stored: string[] = [];
  const expected: Expected[] = [];
  let count: number | undefined;

  for (let number = 1; number <= messages; number++) {
    // Most kinds need a conversation that they can spoil.
    const trouble = next() < (isStormy ? (count === undefined ? 0.1 : 0.8) : 0.05) ? deal() : fine;
    const text = `m${number} of chat ${chat} ${trouble.words}`.trim();
    const remove = (ruin: boolean): void => {
      for (const name of claude.files()) {
        if (ruin) writeFileSync(join(claude.place, name), "ruined\n");
        else rmSync(join(claude.place, name), { recursive: true });
      }
    };
    if (trouble.before === "files removed") remove(false);
    if (trouble.before === "files ruined") remove(true);
    if (trouble.before === "a restart") talk = await openTalk({ backend, windowSize, before: shared });
    if (trouble.before === "a turn by a model") {
      const rows = [`aside ${number}`, `aside answered ${number}`].map((content, at) => ({
        role: at ? "assistant" : "user",
        content,
      }));
      await storeTurn(talk.sessions, session, rows);
      stored.push(...rows.map(({ role, content }) => `${role}: ${content}`));
      count = undefined;
    }

    const resumes = count !== undefined && count < windowSize;
    const first = resumes ? trouble.resumed : trouble.begun;
    const last = first === "again" ? trouble.begun : first;
    const kinds = [resumes ? "on" : "new", ...(first === "again" ? ["new"] : [])] as Expected["kinds"];
    expected.push({ text, kinds, known: stored.slice(-6) });

    const watched = next() < 0.5 || trouble.words === "[api hang]" ? { on: () => {} } : {};
    const reply = await talk.say(text, session, watched).catch((error: unknown) => {
      if (!(error instanceof ModelError)) throw error;
      expect(error.told.trim()).not.toBe("");
      return undefined;
    });
    expect(reply === undefined, `seed ${seed}: ${text}`).toBe(last === "failed");
    if (reply !== undefined) {
      expect(reply.trim()).not.toBe("");
      stored.push(`user: ${text}`, `assistant: ${reply}`);
    }
    count = last === "good" ? (kinds.at(-1) === "on" ? (count ?? 0) : 0) + 1 : undefined;
    const found = await talk.active(session);
    if (count !== undefined && count < windowSize) expect(found, text).toMatchObject({ kind: "active", count });
    else expect(found, text).toMatchObject({ kind: "none" });
  }

  // Nothing is lost, and every turn stands once.
  expect(await talk.rows(session)).toEqual(stored);
  // Rotation came where it should, and whoever was asked knew what had been said before.
  const calls = claude.calls();
  const asked = expected.flatMap(({ text, kinds, known }) => kinds.map((kind) => ({ text, kind, known })));
  expect(calls.map(({ resumed }) => (resumed === null ? "new" : "on"))).toEqual(asked.map(({ kind }) => kind));
  for (const [at, { text, known }] of asked.entries()) {
    const call = calls[at];
    expect(call?.prompt.endsWith(text)).toBe(true);
    if (call?.resumed !== null && !call?.found) continue;
    const context = call.context.map((said) => said.text).join("\n");
    for (const row of known) expect(context, `${text} knows ${row}`).toContain(row.slice(row.indexOf(":") + 2));
  }
  // Nobody is left.
  expect([...calls.map(({ pid }) => pid), ...claude.hanging()].filter(isAlive)).toEqual([]);
  expect(readdirSync(claude.config)).toContain("stub-log.jsonl");
}

describe("a long time with every failure", () => {
  it(`costs nobody anything: ${messages} messages in each of ${chats} chats`, { timeout: 900_000 }, async () => {
    const nobody = openClaude();
    const shared = await openTalk({ backend: createClaudeCli({ settings: nobody.settings, env: nobody.world }) });
    let begun = 0;
    const work = async (): Promise<void> => {
      while (begun < chats) await soak(++begun, shared);
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  });
});
