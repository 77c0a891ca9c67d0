/** Cuts an answer into messages that Telegram takes: at paragraphs if possible, and never through anything whole. */
import type { Token, Tokens } from "marked";
import { graphemesOf } from "../util/graphemes.js";
import { runsOf, runsOfTokens, tableText, tokensOf, visibleText } from "./telegram-text.js";

/**
 * The markdown in parts of at most `limit` visible UTF-16 units each, each of them markdown that stands on its own: a
 * block of code that goes on in the next part is closed here and opened there, in the same language.
 */
export function splitMarkdown(markdown: string, limit: number): readonly string[] {
  const text = markdown.toWellFormed();
  if (text.trim() === "") return [];
  if (visibleText(runsOf(text)).length <= limit) return [text];
  // Addresses are often listed once at the end (`[1]: https://…`); a part without them would show bare brackets.
  const sources = tokensOf(text)
    .filter(({ type }) => type === "def")
    .map(({ raw }) => `\n\n${raw.trim()}`)
    .join("");
  const parts = partsOf(text, { limit, depth: 0, see: (part) => visibleText(runsOf(part + sources)) });
  return parts.map((part) => part + sources);
}

type Task = {
  readonly limit: number;
  /** How many lists and quotes are around. */
  readonly depth: number;
  /** What a reader sees of a part. */
  readonly see: (markdown: string) => string;
};

/** A piece of markdown that is not to be cut further, what is seen of it, and what stands between it and the one before. */
type Piece = { readonly source: string; readonly shows: string; readonly joint: string };

/** A cut may fall on any space, so this is what has to be the same before and after. */
const withoutSpace = (text: string): string => text.replaceAll(/\s/g, "");

function partsOf(markdown: string, task: Task): readonly string[] {
  const tokens = tokensOf(markdown).filter(({ type }) => type !== "def" && type !== "space");
  return packed(
    tokens.flatMap((token) => piecesOf(token, task)),
    task,
  );
}

/** As many neighbours as fit go into one part. */
function packed(pieces: readonly Piece[], { limit, see }: Task): readonly string[] {
  const groups: { pieces: Piece[]; length: number }[] = [];
  for (const piece of pieces.filter(({ shows }) => shows !== "")) {
    const group = groups.at(-1);
    if (group && group.length + 2 + piece.shows.length <= limit) {
      group.pieces.push(piece);
      group.length += 2 + piece.shows.length;
    } else groups.push({ pieces: [piece], length: piece.shows.length });
  }
  return groups.flatMap(({ pieces }) => {
    const whole = pieces.map(({ source, joint }, at) => (at === 0 ? source : joint + source)).join("");
    const shows = withoutSpace(pieces.map(({ shows }) => shows).join(""));
    const together = see(whole);
    // Side by side they may read as something else: the end of one list and the next become one, counted through.
    const unchanged = together.length <= limit && withoutSpace(together) === shows;
    return unchanged ? [whole] : pieces.map(({ source }) => source);
  });
}

/** A block as pieces that each fit and together show what it shows; rather without its markup than without a word. */
function piecesOf(token: Token, task: Task): readonly Piece[] {
  const original = visibleText(runsOfTokens([token]));
  const candidates = [(): readonly Piece[] => [pieceOf(token.raw.replace(/\n+$/, ""), task)], () => cut(token, task)];
  for (const candidate of candidates) {
    const pieces = candidate();
    const shown = pieces.map(({ shows }) => shows).join("");
    if (!pieces.every(({ shows }) => shows.length <= task.limit)) continue;
    if (withoutSpace(shown) === withoutSpace(original)) return pieces;
  }
  return plainPieces(original, task);
}

const pieceOf = (source: string, { see }: Task, joint = "\n\n"): Piece => ({ source, shows: see(source), joint });

/** Nobody reads a list in the fourth list; each depth costs another look at everything. */
const deepest = 3;

function cut(token: Token, around: Task): readonly Piece[] {
  const task = { ...around, depth: around.depth + 1 };
  if (task.depth > deepest) return [];
  switch (token.type) {
    case "code":
      return fenced((token as Tokens.Code).text, (token as Tokens.Code).lang ?? "", task);
    case "table":
      return fenced(tableText(token as Tokens.Table), "", task);
    case "list":
      return (token as Tokens.List).items.flatMap((item, at) => itemPieces(token as Tokens.List, item, at, task));
    case "blockquote":
      return partsOf((token as Tokens.Blockquote).text, task).map((part) =>
        pieceOf(part.replaceAll(/^/gm, "> "), task),
      );
    case "heading":
    case "paragraph":
    case "text":
      return sentences((token as Tokens.Paragraph).tokens, task);
    default:
      return [];
  }
}

/** A list goes on in the next part with the number it has there. An item too long for one part goes on without a mark. */
function itemPieces(list: Tokens.List, item: Tokens.ListItem, at: number, task: Task): readonly Piece[] {
  const mark = list.ordered ? `${Number(list.start) + at}${/^\s*\d+\)/.test(item.raw) ? ")" : "."} ` : "- ";
  const box = item.task ? (item.checked ? "[x] " : "[ ] ") : "";
  const hang = (text: string): string => mark + box + text.replaceAll(/\n(?=[^\n])/g, `\n${" ".repeat(mark.length)}`);
  const joint = at === 0 ? "\n\n" : "\n";
  const whole = pieceOf(hang(item.text), task, joint);
  if (whole.shows.length <= task.limit) return [whole];
  const [first = "", ...rest] = partsOf(item.text, { ...task, limit: task.limit - mark.length - 2 });
  return [pieceOf(hang(first), task, joint), ...rest.map((part) => pieceOf(part, task))];
}

// Code --------------------------------------------------------------------------------------------------------------

function fenced(code: string, language: string, task: Task): readonly Piece[] {
  const ticks = Math.max(2, ...[...code.matchAll(/`+/g)].map(([run]) => run.length)) + 1;
  const fence = "`".repeat(ticks);
  const atoms = code.split(/(?<=\n)/).map((line) => ({ source: line, length: line.length, rank: ranks.line }));
  return filled(atoms, task.limit).map((lines) =>
    pieceOf(`${fence}${language}\n${lines.replace(/\n$/, "")}\n${fence}`, task),
  );
}

// Sentences ---------------------------------------------------------------------------------------------------------

/** How good a place for a cut is after this atom. */
const ranks = { none: 0, word: 1, sentence: 2, line: 3 } as const;
type Atom = { readonly source: string; readonly length: number; readonly rank: number };

function sentences(tokens: readonly Token[], task: Task): readonly Piece[] {
  const atoms = tokens.flatMap((token) => atomsOf(token, task));
  return filled(atoms, task.limit).map((text) => {
    const part = text.trim();
    // A dash or a number that stood within the line would begin a list at its start.
    const looksLikeBlock = /^(?:[-+*]\s|[>#=|~])/.test(part);
    const looksNumbered = /^\d+[.)]/.exec(part)?.[0];
    if (looksNumbered) return pieceOf(part.replace(/[.)]/, String.raw`\$&`), task);
    return pieceOf(looksLikeBlock ? `\\${part}` : part, task);
  });
}

function atomsOf(token: Token, { limit, see }: Task): readonly Atom[] {
  if (token.type === "text" && !(token as Tokens.Text).tokens) return words(token.raw);
  if (token.type === "br") return [{ source: token.raw, length: 1, rank: ranks.line }];
  const { length } = see(token.raw);
  // A bold or linked stretch stays in one part, unless it alone would not fit: then its words are worth more.
  return length <= limit ? [{ source: token.raw, length, rank: ranks.none }] : words(escapeMarkdown(see(token.raw)));
}

const words = (text: string): readonly Atom[] =>
  (text.match(/\s*\S+\s*|\s+/g) ?? []).map((source) => {
    const rank = /\n\s*$/.test(source)
      ? ranks.line
      : /[.!?…:;]["')\]]*\s+$|[。！？]$/.test(source)
        ? ranks.sentence
        : /\s$/.test(source)
          ? ranks.word
          : ranks.none;
    return { source, length: source.length, rank };
  });

/**
 * Atoms joined into texts that fit. Each ends at the best place in its second half, or the last possible one; an atom
 * that does not fit by itself is cut between characters.
 */
function filled(atoms: readonly Atom[], limit: number): readonly string[] {
  const queue = atoms.flatMap((atom) => (atom.length <= limit ? [atom] : cutAtom(atom, limit)));
  const texts: string[] = [];
  for (let from = 0; from < queue.length;) {
    let [to, length, best, bestRank] = [from, 0, from + 1, -1];
    for (; to < queue.length && length + (queue[to]?.length ?? 0) <= limit; to += 1) {
      length += queue[to]?.length ?? 0;
      const rank = length * 2 >= limit ? (queue[to]?.rank ?? 0) : -1;
      if (rank >= bestRank) [best, bestRank] = [to + 1, rank];
    }
    const end = to === queue.length ? to : Math.max(best, from + 1);
    texts.push(
      queue
        .slice(from, end)
        .map(({ source }) => source)
        .join(""),
    );
    from = end;
  }
  return texts;
}

/** A word longer than a message, in pieces that are; what a reader sees as one character stays whole. */
function cutAtom({ source, rank }: Atom, limit: number): readonly Atom[] {
  const atoms: Atom[] = [];
  for (let rest = source; rest !== "";) {
    let at =
      rest.length <= limit ? rest.length : (graphemesOf(rest.slice(0, limit + 64)).containing(limit)?.index ?? limit);
    // One "character" of thousands of accents has no better place than between two code points.
    if (at === 0) at = /[\uDC00-\uDFFF]/.test(rest.charAt(limit)) ? limit - 1 : limit;
    const head = rest.slice(0, at);
    rest = rest.slice(at);
    atoms.push({ source: head, length: head.length, rank: rest === "" ? rank : ranks.none });
  }
  return atoms;
}

// Text as it is -----------------------------------------------------------------------------------------------------

/** The text without any markup, whatever it looks like. */
function plainPieces(text: string, task: Task): readonly Piece[] {
  return filled(words(text), task.limit).map((part) => pieceOf(escapeMarkdown(part), task));
}

/** Markdown that shows exactly this text: what could be markup is escaped, what could be indented code is not. */
function escapeMarkdown(text: string): string {
  return text.replaceAll(/^[^\S\n]+/gm, "").replaceAll(/[!-/:-@[-`{-~]/g, String.raw`\$&`);
}
