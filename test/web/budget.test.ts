/** What a first load consists of. */
import { describe, expect, it } from "vitest";
import { firstLoad } from "../../web/budget.js";

describe("the first load", () => {
  it("is the page, its entry and what that imports, not what comes later", () => {
    const outputs = [
      { fileName: "index.html", bytes: 1, needs: [], isFirst: true },
      { fileName: "entry.js", bytes: 10, needs: ["shared.js", "entry.css", "entry.js"], isFirst: true },
      { fileName: "shared.js", bytes: 100, needs: [], isFirst: false },
      { fileName: "entry.css", bytes: 1000, needs: [], isFirst: false },
      { fileName: "later.js", bytes: 10_000, needs: ["shared.js"], isFirst: false },
    ];
    expect(firstLoad(outputs)).toEqual({ files: ["index.html", "entry.js", "shared.js", "entry.css"], bytes: 1111 });
  });
});
