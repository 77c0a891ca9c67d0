import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";
import { UserError } from "../../src/util/errors.js";
import { temporaryFolder } from "../support/workspace.js";

const newFile = (): string => join(temporaryFolder(), "ledger.sqlite");
const open = (file: string, readOnly = false) => openSqliteLedger({ file, now: () => 0, reach: () => {}, readOnly });
const message = (id: string) => ({
  id,
  from: { channel: "fake", chat: "ann" },
  sender: ["ann"],
  text: "hi",
  media: [],
});

describe("the file of the ledger", () => {
  it.each([false, true])(
    "that is no database stops the start with its path and the way out (read-only: %s)",
    async (look) => {
      const file = newFile();
      writeFileSync(file, "x".repeat(10_000));
      const refusal = await open(file, look).catch((error: unknown) => error);
      expect(refusal).toBeInstanceOf(UserError);
      expect(refusal).toMatchObject({ message: expect.stringContaining(`${file} is damaged`) });
    },
  );

  it("that is a folder stops it, too", async () => {
    const file = newFile();
    mkdirSync(file);
    await expect(open(file)).rejects.toThrow(UserError);
  });

  it.each([
    ["removed", (file: string) => rmSync(file)],
    [
      "replaced",
      (file: string) => {
        renameSync(file, `${file}.old`);
        writeFileSync(file, "");
      },
    ],
  ])("that is %s while it is in use takes no message: the platform keeps it", async (_, change) => {
    const file = newFile();
    const ledger = await open(file);
    expect(await ledger.inbox.accept(message("1"), "fake:ann")).toMatchObject({ session: "fake:ann" });
    change(file);
    await expect(ledger.inbox.accept(message("2"), "fake:ann")).rejects.toThrow(/removed or replaced/);
    await ledger.close();
  });
});
