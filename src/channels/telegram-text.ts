/** Markdown, as models write it, as Telegram shows it: HTML with the few tags that Telegram knows. */
import { Marked, type Token, Tokenizer, type Tokens } from "marked";

/** A stretch of text that looks the same throughout. */
export type Run = { readonly text: string; readonly style: Style };

type Style = {
  readonly bold?: true;
  readonly italic?: true;
  readonly strike?: true;
  readonly code?: true;
  /** The address behind the text. */
  readonly link?: string;
  /** A block of code, in this language or in none that is named. */
  readonly pre?: string;
  readonly quote?: true;
};

/**
 * The text as runs. Telegram allows nothing inside code and no quote inside a quote; runs, each with all that applies to
 * it, cannot break such rules, whatever is nested in the source.
 */
export function runsOf(markdown: string): readonly Run[] {
  // Half a surrogate pair is no text: Telegram would refuse the whole message for it.
  return runsOfTokens(tokensOf(markdown.toWellFormed()));
}

export const runsOfTokens = (tokens: readonly Token[]): readonly Run[] => merged(trimmed(blocks(tokens, {}, "")));

/**
 * The text as marked reads it. Thousands of asterisks that never match (a model caught in a loop) would keep it busy for
 * minutes, and with it every chat; past a budget they are asterisks.
 */
export const tokensOf = createReader(500_000);

const tooDeep = /^[ \t]*(?:(?:>|[-*+][ \t]|\d+[.)][ \t])[ \t]*){30}/m;

/** `budget`: so many characters are looked at in vain for the other end of a bold or italic stretch. */
function createReader(budget: number): (markdown: string) => readonly Token[] {
  let searched = 0;
  const reader = new Marked({
    tokenizer: {
      emStrong(source, masked, before) {
        if (searched > budget || !/^[*_]/.test(source)) return undefined;
        const found = Tokenizer.prototype.emStrong.call(this, source, masked, before);
        // Who finds the end has not looked farther; a long answer may have as many bold words as it likes.
        searched += found?.raw.length ?? source.length;
        return found;
      },
    },
  });
  return (markdown) => {
    searched = 0;
    // Each quote in a quote takes a piece of the stack, and there is only so much of it.
    if (tooDeep.test(markdown)) return [{ type: "text", raw: markdown, text: markdown }];
    return reader.lexer(markdown);
  };
}

/** What a reader sees. Its length is what Telegram counts. */
export const visibleText = (runs: readonly Run[]): string => runs.map(({ text }) => text).join("");

export function htmlOf(runs: readonly Run[]): string {
  const parts = runs.map((run, at) => {
    const opens = run.style.quote && !runs[at - 1]?.style.quote ? "<blockquote>" : "";
    const closes = run.style.quote && !runs[at + 1]?.style.quote ? "</blockquote>" : "";
    return opens + styled(run) + closes;
  });
  return parts.join("");
}

export const escapeHtml = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");

function styled({ text, style }: Run): string {
  const plain = escapeHtml(text);
  if (style.pre !== undefined) {
    return style.pre === ""
      ? `<pre>${plain}</pre>`
      : `<pre><code class="language-${escapeHtml(style.pre)}">${plain}</code></pre>`;
  }
  // Space alone shows no style, and Telegram drops a tag around it.
  if (text.trim() === "") return plain;
  // Telegram takes no code inside of a link, and an address that is lost is worse than a typeface.
  if (style.code && style.link === undefined) return `<code>${plain}</code>`;
  const bold = style.bold ? `<b>${plain}</b>` : plain;
  const italic = style.italic ? `<i>${bold}</i>` : bold;
  const strike = style.strike ? `<s>${italic}</s>` : italic;
  return style.link === undefined ? strike : `<a href="${escapeHtml(style.link)}">${strike}</a>`;
}

// Blocks ------------------------------------------------------------------------------------------------------------

function blocks(tokens: readonly Token[], style: Style, indent: string): Run[] {
  return joined(
    tokens.map((token) => block(token, style, indent)),
    "\n\n",
  );
}

/** The space between two blocks belongs to a quote if both do; otherwise the quote would end with an empty line. */
function joined(groups: readonly (readonly Run[])[], space: string): Run[] {
  const solid = groups.filter((runs) => visibleText(runs) !== "");
  return solid.flatMap((runs, at) => {
    if (at === 0) return runs;
    const quote = solid[at - 1]?.at(-1)?.style.quote && runs[0]?.style.quote;
    return [{ text: space, style: quote ? { quote } : {} }, ...runs];
  });
}

function block(token: Token, style: Style, indent: string): Run[] {
  switch (token.type) {
    case "space":
    case "def":
    case "checkbox":
      return [];
    case "heading":
      return inline((token as Tokens.Heading).tokens, { ...style, bold: true });
    case "paragraph":
      return inline((token as Tokens.Paragraph).tokens, style);
    case "text":
      return inline((token as Tokens.Text).tokens ?? [token], style);
    case "code": {
      const { text, lang = "" } = token as Tokens.Code;
      // The first word names the language; the rest (line numbers, file names) is for other readers.
      return text.trim() === "" ? [] : [{ text, style: { pre: /^[\w+#.-]*/.exec(lang)?.[0] ?? "" } }];
    }
    case "table":
      return [{ text: tableText(token as Tokens.Table), style: { pre: "" } }];
    case "blockquote":
      return blocks((token as Tokens.Blockquote).tokens, { ...style, quote: true }, "");
    case "list":
      return list(token as Tokens.List, style, indent);
    case "hr":
      return [{ text: "──────────", style }];
    default:
      return [{ text: token.raw.trimEnd(), style }];
  }
}

function list({ items, ordered, start }: Tokens.List, style: Style, indent: string): Run[] {
  const lines = items.map((item, at): Run[] => {
    const box = item.task ? (item.checked ? "☑ " : "☐ ") : "";
    const mark = ordered ? `${Number(start) + at}. ${box}` : box || "• ";
    const content = item.tokens.map((token) => block(token, style, `${indent}  `));
    return [{ text: indent + mark, style: style.quote ? { quote: true } : {} }, ...joined(content, "\n")];
  });
  return joined(lines, "\n");
}

/** A table as people read it in a fixed-width font. */
export function tableText({ header, rows }: Tokens.Table): string {
  const cells = [header, ...rows].map((row) =>
    row.map(({ tokens }) => visibleText(inline(tokens, {})).replaceAll("\n", " ")),
  );
  const widths = header.map((_, column) => Math.max(...cells.map((row) => width(row[column] ?? ""))));
  const line = (row: readonly string[]): string =>
    row
      .map((cell, column) => cell + " ".repeat(Math.max(0, (widths[column] ?? 0) - width(cell))))
      .join("  ")
      .trimEnd();
  const [head = [], ...body] = cells;
  return [line(head), widths.map((size) => "─".repeat(size)).join("  "), ...body.map(line)].join("\n");
}

/** In how many columns a fixed-width font shows it: East Asian characters and emoji take two. */
const width = (text: string): number =>
  [...text].reduce(
    (sum, char) =>
      sum +
      (/[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6]|\p{Emoji_Presentation}/u.test(
        char,
      )
        ? 2
        : /\p{Mn}|\u200D|\uFE0F/u.test(char)
          ? 0
          : 1),
    0,
  );

// Words in a line ---------------------------------------------------------------------------------------------------

function inline(tokens: readonly Token[], style: Style): Run[] {
  return tokens.flatMap((token) => inlineToken(token, style));
}

function inlineToken(token: Token, style: Style): Run[] {
  switch (token.type) {
    case "strong":
      return inline((token as Tokens.Strong).tokens, { ...style, bold: true });
    case "em":
      return inline((token as Tokens.Em).tokens, { ...style, italic: true });
    case "del":
      return inline((token as Tokens.Del).tokens, { ...style, strike: true });
    case "codespan":
      return [{ text: (token as Tokens.Codespan).text, style: { ...style, code: true } }];
    case "link":
      return linked(inline((token as Tokens.Link).tokens, style), (token as Tokens.Link).href, style);
    case "image":
      return linked([{ text: (token as Tokens.Image).text, style }], (token as Tokens.Image).href, style);
    case "br":
      return [{ text: "\n", style }];
    case "checkbox":
      return [];
    case "escape":
      return [{ text: (token as Tokens.Escape).text, style }];
    case "text": {
      const { tokens, text } = token as Tokens.Text;
      return tokens ? inline(tokens, style) : [{ text, style }];
    }
    default:
      return [{ text: token.raw, style }];
  }
}

/** Telegram follows only absolute addresses. Any other is shown beside the text, so that it is not lost. */
function linked(runs: readonly Run[], href: string, style: Style): Run[] {
  const shown = visibleText(runs).trim() === "" ? [{ text: href, style }] : runs;
  if (/^(?:https?|tg|mailto|tel):/i.test(href)) {
    return shown.map(({ text, style }) => ({ text, style: { ...style, link: href } }));
  }
  return href === "" || visibleText(shown) === href ? [...shown] : [...shown, { text: ` (${href})`, style }];
}

/** Without the space at both ends, which Telegram cuts off anyway, and without runs of nothing. */
function trimmed(runs: readonly Run[]): readonly Run[] {
  const solid = ({ text }: Run): boolean => text.trim() !== "";
  const [first, last] = [runs.findIndex(solid), runs.findLastIndex(solid)];
  return runs.slice(Math.max(0, first), last + 1).flatMap((run, at, all) => {
    const start = at === 0 ? run.text.replace(/^\s*\n/, "") : run.text;
    const text = at === all.length - 1 ? start.trimEnd() : start;
    return text === "" ? [] : [{ text, style: run.style }];
  });
}

/** Neighbours that look the same as one: Telegram ignores all tags after the hundredth. */
function merged(runs: readonly Run[]): readonly Run[] {
  const all: { text: string; style: Style }[] = [];
  for (const { text, style } of runs) {
    const last = all.at(-1);
    if (last && sameStyle(last.style, style)) last.text += text;
    else all.push({ text, style });
  }
  return all;
}

const looks = ["bold", "italic", "strike", "code", "link", "pre", "quote"] as const;
/** Two blocks of code are two, however alike. */
const sameStyle = (one: Style, other: Style): boolean =>
  one.pre === undefined && looks.every((look) => one[look] === other[look]);
