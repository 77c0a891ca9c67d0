import { describe, expect, it } from "vitest";
import { createGroupCommit } from "../../src/gateway/group-commit.js";

/** A database that writes down what it is told; `fails` says at which word it breaks. */
function openBook(fails: (statement: string) => boolean = () => false) {
  const said: string[] = [];
  const exec = (statement: string): void => {
    said.push(statement);
    if (fails(statement)) throw new Error(`${statement} failed`);
  };
  const points: string[] = [];
  const group = createGroupCommit({ exec }, (point) => void points.push(point));
  const write = (text: string, how: "durably" | "soon" = "durably") =>
    group[how](text, () => (exec(text), `did ${text}`));
  return { said, points, write, ...group };
}

describe("changes of the ledger", () => {
  it("that come at the same moment share one transaction, in their order", async () => {
    const book = openBook();
    expect(await Promise.all(["a", "b", "c"].map((text) => book.write(text)))).toEqual(["did a", "did b", "did c"]);
    expect(book.said).toEqual(["BEGIN IMMEDIATE", "a", "b", "c", "COMMIT"]);
    expect(book.points).toEqual(["before a", "before b", "before c", "before commit", "after a", "after b", "after c"]);
  });

  it("that come later have a transaction of their own", async () => {
    const book = openBook();
    await book.write("a");
    await book.write("b");
    expect(book.said.filter((word) => word === "COMMIT")).toHaveLength(2);
  });

  it("are not answered for before they are committed", async () => {
    const book = openBook();
    let answered = false;
    const change = book.write("a").then(() => (answered = true));
    await Promise.resolve();
    expect([answered, book.said]).toEqual([false, []]);
    await change;
    expect(book.said.at(-1)).toBe("COMMIT");
  });

  it("do not suffer from one among them that is refused", async () => {
    const book = openBook((word) => word === "b");
    const outcomes = await Promise.allSettled(["a", "b", "c"].map((text) => book.write(text)));
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    const whole = book.said.join(" ");
    expect(whole).toContain("BEGIN IMMEDIATE a COMMIT");
    expect(whole).toContain("BEGIN IMMEDIATE b ROLLBACK");
    expect(whole).toContain("BEGIN IMMEDIATE c COMMIT");
  });

  it("all fail when the disk does, and are not half done", async () => {
    let full = true;
    const book = openBook((word) => word === "COMMIT" && full);
    const outcomes = await Promise.allSettled(["a", "b"].map((text) => book.write(text)));
    expect(outcomes.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
    expect(book.said.filter((word) => word === "ROLLBACK")).toHaveLength(3);
    full = false;
    expect(await book.write("c")).toBe("did c");
  });

  it("that nobody outside depends on do not wait for the disk, unless they come with others that do", async () => {
    const book = openBook();
    await book.write("a", "soon");
    await Promise.all([book.write("b", "soon"), book.write("c")]);
    await book.write("d");
    expect(book.said.filter((word) => /^PRAGMA|^[a-d]$/.test(word))).toEqual([
      "PRAGMA synchronous = NORMAL",
      "a",
      "PRAGMA synchronous = FULL",
      "b",
      "c",
      "d",
    ]);
  });

  it("are waited for by whoever closes the book", async () => {
    const book = openBook();
    const change = book.write("a");
    await book.idle();
    expect(book.said.at(-1)).toBe("COMMIT");
    await change;
  });
});
