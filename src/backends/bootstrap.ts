/** The prompt that begins a backend's conversation in the middle of ours: what was said lately, what is remembered, the message. */
import { cutText, tokensOfText } from "../agent/tokens.js";
import type { Row } from "../message.js";
import type { Session } from "../session/session.js";

export type Said = { readonly role: "user" | "assistant"; readonly text: string; readonly time: string };

export type BootstrapParts = {
  /** Oldest first. */
  readonly said: readonly Said[];
  /** Empty if there is none. */
  readonly memory: string;
  /** What else the backend has to know. */
  readonly note?: string | undefined;
  readonly message: string;
  /** The conversation and the memory may take so many tokens together. */
  readonly limit: number;
};

/** No single message takes more of it than this share: one that is very long must not crowd out all others. */
const largestShare = 4;

export function bootstrapPrompt({ said, memory, note, message, limit }: BootstrapParts): string {
  const remembered = cutText(memory.trim(), Math.floor(limit / largestShare));
  const history = fitting(said, limit - tokensOfText(remembered));
  const sections = [
    ...(history.length === 0
      ? []
      : [`Here is what was said in this chat lately, oldest first:\n\n${history.join("\n")}`]),
    ...(remembered === ""
      ? []
      : [`Here is what you remember of earlier times:\n\n${tagged("memory", "", remembered)}`]),
    ...(note === undefined ? [] : [note]),
  ];
  return sections.length === 0 ? message : `${sections.join("\n\n")}\n\n---\n\nNow respond:\n\n${message}`;
}

/** As many of the newest as there is room for. */
function fitting(said: readonly Said[], limit: number): string[] {
  const shown: string[] = [];
  let left = limit;
  for (const { role, text, time } of said.toReversed()) {
    const when = time === "" ? "" : ` time="${time}"`;
    const block = tagged("message", ` from="${role}"${when}`, cutText(text, Math.floor(limit / largestShare)));
    left -= tokensOfText(block);
    if (left < 0) break;
    shown.unshift(block);
  }
  return shown;
}

/** Roles as tags: lines that begin with `H:` and `A:` were imitated by models, and by people who wanted to be the other. */
const tagged = (name: string, attributes: string, text: string): string =>
  `<${name}${attributes}>\n${text.replaceAll(/<(?=\s*\/?\s*(?:message|memory)\b)/gi, "&lt;")}\n</${name}>`;

/** So many rows are looked at for messages among tool results. */
const rowsAtOnce = 200;
const mostRows = 5000;

/** The last messages of a conversation that people would call messages: what tools were asked and said is left out. */
export function lastSaid(session: Session, count: number): Said[] {
  let said: Said[] = [];
  const end = session.length;
  for (let to = end; to > 0 && said.length < count && end - to < mostRows; to -= rowsAtOnce) {
    said = [...session.slice(Math.max(0, to - rowsAtOnce), to).flatMap(saidIn), ...said];
  }
  return said.slice(Math.max(0, said.length - count));
}

function saidIn({ role, content, timestamp }: Row): Said[] {
  if (role !== "user" && role !== "assistant") return [];
  const text = (typeof content === "string" ? content : textParts(content)).trim();
  const time = typeof timestamp === "string" ? timestamp.slice(0, 16).replace("T", " ") : "";
  return text === "" ? [] : [{ role, text, time: /^[\d: -]+$/.test(time) ? time : "" }];
}

const textParts = (content: unknown): string =>
  (Array.isArray(content) ? content : [])
    .flatMap((part: unknown) => {
      const { type, text } = (part ?? {}) as Row;
      return type === "text" && typeof text === "string" ? [text] : [];
    })
    .join("\n");
