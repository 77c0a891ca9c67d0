/** The books after a run: what must be true whatever was killed when. In words, one per thing that is not. */
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import type { LedgerEntry } from "../../src/gateway/ledger.js";
import type { Row } from "../../src/message.js";
import { openSessions } from "../../src/session/open.js";
import { clockChat } from "./clock.js";
import type { Fakes } from "./daemon.js";

/** What somebody said. The number is unique, and every answer bears it. */
export type Said = { readonly number: string; readonly channel: "telegram" | "discord"; readonly chat: string };

type Platforms = Pick<Fakes, "telegram" | "discord">;

/** What a chat was shown as the answer. */
export const toldFor = ({ number, channel }: Said, { telegram, discord }: Platforms): readonly string[] =>
  (channel === "telegram" ? telegram.sent.map(({ text }) => text) : discord.posts.map(({ content }) => content)).filter(
    (text) => text.includes(`answer ${number}`),
  );

/** A repeat that says so. */
const isLabelled = (text: string): boolean => text.includes("↻");

/** The clock has its own account. */
export const labelledRepeats = ({ telegram }: Platforms): number =>
  telegram.sent.filter(({ chat, text }) => chat !== clockChat && isLabelled(text)).length;

export async function audit(
  home: string,
  said: readonly Said[],
  platforms: Platforms,
  kills: number,
): Promise<string[]> {
  const file = join(home, "state", "ledger.sqlite");
  const ledger = await openSqliteLedger({ file, now: Date.now, reach: () => {} });
  const entries = await ledger.reports.entries("all", 100_000);
  await ledger.close();
  const sessions = openSessions({ workspace: join(home, "workspace") });
  const violations: string[] = [];
  for (const one of said) {
    const mine = entries.filter(({ text }) => text.endsWith(` ${one.number}`));
    const session = await sessions.getOrCreate(`${one.channel}:${one.chat}`);
    const found = [
      ...outcomeFaults(mine),
      ...sessionFaults(one, session.slice(0)),
      ...tellingFaults(one, toldFor(one, platforms)),
    ];
    violations.push(...found.map((text) => `${one.number}: ${text}`));
  }
  await sessions.close();
  const labelled = labelledRepeats(platforms);
  if (labelled > kills) violations.push(`${labelled} labelled repeats for ${kills} kills`);
  return [...violations, ...toolFaults(home), ...platforms.discord.violations.map((text) => `Discord: ${text}`)];
}

function outcomeFaults(entries: readonly LedgerEntry[]): string[] {
  if (entries.length !== 1) return [`${entries.length} entries in the ledger`];
  const [{ outcome, reason } = {}] = entries;
  return outcome === "answered" ? [] : [`outcome ${outcome} (${reason})`];
}

function sessionFaults({ number }: Said, rows: readonly Row[]): string[] {
  const placesOf = (isIt: (row: Row) => boolean): number[] => rows.flatMap((row, at) => (isIt(row) ? [at] : []));
  const questions = placesOf(({ role, content }) => role === "user" && String(content).endsWith(` ${number}`));
  const answers = placesOf(({ role, content }) => role === "assistant" && content === `answer ${number}`);
  const [question, answer] = [questions[0], answers[0]];
  if (question === undefined || answer === undefined || questions.length + answers.length !== 2) {
    return [`stands ${questions.length} times in the session, answered ${answers.length} times`];
  }
  const isWhole = question < answer && rows.slice(question + 1, answer).every(({ role }) => role !== "user");
  return isWhole ? [] : ["its turn is not whole and in order"];
}

function tellingFaults({ channel }: Said, told: readonly string[]): string[] {
  if (told.length === 0) return ["never told"];
  if (channel === "discord" && told.length > 1) return [`Discord shows it ${told.length} times`];
  const unlabelled = told.filter((text) => !isLabelled(text)).length;
  return unlabelled > 1 ? [`told ${unlabelled} times without saying so`] : [];
}

function toolFaults(home: string): string[] {
  const marks = join(home, "workspace", "marks.txt");
  const runs = existsSync(marks) ? readFileSync(marks, "utf8").trim().split("\n") : [];
  return [...new Set(runs)].flatMap((number) => {
    const count = runs.filter((run) => run === number).length;
    return count > 1 ? [`${number}: its tool ran ${count} times`] : [];
  });
}
