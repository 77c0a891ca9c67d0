/** Markdown as the blocks it consists of, so that of a growing answer only the last block is drawn anew. */
import { marked, type Token, type Tokens } from "marked";

export type Block = { readonly raw: string; readonly token: Token };

export function blocksOf(text: string): Block[] {
  return marked
    .lexer(text, { gfm: true, breaks: true })
    .filter(({ type }) => type !== "space" && type !== "def")
    .map((token) => ({ raw: token.raw, token }));
}

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
