/** Turns an HTML page into the text a reader sees, as Markdown or plain. One pass, no recursion, for any input. */

export type HtmlText = { readonly title: string; readonly text: string };

/** Nothing inside these is part of what the page says. */
const skipped = new Set([
  "script",
  "style",
  "noscript",
  "template",
  "svg",
  "iframe",
  "object",
  "select",
  "nav",
  "footer",
]);
/** Their content is no markup: it ends at the closing tag and nowhere else. */
const raw = new Set(["script", "style", "textarea", "title", "iframe", "noscript"]);
const blocks = new Set(
  (
    "address article aside blockquote body dd details div dl dt fieldset figcaption figure form header hgroup html main " +
    "ol p section summary table tbody tfoot thead tr ul"
  ).split(" "),
);
const deepestList = 10;

export function htmlToText(html: string, base: URL, format: "markdown" | "text"): HtmlText {
  const marks = format === "markdown";
  let title = "";
  let preformatted = 0;
  let skipping: string | undefined;
  let skipDepth = 0;
  const out = createWriter();
  const lists: { ordered: boolean; next: number }[] = [];
  let link: { href: string; from: number } | undefined;

  const openTag = (name: string, attributes: string): void => {
    if (/^h[1-6]$/.test(name)) {
      out.paragraph();
      if (marks) out.add(`${"#".repeat(Number(name[1]))} `);
    } else if (name === "br") out.line();
    else if (name === "hr") {
      out.paragraph();
      if (marks) out.add("---");
      out.paragraph();
    } else if (name === "pre") {
      out.paragraph();
      if (marks) out.add("```\n");
      preformatted++;
    } else if (name === "li") {
      const list = lists.at(-1);
      out.line();
      out.add(
        `${"  ".repeat(Math.min(deepestList, Math.max(0, lists.length - 1)))}${list?.ordered ? `${list.next++}.` : "-"} `,
      );
    } else if (name === "ul" || name === "ol") {
      if (lists.length === 0) out.paragraph();
      lists.push({ ordered: name === "ol", next: 1 });
    } else if (name === "td" || name === "th") out.add(out.atLineStart() ? "" : " | ");
    else if (name === "tr") out.line();
    else if (name === "code" && marks && preformatted === 0) out.add("`");
    else if ((name === "b" || name === "strong") && marks) out.add("**");
    else if (name === "img" && marks) {
      const alt = attribute(attributes, "alt");
      if (alt) out.add(`[image: ${alt.replaceAll(/\s+/g, " ")}]`);
    } else if (name === "a" && marks) {
      const href = target(attribute(attributes, "href"), base);
      link = href === undefined ? undefined : { href, from: out.length() };
    } else if (blocks.has(name)) out.paragraph();
  };

  const closeTag = (name: string): void => {
    if (name === "pre" && preformatted > 0) {
      preformatted--;
      if (marks) out.add("\n```");
      out.paragraph();
    } else if (name === "ul" || name === "ol") {
      lists.pop();
      if (lists.length === 0) out.paragraph();
      else out.line();
    } else if (name === "li" || name === "tr") out.line();
    else if (name === "code" && marks && preformatted === 0) out.add("`");
    else if ((name === "b" || name === "strong") && marks) out.add("**");
    else if (name === "a" && link) {
      out.wrap(link.from, "[", `](${link.href})`);
      link = undefined;
    } else if (/^h[1-6]$/.test(name) || blocks.has(name)) out.paragraph();
  };

  for (const token of tokens(html)) {
    if (token.kind === "text") {
      if (skipping !== undefined) continue;
      const text = decodeEntities(token.text);
      out.add(preformatted > 0 ? text : text.replaceAll(/\s+/g, " "), preformatted > 0);
    } else if (token.kind === "raw") {
      if (token.name === "title" && title === "") title = decodeEntities(token.text).replaceAll(/\s+/g, " ").trim();
      else if (token.name === "textarea" && skipping === undefined) out.add(decodeEntities(token.text));
    } else if (skipping !== undefined) {
      if (token.name === skipping) skipDepth += token.kind === "open" ? 1 : -1;
      if (skipDepth === 0) skipping = undefined;
    } else if (token.kind === "open" && skipped.has(token.name)) {
      if (token.selfClosing) continue;
      skipping = token.name;
      skipDepth = 1;
    } else if (token.kind === "open") openTag(token.name, token.attributes);
    else closeTag(token.name);
  }
  return { title, text: out.text() };
}

type Token =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "open"; readonly name: string; readonly attributes: string; readonly selfClosing: boolean }
  | { readonly kind: "close"; readonly name: string }
  | { readonly kind: "raw"; readonly name: string; readonly text: string };

/** Every character is looked at a bounded number of times: a search that failed once is not made again. */
function* tokens(html: string): Generator<Token> {
  // ASCII only: some letters change their length with their case, and both texts are read by the same index.
  const lower = html.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
  // A lone `<` is text.
  const tagStart = /<(?=[a-z/!?])/g;
  const exhausted = new Set<string>();
  const find = (what: string, from: number): number => {
    if (exhausted.has(what)) return -1;
    const at = lower.indexOf(what, from);
    if (at === -1) exhausted.add(what);
    return at;
  };
  for (let at = 0; at < html.length;) {
    tagStart.lastIndex = at;
    const start = tagStart.exec(lower)?.index ?? -1;
    if (start !== at) yield { kind: "text", text: html.slice(at, start === -1 ? undefined : start) };
    if (start === -1) return;
    if (html.startsWith("<!--", start)) {
      const end = find("-->", start + 4);
      at = end === -1 ? html.length : end + 3;
      continue;
    }
    const end = endOfTag(html, start + 1);
    const inside = html.slice(start + 1, end);
    at = end + 1;
    const name = /^\/?([a-z][a-z0-9-]*)/.exec(lower.slice(start + 1, Math.min(end, start + 40)))?.[1];
    if (name === undefined) continue;
    if (inside.startsWith("/")) {
      yield { kind: "close", name };
      continue;
    }
    const selfClosing = inside.endsWith("/");
    if (raw.has(name) && !selfClosing) {
      const close = find(`</${name}`, at);
      yield { kind: "raw", name, text: html.slice(at, close === -1 ? undefined : close) };
      at = close === -1 ? html.length : endOfTag(html, close) + 1;
      continue;
    }
    yield { kind: "open", name, attributes: inside.slice(name.length), selfClosing };
  }
}

/** The `>` that ends a tag; one inside quotes does not, but quotes do not reach beyond a few thousand characters. */
function endOfTag(html: string, from: number): number {
  let quote = "";
  const limit = Math.min(html.length, from + 8192);
  for (let at = from; at < limit; at++) {
    const letter = html[at] ?? "";
    if (quote !== "") quote = letter === quote ? "" : quote;
    else if (letter === ">") return at;
    else if ((letter === '"' || letter === "'") && /[=\s]/.test(html[at - 1] ?? "")) quote = letter;
  }
  const plain = html.slice(from, limit).indexOf(">");
  return plain === -1 ? limit - 1 : from + plain;
}

function attribute(attributes: string, name: string): string | undefined {
  for (const [, key, double, single, bare] of attributes.matchAll(
    // A name is tried from its first letter only, or a long one would be tried from each of them.
    /(?<![a-z-])([a-z][a-z-]*)[ \t\r\n]?=[ \t\r\n]?(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))/gi,
  )) {
    if (key?.toLowerCase() === name) return decodeEntities(double ?? single ?? bare ?? "");
  }
  return undefined;
}

/** An absolute address for people and for the next fetch; anchors within the page and scripts are none. */
function target(href: string | undefined, base: URL): string | undefined {
  if (href === undefined || href.trim() === "" || href.startsWith("#")) return undefined;
  if (!URL.canParse(href, base.href)) return undefined;
  const url = new URL(href, base.href);
  return ["http:", "https:", "mailto:"].includes(url.protocol) ? url.href : undefined;
}

/** Collects text and keeps white space in order: at most one blank line, none at the edges. */
function createWriter() {
  const parts: string[] = [];
  let gap = 0;
  let written = false;
  let fresh = true;
  return {
    add(text: string, keepSpace = false) {
      const trimmed = fresh && !keepSpace ? text.trimStart() : text;
      // The indent of a list item is no white space of the page.
      const own = /^ *(?:-|\d+\.) $/.test(text) ? text : trimmed;
      if (own === "") return;
      if (written && gap > 0) parts.push("\n".repeat(gap));
      gap = 0;
      parts.push(own);
      written = true;
      fresh = own.endsWith(" ") || own.endsWith("\n");
    },
    line() {
      gap = Math.max(gap, 1);
      fresh = true;
    },
    paragraph() {
      gap = 2;
      fresh = true;
    },
    atLineStart: () => gap > 0 || !written,
    length: () => parts.length,
    wrap(from: number, before: string, after: string) {
      const inner = parts.splice(from).join("");
      const lead = inner.length - inner.trimStart().length;
      if (inner.trim() === "") parts.push(inner);
      else parts.push(inner.slice(0, lead), `${before}${inner.trim().replaceAll(/\s*\n\s*/g, " ")}${after}`);
    },
    text: () =>
      parts
        .join("")
        .split("\n")
        .map((line) => line.trimEnd())
        .join("\n")
        .trim(),
  };
}

export function decodeEntities(text: string): string {
  return text.replaceAll(/&(?:#(\d{1,7})|#x([\da-f]{1,6})|([a-z]\w{1,10}));?/gi, (all, decimal, hex, name) => {
    if (name !== undefined) return named.get(String(name)) ?? all;
    const code = decimal === undefined ? Number.parseInt(String(hex), 16) : Number(decimal);
    return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : "\ufffd";
  });
}

/** In the order of Latin-1 from 160 on. */
const latin1 =
  "nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute micro " +
  "para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring AElig Ccedil " +
  "Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml times Oslash Ugrave " +
  "Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil egrave eacute ecirc euml " +
  "igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ugrave uacute ucirc uuml yacute " +
  "thorn yuml";

const named: ReadonlyMap<string, string> = new Map([
  ...latin1.split(" ").map((name, at) => [name, at === 0 ? " " : String.fromCodePoint(160 + at)] as const),
  ...Object.entries({
    amp: "&",
    lt: "<",
    gt: ">",
    quot: '"',
    apos: "'",
    ndash: "–",
    mdash: "—",
    lsquo: "‘",
    rsquo: "’",
    sbquo: "‚",
    ldquo: "“",
    rdquo: "”",
    bdquo: "„",
    bull: "•",
    hellip: "…",
    euro: "€",
    trade: "™",
    larr: "←",
    rarr: "→",
    minus: "−",
    infin: "∞",
    ne: "≠",
    le: "≤",
    ge: "≥",
  }),
]);
