import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createFile, replaceFile, setAside, syncFolder } from "../../src/util/atomic-write.js";
import { copyRange, writeAll } from "../../src/util/file-bytes.js";
import { sameStamp, stampOf } from "../../src/util/file-stamp.js";
import { temporaryFolder } from "../support/workspace.js";

const text = (content: string) => (file: Parameters<typeof writeAll>[0]) => writeAll(file, Buffer.from(content));

describe("a file replaced", () => {
  it("is the new one, and nothing else is left", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    for (const content of ["first", "second", ""]) {
      await replaceFile(path, text(content));
      expect(readFileSync(path, "utf8")).toBe(content);
      expect(readdirSync(folder)).toEqual(["a"]);
    }
  });

  it("is still the old one when writing fails, and nothing else is left (004-20)", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    await replaceFile(path, text("old"));
    const failing = replaceFile(path, async (file) => {
      await writeAll(file, Buffer.from("half"));
      throw new Error("no space");
    });
    await expect(failing).rejects.toThrow("no space");
    expect(readFileSync(path, "utf8")).toBe("old");
    expect(readdirSync(folder)).toEqual(["a"]);
  });

  it("may be read by whoever could read the old one, and nobody else", async () => {
    const path = join(temporaryFolder(), "a");
    writeFileSync(path, "private");
    for (const mode of [0o600, 0o640, 0o666]) {
      chmodSync(path, mode);
      await replaceFile(path, text("still private"));
      expect(statSync(path).mode & 0o777).toBe(mode);
    }
  });

  it("is old or new for everyone who looks meanwhile", async () => {
    const path = join(temporaryFolder(), "a");
    const versions = Array.from({ length: 20 }, (_, number) => String(number).repeat(200_000));
    await replaceFile(path, text(versions[0] ?? ""));
    let writing = true;
    const reader = (async () => {
      for (let looks = 0; writing; looks++) {
        const seen = readFileSync(path, "utf8");
        expect(versions.includes(seen)).toBe(true);
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (const version of versions) await replaceFile(path, text(version));
    writing = false;
    await reader;
  });
});

describe("a file created", () => {
  it("is there as a whole, or refused when something else is", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a");
    const tries = await Promise.allSettled(["one", "two", "three"].map((content) => createFile(path, text(content))));
    expect(tries.filter((result) => result.status === "fulfilled")).toHaveLength(1);
    for (const result of tries) {
      if (result.status === "rejected") expect(result.reason).toMatchObject({ code: "EEXIST" });
    }
    expect(["one", "two", "three"]).toContain(readFileSync(path, "utf8"));
    expect(readdirSync(folder)).toEqual(["a"]);
  });
});

describe("a file set aside", () => {
  it("keeps its bytes when the original is replaced, and never takes another's name", async () => {
    const folder = temporaryFolder();
    const path = join(folder, "a.jsonl");
    const names = [];
    for (const content of ["one", "two", "three"]) {
      await replaceFile(path, text(content));
      names.push(await setAside(path, "damaged-x"));
    }
    await replaceFile(path, text("four"));
    expect(names.map((name) => readFileSync(name, "utf8"))).toEqual(["one", "two", "three"]);
    expect(new Set(names).size).toBe(3);
  });

  it("gets a name that fits, however long its own is", async () => {
    const folder = temporaryFolder();
    for (const stem of ["x".repeat(240), "é".repeat(120)]) {
      const path = join(folder, `${stem}.jsonl`);
      writeFileSync(path, stem);
      const first = await setAside(path, "damaged-2026-01-01T000000");
      const second = await setAside(path, "damaged-2026-01-01T000000");
      expect(readFileSync(first, "utf8")).toBe(stem);
      expect(second).not.toBe(first);
      expect(first.endsWith(".damaged-2026-01-01T000000")).toBe(true);
    }
  });
});

describe("the rest of the file tools", () => {
  it("copy any range, and say so when there is less than there was", async () => {
    const folder = temporaryFolder();
    const [from, to] = [join(folder, "from"), join(folder, "to")];
    writeFileSync(from, "x".repeat(3 << 20) + "end");
    await replaceFile(to, (file) => copyRange(from, (3 << 20) - 2, (3 << 20) + 3, file));
    expect(readFileSync(to, "utf8")).toBe("xxend");
    await expect(replaceFile(to, (file) => copyRange(from, 0, 4 << 20, file))).rejects.toThrow("shrank");
    expect(readFileSync(to, "utf8")).toBe("xxend");
  });

  it("notice every write by the file's stamp", async () => {
    const path = join(temporaryFolder(), "a");
    expect(await stampOf(path)).toBeUndefined();
    writeFileSync(path, "one");
    const stamp = await stampOf(path);
    if (!stamp) throw new Error("no stamp");
    expect(sameStamp(stamp, await stampOf(path))).toBe(true);
    expect(sameStamp(stamp, undefined)).toBe(false);
    await replaceFile(path, text("two"));
    expect(sameStamp(stamp, await stampOf(path))).toBe(false);
  });

  it("fail on a folder that is not there", async () => {
    await expect(syncFolder(join(temporaryFolder(), "absent"))).rejects.toThrow("ENOENT");
  });
});
