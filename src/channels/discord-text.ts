/** Cuts an answer into messages that Discord takes: at most 2000 characters, nothing torn that belongs together. */
import { graphemesOf } from "../util/graphemes.js";

/** Discord counts code points; counting UTF-16 units is never too generous. */
export const messageLimit = 2000;

/** Closes a code block at the end of a part. */
const fenceEnd = "\n```";
/** A language longer than this is no language. */
const longestLanguage = 30;

/** A code block: the code lies between its opening line and the closing marks. */
type Fence = {
  readonly start: number;
  readonly codeStart: number;
  readonly codeEnd: number;
  readonly end: number;
  /** What opens the block again in the next part. */
  readonly opening: string;
};

/** What only means something as a whole: links, `<@mentions>`, `<:emoji:1>`, `<t:times>`, short `code`. */
const whole = /\[[^\][\n]{1,300}\]\([^()\s]{1,1600}\)|<[^<>\s]{1,1600}>|https?:\/\/[^\s<>]+|`[^`\n]{1,200}`/g;

export function splitForDiscord(text: string, limit = messageLimit): string[] {
  if (text.trim() === "") return [];
  if (text.length <= limit) return [text];
  const fences = fencesIn(text);
  const parts: string[] = [];
  for (let at = 0; at < text.length;) {
    const inside = fences.find(({ codeStart, codeEnd }) => codeStart <= at && at < codeEnd);
    const opening = inside?.opening ?? "";
    if (opening.length + text.length - at <= limit) {
      push(parts, opening + text.slice(at));
      break;
    }
    const cut = findCut(text, at, opening.length, limit, fences);
    const torn = fences.find(({ codeStart, codeEnd }) => codeStart <= cut && cut < codeEnd);
    if (!torn) {
      push(parts, opening + text.slice(at, cut).trimEnd());
      at = skipGap(text, cut);
    } else {
      push(parts, opening + text.slice(at, cut) + fenceEnd);
      // The end of the line has become the end of the block; the next line keeps its indentation.
      const next = text[cut] === "\n" ? cut + 1 : cut;
      at = text.slice(next, torn.codeEnd).trim() === "" ? torn.end : next;
    }
  }
  return parts;
}

function push(parts: string[], part: string): void {
  if (part.trim() !== "") parts.push(part);
}

/** Behind the blank lines, or the spaces, that begin here. The next line keeps its indentation. */
function skipGap(text: string, from: number): number {
  const gap = /(?:[^\S\n]*\n)+|[^\S\n]+/y;
  gap.lastIndex = from;
  return from + (gap.exec(text)?.[0].length ?? 0);
}

/** Pairs of ``` in the text. One without a partner is text like any other, as it is to Discord. */
function fencesIn(text: string): Fence[] {
  const marks = Array.from(text.matchAll(/(?<!`)```(?!`)/g), ({ index }) => index);
  const fences: Fence[] = [];
  for (let index = 0; index + 1 < marks.length; index += 2) {
    const [start = 0, codeEnd = 0] = marks.slice(index, index + 2);
    const language = /^([\w+#.-]*)\n/.exec(text.slice(start + 3, start + 3 + longestLanguage));
    const codeStart = start + 3 + (language?.[0].length ?? 0);
    fences.push({ start, codeStart, codeEnd, end: codeEnd + 3, opening: `\`\`\`${language?.[1] ?? ""}\n` });
  }
  return fences;
}

/** Where the part that begins at `at` ends: at the best place that leaves it within the limit. */
function findCut(text: string, at: number, taken: number, limit: number, fences: readonly Fence[]): number {
  const fenceAt = (place: number): Fence | undefined => fences.find(({ start, end }) => start < place && place < end);
  const farthest = at + limit - taken;
  // Inside a code block there has to be room for closing it.
  const reach = fenceAt(farthest) ? farthest - fenceEnd.length : farthest;
  const fence = fenceAt(reach);
  const shelter = sheltered(text, at, reach, fence ? [] : fences);
  return fence ? cutInCode(text, at, reach, limit, fence, shelter) : cutInText(text, at, reach, shelter);
}

function cutInText(text: string, at: number, reach: number, shelter: readonly Span[]): number {
  for (const least of [at + (reach - at) / 2, at + 1]) {
    for (const gap of ["\n", " "]) {
      const found = lastGap(text, gap, reach, least, shelter);
      if (found !== undefined) return found;
    }
  }
  return hardCut(text, at, reach, shelter);
}

function cutInCode(
  text: string,
  at: number,
  reach: number,
  limit: number,
  fence: Fence,
  shelter: readonly Span[],
): number {
  if (fence.codeEnd <= reach) return fence.end;
  const before = fence.start - at;
  // A block that fits into one message stays whole; one of which hardly anything would fit begins with the next part.
  if (before > limit / 4 && fence.end - fence.start <= limit) return fence.start;
  if (before > 0 && reach - fence.codeStart < limit / 4) return fence.start;
  const start = Math.max(at, fence.codeStart);
  const line = text.lastIndexOf("\n", reach);
  return line > start ? line : hardCut(text, start, reach, shelter);
}

/** No gap to cut at: in front of what is whole, else between two characters. */
function hardCut(text: string, from: number, reach: number, shelter: readonly Span[]): number {
  const span = shelter.find(({ start, end }) => start < reach && reach < end);
  return span && span.start > from ? span.start : characterStart(text, from, reach);
}

type Span = { readonly start: number; readonly end: number };

/** The pieces of the text around `reach` that must not be cut. */
function sheltered(text: string, at: number, reach: number, fences: readonly Fence[]): Span[] {
  const links = [...text.slice(at, reach + messageLimit).matchAll(whole)].map((match) => ({
    start: at + match.index,
    end: at + match.index + match[0].length,
  }));
  return [...links, ...fences.filter(({ start, end }) => end > at && start < reach)];
}

/** The last such character up to `reach` and not before `least`, outside of everything sheltered. */
function lastGap(
  text: string,
  gap: string,
  reach: number,
  least: number,
  shelter: readonly Span[],
): number | undefined {
  for (let place = text.lastIndexOf(gap, reach); place >= least;) {
    const span = shelter.find(({ start, end }) => start < place && place < end);
    if (!span) return place;
    place = text.lastIndexOf(gap, span.start);
  }
  return undefined;
}

/** The beginning of the visible character at `reach`: emoji families and accents stay in one piece. */
function characterStart(text: string, from: number, reach: number): number {
  const start = from + (graphemesOf(text.slice(from, reach + 64)).containing(reach - from)?.index ?? 0);
  if (start > from) return start;
  // One character as long as a message is a prank; only its code points stay whole.
  return isLowSurrogate(text.charCodeAt(reach)) ? reach - 1 : reach;
}

const isLowSurrogate = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff;
