/** What a backend is told about its task, besides what it knows of itself: where it speaks, and the owner's own words. */
import { keyOf, type Address } from "../message.js";

export type SystemParts = {
  readonly from: Address;
  /** One of the owner's files; undefined if there is none that may be shown. */
  readonly read: (name: string) => Promise<string | undefined>;
};

/** What belongs to everybody who answers. TOOLS.md speaks of tools that a backend does not have. */
const ownersFiles = ["AGENTS.md", "SOUL.md", "USER.md"];

export async function backendSystem({ from, read }: SystemParts): Promise<string> {
  const files = await Promise.all(
    ownersFiles.map(async (name) => {
      const text = (await read(name))?.trim() ?? "";
      return text === "" ? [] : [`## ${name}\n\n${text}`];
    }),
  );
  return [introduction(from), ...files.flat()].join("\n\n");
}

/** Nothing in it changes from message to message: some versions keep the first one they hear. */
const introduction = (from: Address): string =>
  `You answer people in a chat (${keyOf(from)}), through a gateway. They see your final answer and nothing else of your ` +
  "work, so it has to stand for itself: plain words, Markdown where it helps. What you should know later is kept for " +
  "you; you need not write it to files. If something you would need is not permitted, say so instead of asking.";
