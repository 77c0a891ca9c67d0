/** Markdown as the blocks it consists of, so that of a growing answer only the last blocks are read and drawn anew. */
import { marked, type Token, type Tokens } from "marked";

export type Block = { readonly raw: string; readonly token: Token };

export type Blocks = {
  readonly text: string;
  readonly blocks: readonly Block[];
  /** So many of them stand, whatever follows, and are the text up to here. */
  readonly settled: { readonly count: number; readonly end: number };
};

const nothing: Blocks = { text: "", blocks: [], settled: { count: 0, end: 0 } };

/** `before`: what is known of a text, of which this may be the continuation. */
export function blocksOf(given: string, before: Blocks = nothing): Blocks {
  const text = given.includes("\r") ? given.replaceAll(/\r\n?/g, "\n") : given;
  const { settled, blocks: known } = text.startsWith(before.text) ? before : nothing;
  const tokens = marked.lexer(text.slice(settled.end), { gfm: true, breaks: true });
  // It says where `[names]` lead, which can change any block.
  const hasNames = tokens.some(({ type }) => type === "def");
  if (hasNames && settled.count > 0) return blocksOf(text);
  const kept = known.slice(0, settled.count);
  const blocks = [...kept, ...tokens.filter(isSeen).map((token) => ({ raw: token.raw, token }))];
  return { text, blocks, settled: hasNames ? nothing.settled : settledOf(tokens, settled) };
}

/** A blank line with two more blocks behind it: nothing that comes can reach back across it. */
function settledOf(tokens: readonly Token[], before: Blocks["settled"]): Blocks["settled"] {
  const seen = tokens.flatMap((token, at) => (isSeen(token) ? [at] : []));
  const gap = tokens.slice(0, seen.at(-2) ?? 0).findLastIndex(({ type }) => type === "space");
  const end = tokens.slice(0, gap + 1).reduce((sum, { raw }) => sum + raw.length, before.end);
  return { count: before.count + seen.filter((at) => at <= gap).length, end };
}

const isSeen = ({ type }: Token): boolean => type !== "space" && type !== "def";

const renderer = new marked.Renderer();
// A picture from elsewhere would tell its server who reads this, and when.
renderer.image = ({ href, text }: Tokens.Image): string =>
  `<a href="${escaped(href)}">${escaped(text === "" ? "picture" : text)} ↗</a>`;
renderer.checkbox = ({ checked }: Tokens.Checkbox): string => (checked ? "☑ " : "☐ ");
// What looks like HTML in an answer was meant to be read.
renderer.html = ({ text }: Tokens.HTML | Tokens.Tag): string => escaped(text);

// The page has headings of its own, and those of an answer stand below them.
renderer.heading = function ({ tokens, depth }: Tokens.Heading): string {
  const level = Math.min(6, depth + 2);
  return `<h${level}>${this.parser.parseInline(tokens)}</h${level}>\n`;
};

/** HTML that still has to be cleaned. */
export const htmlOf = ({ token }: Block): string => marked.parser([token], { gfm: true, breaks: true, renderer });

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
