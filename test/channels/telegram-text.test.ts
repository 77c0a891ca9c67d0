import { array, assert, constantFrom, integer, property, string } from "fast-check";
import { describe, expect, it } from "vitest";
import { splitMarkdown } from "../../src/channels/telegram-split.js";
import { htmlOf, runsOf, visibleText } from "../../src/channels/telegram-text.js";
import { parseTelegramHtml } from "../lab/telegram-html.js";

const html = (markdown: string): string => htmlOf(runsOf(markdown));
/** What Telegram would show, or why it would refuse. */
const shown = (markdown: string): string => {
  const parsed = parseTelegramHtml(html(markdown));
  return parsed.ok ? parsed.text : `refused: ${parsed.error}`;
};
const withoutSpace = (text: string): string => text.replaceAll(/\s/g, "");

describe("markdown as Telegram's HTML", () => {
  it.each([
    ["plain", "plain"],
    ['a < b & c > "d"', "a &lt; b &amp; c &gt; &quot;d&quot;"],
    [
      "**bold** __too__ *it* _it_ ~~gone~~ `code`",
      "<b>bold</b> <b>too</b> <i>it</i> <i>it</i> <s>gone</s> <code>code</code>",
    ],
    ["[`src/app.ts`](https://x)", '<a href="https://x">src/app.ts</a>'],
    ["**bold `code` bold**", "<b>bold </b><code>code</code><b> bold</b>"],
    ["***both***", "<i><b>both</b></i>"],
    ["snake_case_name and 2*3*4", "snake_case_name and 2<i>3</i>4"],
    ["# Title\ntext", "<b>Title</b>\n\ntext"],
    ["## **H**", "<b>H</b>"],
    ["[t](http://x?a=1&b=2)", '<a href="http://x?a=1&amp;b=2">t</a>'],
    ["[**t**](https://x.y)", '<a href="https://x.y"><b>t</b></a>'],
    ["[file](notes.md)", "file (notes.md)"],
    ["[](http://x.y)", '<a href="http://x.y">http://x.y</a>'],
    ["![a cat](http://x.y/c.png)", '<a href="http://x.y/c.png">a cat</a>'],
    ["[t][1]\n\n[1]: http://x.y", '<a href="http://x.y">t</a>'],
    ["- a\n- b\n  - c", "• a\n• b\n  • c"],
    ["3. a\n4. b", "3. a\n4. b"],
    ["- [x] done\n- [ ] open", "☑ done\n☐ open"],
    ["> said\n> **so**\n\nyes", "<blockquote>said\n<b>so</b></blockquote>\n\nyes"],
    ["> a\n>> b", "<blockquote>a\n\nb</blockquote>"],
    ["> a\n>\n> ```\n> x\n> ```", "<blockquote>a</blockquote>\n\n<pre>x</pre>"],
    ["```ts\nlet a = b < c;\n```", '<pre><code class="language-ts">let a = b &lt; c;</code></pre>'],
    ["```\nx\n```\n```\ny\n```", "<pre>x</pre>\n\n<pre>y</pre>"],
    ['```"><b>\nx\n```', "<pre>x</pre>"],
    ["| a | bb |\n|---|:--|\n| **1** | 2 |\n| 中 | 4 |", "<pre>a   bb\n──  ──\n1   2\n中  4</pre>"],
    ["one\n\n---\n\ntwo", "one\n\n──────────\n\ntwo"],
    ["<b>not markup</b>", "&lt;b&gt;not markup&lt;/b&gt;"],
    ["\\*literal\\*", "*literal*"],
    ["half a pair: \ud83d", "half a pair: \ufffd"],
    ["", ""],
  ])("%j", (markdown, expected) => {
    expect(html(markdown)).toBe(expected);
    expect(parseTelegramHtml(html(markdown))).toMatchObject({ ok: true });
  });
});

describe("a long answer", () => {
  const words = "Every good thing takes a while. ".repeat(20).trim();

  it("that fits is left alone", () => {
    expect(splitMarkdown("hello  **you**\n", 4096)).toEqual(["hello  **you**\n"]);
    expect(splitMarkdown(" \n", 4096)).toEqual([]);
  });

  it("is measured by what is seen, not by its markup", () => {
    const links = "[a](https://example.org/a/very/long/address) ".repeat(100);
    expect(splitMarkdown(links, 300)).toHaveLength(1);
    expect(splitMarkdown("&".repeat(300), 300)).toHaveLength(1);
  });

  it("is cut between paragraphs rather than within them", () => {
    const paragraphs = ["one ".repeat(10).trim(), "two ".repeat(10).trim(), "three ".repeat(10).trim()];
    expect(splitMarkdown(paragraphs.join("\n\n"), 85)).toEqual([paragraphs.slice(0, 2).join("\n\n"), paragraphs[2]]);
  });

  it("is cut at the end of a line, else of a sentence, else of a word", () => {
    expect(splitMarkdown("first line. more\nsecond line", 20)).toEqual(["first line. more", "second line"]);
    expect(splitMarkdown("A sentence. Another one here", 20)).toEqual(["A sentence.", "Another one here"]);
    expect(splitMarkdown("some words without an end", 12)).toEqual(["some words", "without an", "end"]);
    for (const part of splitMarkdown(words, 100)) expect(part).toMatch(/while\.$/);
  });

  it("closes a block of code and opens it again in the same language", () => {
    const code = ["a = 1", "b = 2", "c = 3"].join("\n");
    expect(splitMarkdown(`\`\`\`py\n${code}\n\`\`\``, 12)).toEqual(["```py\na = 1\nb = 2\n```", "```py\nc = 3\n```"]);
    expect(splitMarkdown("````\n```\nx\n```\nyyyyyyyyyy\n````", 14)).toEqual([
      "````\n```\nx\n```\n````",
      "````\nyyyyyyyyyy\n````",
    ]);
  });

  it("keeps a link and a bold stretch in one piece", () => {
    const parts = splitMarkdown(`${"word ".repeat(9)}[the link text](https://x.y) **bold words** end`, 50);
    expect(parts).toEqual(["word ".repeat(9).trim(), "[the link text](https://x.y) **bold words** end"]);
  });

  it("has as many bold words as its author likes", () => {
    const lines = Array.from(
      { length: 400 },
      (_, at) => `**Term ${at}**: what it means, in \`code\` and in plain words`,
    );
    const html = splitMarkdown(lines.join("\n"), 4096).map((part) => htmlOf(runsOf(part)));
    expect(html.join("").match(/<b>Term \d+<\/b>/g)).toHaveLength(400);
  });

  it("gives each part the addresses it refers to", () => {
    const parts = splitMarkdown(`see [this][1] ${"word ".repeat(10)}\n\nand [that][1]\n\n[1]: https://x.y`, 40);
    expect(parts.length).toBeGreaterThan(1);
    expect(parts.map(html).join("")).toContain('<a href="https://x.y">this</a>');
    expect(parts.map(html).join("")).toContain('<a href="https://x.y">that</a>');
  });

  it("goes on counting a list", () => {
    const list = Array.from({ length: 6 }, (_, at) => `1. item number ${at + 1}`).join("\n");
    expect(splitMarkdown(list, 40).map(shown)).toEqual([
      "1. item number 1\n2. item number 2",
      "3. item number 3\n4. item number 4",
      "5. item number 5\n6. item number 6",
    ]);
  });

  it("keeps a quote a quote, and a table a table", () => {
    for (const part of splitMarkdown(`> ${words}`, 100)) expect(part).toMatch(/^> /);
    const table = `| a | b |\n|--|--|\n${"| 1 | 2 |\n".repeat(30)}`;
    for (const part of splitMarkdown(table, 50)) expect(html(part)).toMatch(/^<pre>[^<]*<\/pre>$/);
  });

  it("does not tear what a reader sees as one character", () => {
    const family = "👨‍👩‍👧‍👦";
    for (const part of splitMarkdown(family.repeat(20), 40)) expect(part.replaceAll(family, "")).toBe("");
    for (const part of splitMarkdown("😀".repeat(50), 33)) expect(part.isWellFormed()).toBe(true);
    for (const part of splitMarkdown(`e${"\u0301".repeat(500)}`, 40)) expect(part.length).toBeLessThanOrEqual(40);
  });

  it("does not turn a dash or a number at the start of a part into a list", () => {
    const parts = splitMarkdown("aaaa bbbb cccc - dddd eeee ffff 1. gggg hhhh iiii # jjjj", 16);
    expect(parts.map(shown).join(" ")).toBe("aaaa bbbb cccc - dddd eeee ffff 1. gggg hhhh iiii # jjjj");
  });

  it("of a model caught in a loop does not stop the house", () => {
    const before = performance.now();
    for (const loop of [
      "**a_".repeat(5000),
      "[".repeat(5000),
      "> ".repeat(2000),
      "- ".repeat(2000),
      "|".repeat(9000),
    ]) {
      expect(splitMarkdown(loop, 4000).length).toBeGreaterThan(0);
    }
    expect(performance.now() - before).toBeLessThan(15_000);
  });

  const bits = [
    ..."a|word |Sentence. |\n|\n\n|**|*|_|`|```\n|```js\n|- |1. |2) |> |# |[l](http://x.y)|[l][1]|😀|👨‍👩‍👧|é|<b>|&amp;|    |~~|---\n".split(
      "|",
    ),
    "\n\n[1]: http://r.f\n\n",
    "| a | b |\n|--|--|\n| 1 | 2 |\n",
    "a-word-that-is-longer-than-a-whole-message",
    "中文字。",
    "http://foo.bar/baz?x=1&y=2 ",
    "- [ ] t\n",
    "![i](http://i.j)",
    "\\",
    "\t",
    "|",
    "\ud800",
  ];
  const markdown = array(constantFrom(...bits), { maxLength: 60 }).map((some) => some.join(""));

  it("keeps all that is seen, in order, in parts that Telegram takes", () => {
    assert(
      property(markdown, integer({ min: 24, max: 80 }), (text, limit) => {
        const parts = splitMarkdown(text, limit);
        for (const part of parts) {
          expect(parseTelegramHtml(html(part))).toMatchObject({ ok: true, text: visibleText(runsOf(part)) });
          expect(shown(part).length).toBeLessThanOrEqual(limit);
        }
        expect(withoutSpace(parts.map(shown).join(""))).toBe(withoutSpace(shown(text)));
      }),
      { numRuns: 3000 },
    );
  });

  it("is refused by nothing, whatever it is", () => {
    assert(
      property(string({ unit: "binary", maxLength: 300 }), (text) => {
        const parts = splitMarkdown(text, 60);
        expect(parts.map(shown).join("")).not.toContain("refused");
        expect(withoutSpace(parts.map(shown).join(""))).toBe(withoutSpace(shown(text)));
      }),
      { numRuns: 2000 },
    );
  });
});
