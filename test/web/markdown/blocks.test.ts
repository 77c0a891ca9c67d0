/** Markdown in blocks that do not change while the text grows. */
import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type Blocks, blocksOf, htmlOf } from "../../../web/src/markdown/blocks.js";

const html = (text: string): string => blocksOf(text).blocks.map(htmlOf).join("");

describe("markdown", () => {
  it("is cut into blocks of which only the last changes when it grows", () => {
    const whole = "# Title\n\nSome *words*.\n\n- one\n- two\n\n```sh\nls\n```\n\nEnd";
    const { blocks: grown } = blocksOf(`${whole} of it`);
    const { blocks: before } = blocksOf(whole);
    expect(grown.slice(0, -1).map(({ raw }) => raw)).toEqual(before.slice(0, -1).map(({ raw }) => raw));
  });

  it("that grows piece by piece is what it would be at once", () => {
    const pieces = fc.array(
      fc.constantFrom(
        ..."# |- |1. |> |```|\n|\n\n|  |    |---|===|*|**|`|word |[name]|[name]: there\n|a | b|\t|<b>|- [ ] ".split(
          "|",
        ),
        "\r\n",
        "\r",
        "<!-- ",
        "-->",
        "| a | b |\n| - | - |\n",
        "|",
      ),
      { maxLength: 30 },
    );
    fc.assert(
      fc.property(pieces, (parts) => {
        let grown: Blocks | undefined;
        let text = "";
        for (const part of parts) {
          text += part;
          grown = blocksOf(text, grown);
          expect(grown.blocks.map(htmlOf)).toEqual(blocksOf(text).blocks.map(htmlOf));
        }
      }),
      { numRuns: 1000 },
    );
  });

  it("that is another one is read anew", () => {
    const known = blocksOf("one\n\ntwo\n\nthree\n\nfour");
    expect(blocksOf("# two\n\nthree", known).blocks.map(htmlOf).join("")).toBe(html("# two\n\nthree"));
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
