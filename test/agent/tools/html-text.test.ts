/** What is left of a web page for a reader. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeEntities, htmlToText } from "../../../src/agent/tools/html-text.js";

const base = new URL("https://example.com/dir/page");
const markdown = (html: string): string => htmlToText(html, base, "markdown").text;
const text = (html: string): string => htmlToText(html, base, "text").text;

describe("a page as Markdown", () => {
  it.each([
    ["<h1>One</h1><h3>Three</h3>text", "# One\n\n### Three\n\ntext"],
    ["<p>a<p>b<br>c", "a\n\nb\nc"],
    ["<a href='/x?a=1&amp;b=2'>link <b>bold</b></a>", "[link **bold**](https://example.com/x?a=1&b=2)"],
    [
      "<a href=other>o</a> <a href='#top'>top</a> <a href='javascript:alert(1)'>js</a>",
      "[o](https://example.com/dir/other) top js",
    ],
    ["<ul><li>a<li>b<ul><li>c</ul></ul>", "- a\n- b\n  - c"],
    ["<ol><li>a</li><li>b</li></ol>after", "1. a\n2. b\n\nafter"],
    ["<pre>a\n  b &lt;c&gt;</pre>", "```\na\n  b <c>\n```"],
    ["use <code>x</code> now", "use `x` now"],
    ["<table><tr><th>a</th><th>b</th></tr><tr><td>1</td><td>2</td></tr></table>", "a | b\n1 | 2"],
    ["a <img alt='a cat' src=x> b", "a [image: a cat] b"],
    ["one\n   two\t three", "one two three"],
    ["1 < 2 && 3 > 2", "1 < 2 && 3 > 2"],
  ])("%s", (html, expected) => {
    expect(markdown(html)).toBe(expected);
  });

  it("has no scripts, styles, comments, navigation or footers", () => {
    const html =
      "<head><title>Ti &amp; tle</title><style>p{}</style></head><script>if (a<b) '</p>'</script><!-- <p>no -->" +
      "<nav><ul><li>Home</ul></nav><p>yes</p><svg><text>no</text></svg><footer>no <div>no</div></footer><noscript>no</noscript>";
    expect(htmlToText(html, base, "markdown")).toEqual({ title: "Ti & tle", text: "yes" });
  });

  it("is read right behind letters that change their length with their case", () => {
    expect(markdown(`${"İ".repeat(50)}<p>one</p><script>no</script><p>two`)).toMatch(/İ\n\none\n\ntwo$/);
  });

  it("as plain text has no marks", () => {
    expect(text("<h1>One</h1><p><b>a</b> <a href=x>b</a><ul><li>c</ul>")).toBe("One\n\na b\n\n- c");
  });
});

describe("any page", () => {
  it("is read without failing", () => {
    const piece = fc.constantFrom(
      "<",
      ">",
      "</",
      "a",
      " ",
      "<p",
      "<!--",
      "-->",
      "<script>",
      "</script",
      "'",
      '"',
      "=",
      "<li>",
      "<ul>",
      "</a>",
      "<a href=",
      "&#",
      "&amp",
      "\n",
      "<pre>",
      "</nav>",
      "<nav>",
      "<title>",
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 60 }), (pieces) => {
        expect(typeof markdown(pieces.join(""))).toBe("string");
      }),
    );
  });

  it.each([
    "<",
    "<!--",
    "<a ",
    '<a href="',
    "<script>",
    "</",
    "<p>",
    "<ul><li>",
    "<a href=x>",
    "&#",
    "<nav>",
    "<title>",
    "<pre>",
    `<a ${"a".repeat(8000)}>`,
    `<img ${"alt=".repeat(2000)}>`,
  ])(
    "takes time in proportion to its length: two megabytes of %j",
    (piece) => {
      expect(typeof markdown(piece.repeat(2_000_000 / piece.length))).toBe("string");
    },
    20_000,
  );
});

describe("entities", () => {
  it("become characters, and what is none stays", () => {
    expect(decodeEntities("&lt;&eacute;&Eacute;&#233;&#xE9;&mdash;&nbsp;&unknown;&&amp;amp;")).toBe(
      "<éÉéé— &unknown;&&amp;",
    );
    expect(decodeEntities("&#0;&#xD800;&#x110000;")).toBe("\ufffd\ufffd\ufffd");
  });
});
