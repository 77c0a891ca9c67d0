/** Telegram's own reading of HTML, strict: what it would refuse is refused, and so is what it would quietly drop. */

/** A tag that is not closed yet. */
type Open = { readonly name: string; readonly language: boolean };

export type Parsed =
  | { readonly ok: true; readonly text: string; readonly tags: readonly string[] }
  | { readonly ok: false; readonly error: string };

const simple = new Set([
  "b",
  "strong",
  "i",
  "em",
  "u",
  "ins",
  "s",
  "strike",
  "del",
  "code",
  "pre",
  "blockquote",
  "tg-spoiler",
]);
const entities: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"' };

/** The text that a reader sees, or what is wrong. */
export function parseTelegramHtml(html: string): Parsed {
  const open: Open[] = [];
  const tags: string[] = [];
  let text = "";
  const refuse = (error: string): Parsed => ({ ok: false, error: `can't parse entities: ${error}` });
  for (const [piece] of html.matchAll(/<[^>]*>?|&[^;\s<&]*;?|[^<&]+/g)) {
    if (piece.startsWith("&")) {
      const decoded = entities[piece] ?? numeric(piece);
      if (decoded === undefined) return refuse(`unescaped "${piece}"`);
      text += decoded;
    } else if (piece.startsWith("</")) {
      const name = piece.slice(2, -1).trim().toLowerCase();
      const last = open.pop();
      if (last?.name !== name) return refuse(`Unexpected end tag "${name}" at byte offset ${text.length}`);
    } else if (piece.startsWith("<")) {
      const tag = readTag(piece);
      if (tag === undefined) return refuse(`Unsupported start tag "${piece}" at byte offset ${text.length}`);
      const error = nestingError(open, tag);
      if (error !== undefined) return refuse(error);
      open.push(tag);
      tags.push(tag.name);
    } else text += piece;
  }
  const left = open.at(-1);
  if (left) return refuse(`Can't find end tag corresponding to start tag "${left.name}"`);
  return { ok: true, text, tags };
}

function numeric(entity: string): string | undefined {
  const [, hex, decimal] = /^&#(?:x([0-9a-f]+)|(\d+));$/i.exec(entity) ?? [];
  const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16);
  return hex === undefined && decimal === undefined ? undefined : String.fromCodePoint(code);
}

function readTag(piece: string): Open | undefined {
  const [, name = "", attributes = ""] = /^<([a-z-]+)((?:\s[^<>]*)?)>$/i.exec(piece) ?? [];
  const lower = name.toLowerCase();
  const given = attributes.trim();
  if (lower === "a") return /^href="[^"]+"$/.test(given) ? { name: "a", language: false } : undefined;
  if (lower === "code" && /^class="language-[^"]+"$/.test(given)) return { name: "code", language: true };
  if (lower === "blockquote" && given === "expandable") return { name: lower, language: false };
  if (lower === "span" && given === 'class="tg-spoiler"') return { name: lower, language: false };
  return simple.has(lower) && given === "" ? { name: lower, language: false } : undefined;
}

function nestingError(open: readonly Open[], { name, language }: Open): string | undefined {
  const around = open.map((tag) => tag.name);
  if (language && around.at(-1) !== "pre") return "a language outside of pre";
  const inCode = around.includes("code") || (around.includes("pre") && !language);
  if (inCode) return `${name} inside code`;
  if (name === "code" && !language && around.some((outer) => outer !== "blockquote"))
    return `code inside ${around.at(-1)}`;
  if (name === "pre" && around.length > 0) return `pre inside ${around.at(-1)}`;
  if ((name === "blockquote" || name === "a") && around.includes(name)) return `${name} inside ${name}`;
  return undefined;
}
