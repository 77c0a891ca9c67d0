/** Slash commands: the same on every channel, answered without a model, never stored. */
import type { Memory } from "../agent/memory.js";
import { commandMenu } from "../channels/command-menu.js";
import type { SessionKey } from "../message.js";
import type { SessionManager } from "../session/manager.js";
import { firstCharacters } from "../session/turn-rows.js";

export type CommandParts = {
  readonly sessions: SessionManager;
  readonly memory: Memory;
  /** Lines of `/status` that only the running program knows. */
  readonly status: () => readonly string[];
};

/** What a message that is a command comes to. `stop` is for whoever runs the turns. */
export type CommandResult = { readonly kind: "reply"; readonly text: string } | { readonly kind: "stop" };

/** `/new` may take so long to summarise; then the rows are archived as they are. */
const newTimeoutMs = 60_000;
const historyDefault = 10;
const historyMost = 50;

const keptRaw = "it is kept word for word in the memory's history file.";

const help = [
  "nanogate commands:",
  ...commandMenu.map(({ name, description, number }) => `/${name}${number ? " [n]" : ""} — ${description}`),
].join("\n");

/** Is it a command, and no message for the model? */
export function isCommand(text: string): boolean {
  const [command = "", argument = ""] = text.trim().toLowerCase().split(/\s+/, 2);
  return command === "/history" || (argument === "" && commands.has(command));
}

const commands: ReadonlySet<string> = new Set(commandMenu.map(({ name }) => `/${name}`));

export function createCommands({ sessions, memory, status }: CommandParts) {
  const compact = async (key: SessionKey, signal: AbortSignal): Promise<string> => {
    const session = await sessions.getOrCreate(key);
    const rows = session.length - session.lastConsolidated;
    if (rows === 0) return "Nothing to compact yet.";
    const outcome = await memory.consolidate(session, session.length, signal);
    if (outcome === "failed") return "The conversation could not be summarised. Nothing has changed; please try again.";
    if (outcome === "archived") return `The conversation could not be summarised; ${keptRaw}`;
    return `Compacted ${rows} messages into memory.`;
  };

  const startAnew = async (key: SessionKey, signal: AbortSignal): Promise<string> => {
    const outcome = await memory.startAnew(key, { signal, deadline: AbortSignal.timeout(newTimeoutMs) });
    if (outcome === "done") return "New session started.";
    return `New session started. The old conversation could not be summarised; ${keptRaw}`;
  };

  const showHistory = async (key: SessionKey, argument: string): Promise<string> => {
    const count = argument === "" ? historyDefault : Number(argument);
    if (!Number.isInteger(count) || count < 1) {
      return `Usage: /history [count] — e.g. /history 5 (default: ${historyDefault}, max: ${historyMost})`;
    }
    const session = await sessions.getOrCreate(key);
    const shown = session
      .slice(Math.max(0, session.length - 4 * historyMost))
      .flatMap(({ role, content }) => {
        if ((role !== "user" && role !== "assistant") || typeof content !== "string" || content === "") return [];
        const head = firstCharacters(content, 200);
        return [`${role === "user" ? "👤 You" : "🤖 Bot"}: ${head}${head.length < content.length ? "…" : ""}`];
      })
      .slice(-Math.min(count, historyMost));
    return shown.length === 0
      ? "No conversation history yet."
      : `Last ${shown.length} message(s):\n${shown.join("\n")}`;
  };

  const showStatus = async (key: SessionKey): Promise<string> => {
    const { length, lastConsolidated } = await sessions.getOrCreate(key);
    return [...status(), `Session: ${length} messages, ${lastConsolidated} of them in memory`].join("\n");
  };

  return async function runCommand(
    text: string,
    session: SessionKey,
    signal: AbortSignal,
  ): Promise<CommandResult | undefined> {
    const [command = "", argument = ""] = text.trim().toLowerCase().split(/\s+/, 2);
    const reply = (answer: string): CommandResult => ({ kind: "reply", text: answer });
    if (command === "/history") return reply(await showHistory(session, argument));
    // As in nanobot, a command with words behind it is a message like any other.
    if (argument !== "") return undefined;
    if (command === "/new") return reply(await startAnew(session, signal));
    if (command === "/stop") return { kind: "stop" };
    if (command === "/help") return reply(help);
    if (command === "/status") return reply(await showStatus(session));
    if (command === "/compact") return reply(await compact(session, signal));
    return undefined;
  };
}
