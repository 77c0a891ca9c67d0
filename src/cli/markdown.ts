/** Markdown for a terminal: what the model writes, as people expect to read it. */
import { marked, type Token, type Tokens } from "marked";
import { printable } from "./printable.js";
import type { Paint } from "./terminal.js";
import { padded, widthOf } from "./text-width.js";

export type MarkdownParts = { readonly paint: Paint; readonly columns: number };

/** The text with styles; control characters that are not ours are shown, not obeyed. */
export function renderMarkdown(source: string, { paint, columns }: MarkdownParts): string {
  return blocks(marked.lexer(printable(source).replaceAll("\t", "    ")), "")
    .replace(/\n{3,}/g, "\n\n")
    .trimEnd();

  function blocks(tokens: readonly Token[], indent: string): string {
    return tokens.map((token) => block(token, indent)).join("");
  }

  function block(token: Token, indent: string): string {
    switch (token.type) {
      case "space":
        return "\n";
      case "checkbox":
        return ""; // the item's mark shows it
      case "heading":
        return `${indent}${paint("bold", inline((token as Tokens.Heading).tokens))}\n\n`;
      case "code":
        return `${lines((token as Tokens.Code).text, `${indent}  `, (line) => paint("yellow", line))}\n\n`;
      case "blockquote": {
        const quoted = blocks((token as Tokens.Blockquote).tokens, "").replace(/\n{3,}/g, "\n\n");
        return `${lines(quoted.trimEnd(), `${indent}│ `, (line) => paint("dim", line))}\n\n`;
      }
      case "list":
        return `${list(token as Tokens.List, indent)}${indent === "" ? "\n" : ""}`;
      case "table":
        return `${table(token as Tokens.Table, indent)}\n\n`;
      case "hr":
        return `${indent}${paint("dim", "─".repeat(Math.min(40, columns)))}\n\n`;
      case "text":
        return `${indent}${inline((token as Tokens.Text).tokens ?? [token])}\n`;
      case "paragraph":
        return `${lines(inline((token as Tokens.Paragraph).tokens), indent, (line) => line)}\n\n`;
      default:
        return `${indent}${token.raw.trimEnd()}\n\n`;
    }
  }

  function list({ items, ordered, start }: Tokens.List, indent: string): string {
    return items
      .map((item, at) => {
        const mark = item.task ? (item.checked ? "☑" : "☐") : ordered ? `${(start || 1) + at}.` : "•";
        const hanging = `${indent}${" ".repeat(mark.length + 1)}`;
        const text = blocks(item.tokens, hanging)
          .replace(/\n+$/, "")
          .replace(/\n{2,}/g, "\n");
        return `${indent}${mark} ${text.trimStart()}\n`;
      })
      .join("");
  }

  /** Columns side by side; where the screen is too narrow for that, one row after the other. */
  function table({ header, rows }: Tokens.Table, indent: string): string {
    const [heads = [], ...bodies] = [header, ...rows].map((row) => row.map((cell) => inline(cell.tokens)));
    const widths = heads.map((_, column) => Math.max(...[heads, ...bodies].map((row) => widthOf(row[column] ?? ""))));
    const total = indent.length + widths.reduce((sum, width) => sum + width + 2, -2);
    if (total > columns) {
      const records = bodies.map((row) =>
        row.map((cell, column) => `${indent}${paint("bold", `${heads[column] ?? ""}:`)} ${cell}`).join("\n"),
      );
      return records.join("\n\n");
    }
    const line = (row: readonly string[]): string =>
      (indent + row.map((cell, column) => padded(cell, widths[column] ?? 0)).join("  ")).trimEnd();
    const rule = paint("dim", indent + widths.map((width) => "─".repeat(width)).join("  "));
    return [paint("bold", line(heads)), rule, ...bodies.map(line)].join("\n");
  }

  function inline(tokens: readonly Token[] | undefined): string {
    return (tokens ?? []).map(inlineToken).join("");
  }

  function inlineToken(token: Token): string {
    switch (token.type) {
      case "strong":
        return paint("bold", inline((token as Tokens.Strong).tokens));
      case "em":
        return paint("italic", inline((token as Tokens.Em).tokens));
      case "del":
        return paint("strikethrough", inline((token as Tokens.Del).tokens));
      case "codespan":
        return paint("yellow", (token as Tokens.Codespan).text);
      case "link": {
        const { text, href, tokens } = token as Tokens.Link;
        return text === href ? paint("underline", href) : `${inline(tokens)} (${paint("underline", href)})`;
      }
      case "image":
        return `[${(token as Tokens.Image).text || "image"}] (${(token as Tokens.Image).href})`;
      case "checkbox":
        return "";
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
}

const lines = (text: string, prefix: string, style: (line: string) => string): string =>
  text
    .split("\n")
    .map((line) => prefix + style(line))
    .join("\n");
