/** A conversation of the terminal: with the running gateway if there is one, else with an agent in this process. */
import type { TurnEvent } from "../agent/loop.js";
import type { Settings } from "../config/load.js";
import type { Address, SessionKey } from "../message.js";
import type { Usage } from "../providers/provider.js";
import { UserError } from "../util/errors.js";
import type { World } from "../world.js";
import { openDirect } from "./direct-conversation.js";
import { NobodyThere, openRemote } from "./remote-conversation.js";
import { askGateway } from "./running.js";

export type Conversation = {
  readonly modelName: string;
  /** What the owner should know about the model that was chosen. */
  readonly notice?: string;
  /** Resolves when the turn is stored. Aborting stops it. */
  ask(text: string, turn: Asking): Promise<Answer>;
  /** Finishes what is running, for a while, and lets go. */
  close(): Promise<void>;
};

export type Asking = { readonly signal: AbortSignal; readonly on?: (event: TurnEvent) => void };

export type Answer = {
  /** Undefined: all was said already, by a tool. */
  readonly reply: string | undefined;
  readonly toolsUsed?: readonly string[];
  readonly usage?: Usage;
  readonly end?: string;
};

export type ConversationParts = {
  readonly settings: Settings;
  readonly world: World;
  readonly session: SessionKey;
  readonly from: Address;
  /** Told what is said outside of an answer: by a tool, a subagent, a reminder. */
  readonly heard: (text: string) => void;
  /** One question is asked, and what is said meanwhile to others in this chat is not for whoever asks it. */
  readonly once?: true;
};

/** If the gateway ends or begins while somebody talks, the conversation goes on with whoever is there. */
export async function openConversation(parts: ConversationParts): Promise<Conversation> {
  let current = await open(parts);
  const again = async (): Promise<void> => {
    await current.close();
    current = await open(parts);
  };
  return {
    get modelName() {
      return current.modelName;
    },
    ...(current.notice !== undefined && { notice: current.notice }),
    async ask(text, turn) {
      // Only one process writes: the gateway, as soon as there is one.
      if (current.with === "agent" && (await isGatewayThere(parts))) await again();
      try {
        return await current.ask(text, turn);
      } catch (error) {
        if (!(error instanceof NobodyThere)) throw error;
      }
      await again();
      return current.ask(text, turn);
    },
    close: () => current.close(),
  };
}

const isGatewayThere = async ({ settings, world }: ConversationParts): Promise<boolean> =>
  (await askGateway(settings.home, world.fetch)).kind === "running";

async function open(parts: ConversationParts): Promise<Conversation & { readonly with: "gateway" | "agent" }> {
  const { settings, world } = parts;
  const asked = await askGateway(settings.home, world.fetch);
  if (asked.kind === "running") return { with: "gateway", ...openRemote(parts, asked) };
  if (asked.kind === "none") return { with: "agent", ...(await openDirect(parts)) };
  const { pid } = asked.running;
  throw new UserError(
    `The gateway of ${settings.home} (process ${pid}) does not answer.`,
    `Look at its log, or stop it: kill ${pid}`,
  );
}
