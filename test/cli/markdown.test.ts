import { describe, expect, it } from "vitest";
import { renderMarkdown } from "../../src/cli/markdown.js";

/** Styles as tags, so that one can read them. */
const render = (source: string, columns = 60) =>
  renderMarkdown(source, { columns, paint: (style, text) => `<${String(style)}>${text}</>` });

describe("markdown in a terminal", () => {
  it.each([
    ["a heading", "# One *two*", "<bold>One <italic>two</></>"],
    ["emphasis", "**a** _b_ ~~c~~ `d`", "<bold>a</> <italic>b</> <strikethrough>c</> <yellow>d</>"],
    ["a link", "[text](https://x.y)", "text (<underline>https://x.y</>)"],
    ["a bare link", "<https://x.y>", "<underline>https://x.y</>"],
    ["lists", "- a\n  1. b\n- [x] c", "• a\n  1. b\n☑ c"],
    ["numbers from where they start", "3. a\n4. b", "3. a\n4. b"],
    ["code", "```js\nlet a;\n\tb\n```", "  <yellow>let a;</>\n  <yellow>    b</>"],
    ["a quotation", "> a\n> b", "│ <dim>a</>\n│ <dim>b</>"],
    ["a table", "|a|bb|\n|-|-|\n|漢|c|", "<bold>a   bb</>\n<dim>──  ──</>\n漢  c"],
    ["an unfinished fence", "```\nlet a", "  <yellow>let a</>"],
    ["an unfinished emphasis", "**bold", "**bold"],
    ["nothing", "", ""],
  ])("shows %s", (_, source, expected) => {
    expect(render(source)).toBe(expected);
  });

  it("shows a table that is too wide row by row", () => {
    expect(render("|name|meaning|\n|-|-|\n|a|b|\n|c|d|", 10)).toBe(
      "<bold>name:</> a\n<bold>meaning:</> b\n\n<bold>name:</> c\n<bold>meaning:</> d",
    );
  });

  it("obeys no control characters", () => {
    expect(render("a\u001b[2Jb\u0007 `\u009bc`")).toBe("a\ufffd[2Jb\ufffd <yellow>\ufffdc</>");
  });
});
