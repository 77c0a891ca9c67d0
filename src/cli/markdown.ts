/** Markdown for a terminal: what the model writes, as people expect to read it. */
import { styleText } from "node:util";
import { marked, type Token, type Tokens } from "marked";

/** The text with ANSI styles; control characters that are not ours are shown, not obeyed. */
export function renderMarkdown(source: string): string {
  const clean = source.replaceAll(/[^\P{Cc}\n\t]/gu, "�");
  return blocks(marked.lexer(clean), "")
    .replace(/\n{3,}/g, "\n\n")
    .trimEnd();
}

const blocks = (tokens: readonly Token[], indent: string): string =>
  tokens.map((token) => block(token, indent)).join("");

function block(token: Token, indent: string): string {
  switch (token.type) {
    case "space":
      return "\n";
    case "heading":
      return `${indent}${styleText("bold", inline((token as Tokens.Heading).tokens))}\n\n`;
    case "code":
      return `${lines((token as Tokens.Code).text, `${indent}  `, (line) => styleText("yellow", line))}\n\n`;
    case "blockquote":
      return `${lines(blocks((token as Tokens.Blockquote).tokens, "").trimEnd(), `${indent}│ `, (line) => styleText("dim", line))}\n\n`;
    case "list":
      return `${list(token as Tokens.List, indent)}${indent === "" ? "\n" : ""}`;
    case "table":
      return `${table(token as Tokens.Table, indent)}\n\n`;
    case "hr":
      return `${indent}${styleText("dim", "─".repeat(40))}\n\n`;
    case "text":
      return `${indent}${inline((token as Tokens.Text).tokens ?? [token])}\n`;
    case "paragraph":
      return `${lines(inline((token as Tokens.Paragraph).tokens), indent, (line) => line)}\n\n`;
    default:
      return `${indent}${token.raw.trimEnd()}\n\n`;
  }
}

const lines = (text: string, prefix: string, style: (line: string) => string): string =>
  text
    .split("\n")
    .map((line) => prefix + style(line))
    .join("\n");

function list({ items, ordered, start }: Tokens.List, indent: string): string {
  return items
    .map((item, at) => {
      const mark = item.task ? (item.checked ? "☑" : "☐") : ordered ? `${Number(start || 1) + at}.` : "•";
      const hanging = `${indent}${" ".repeat(mark.length + 1)}`;
      const text = blocks(item.tokens, hanging)
        .replace(/\n+$/, "")
        .replace(/\n{2,}/g, "\n");
      return `${indent}${mark} ${text.trimStart()}\n`;
    })
    .join("");
}

function table({ header, rows }: Tokens.Table, indent: string): string {
  const cells = [header, ...rows].map((row) => row.map((cell) => plain(inline(cell.tokens))));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells
    .map((row, at) => {
      const text = indent + row.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join("  ");
      return at === 0 ? styleText("bold", text.trimEnd()) : text.trimEnd();
    })
    .join("\n");
}

const plain = (text: string): string => text.replaceAll(/\u001b\[\d+m/g, "");

function inline(tokens: readonly Token[] | undefined): string {
  return (tokens ?? []).map(inlineToken).join("");
}

function inlineToken(token: Token): string {
  switch (token.type) {
    case "strong":
      return styleText("bold", inline((token as Tokens.Strong).tokens));
    case "em":
      return styleText("italic", inline((token as Tokens.Em).tokens));
    case "del":
      return styleText("strikethrough", inline((token as Tokens.Del).tokens));
    case "codespan":
      return styleText("yellow", (token as Tokens.Codespan).text);
    case "link": {
      const { text, href, tokens } = token as Tokens.Link;
      return text === href ? styleText("underline", href) : `${inline(tokens)} (${styleText("underline", href)})`;
    }
    case "image":
      return `[${(token as Tokens.Image).text || "image"}] (${(token as Tokens.Image).href})`;
    case "br":
      return "\n";
    case "escape":
      return (token as Tokens.Escape).text;
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens) : text;
    }
    default:
      return token.raw;
  }
}
