/** Markdown in blocks that do not change while the text grows. */
import { describe, expect, it } from "vitest";
import { blocksOf, htmlOf } from "../../../web/src/markdown/blocks.js";

const html = (text: string): string => blocksOf(text).map(htmlOf).join("");

describe("markdown", () => {
  it("is cut into blocks of which only the last changes when it grows", () => {
    const whole = "# Title\n\nSome *words*.\n\n- one\n- two\n\n```sh\nls\n```\n\nEnd";
    const grown = blocksOf(`${whole} of it`);
    const before = blocksOf(whole);
    expect(grown.slice(0, -1).map(({ raw }) => raw)).toEqual(before.slice(0, -1).map(({ raw }) => raw));
  });

  it("loads no picture from elsewhere", () => {
    expect(html("![a cat](https://elsewhere.example/cat.png)")).not.toContain("<img");
  });

  it("shows HTML as it was written", () => {
    expect(html("<script>alert(1)</script>\n\nand <b onclick=x>bold</b>")).not.toMatch(/<script|<b /);
  });

  it("has its headings below those of the page", () => {
    expect(html("# One *thing*\n\n##### Five")).toBe("<h3>One <em>thing</em></h3>\n<h6>Five</h6>\n");
  });

  it("can be drawn while a fence is still open", () => {
    expect(html("```ts\nconst a")).toContain("<pre>");
  });
});
