/** What no argument of a file tool can reach, whoever chose it. */
import {
  closeSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { createFence } from "../../../src/agent/tools/fence.js";
import { openBench } from "./bench-of-tools.js";

const textOf = (bench: ReturnType<typeof openBench>, path: string): Promise<string> =>
  bench.fence.read(path, async (file) => (await file.readFile()).toString("utf8"));

describe("a path inside the workspace", () => {
  it.each(["notes.txt", "./notes.txt", "a/../notes.txt", "~/workspace/notes.txt"])("is found as %s", async (path) => {
    const bench = openBench();
    bench.put("notes.txt", "hello");
    expect(await textOf(bench, path)).toBe("hello");
    expect(await bench.fence.resolve(path)).toBe(bench.at("notes.txt"));
  });

  it("may be absolute", async () => {
    const bench = openBench();
    expect(await textOf(bench, bench.put("a/b.txt", "deep"))).toBe("deep");
  });

  it("may go through links that stay inside", async () => {
    const bench = openBench();
    bench.put("real/a.txt", "inside");
    symlinkSync(bench.at("real"), bench.at("alias"));
    expect(await textOf(bench, "alias/a.txt")).toBe("inside");
    expect(await bench.fence.write("alias/new.txt", "x")).toBe(bench.at("real/new.txt"));
  });

  it("is created with the folders on the way", async () => {
    const bench = openBench();
    await bench.fence.write("x/y/z.txt", "new");
    expect(readFileSync(bench.at("x/y/z.txt"), "utf8")).toBe("new");
  });
});

describe("a path outside", () => {
  it.each([
    "../config.json",
    "../../../../../../etc/passwd",
    "/etc/passwd",
    "/proc/self/root/etc/passwd",
    "/proc/self/environ",
    "/dev/zero",
    "~/other.txt",
    "~",
    "/",
    "a/../../outside.txt",
    "workspace-twin/../../workspace2/a.txt",
  ])("is refused: %s", async (path) => {
    const bench = openBench();
    await expect(textOf(bench, path)).rejects.toThrow(/outside allowed directory|out of reach/);
    await expect(bench.fence.write(path, "x")).rejects.toThrow(/outside allowed directory|out of reach/);
  });

  it("is named in the refusal, with what is allowed", async () => {
    const bench = openBench();
    await expect(textOf(bench, "/etc/passwd")).rejects.toThrow(
      `Path /etc/passwd is outside allowed directory ${bench.workspace}`,
    );
  });

  it("does not become inside by a common beginning of the name", async () => {
    const bench = openBench();
    mkdirSync(`${bench.workspace}-twin`);
    await expect(bench.fence.write(`${bench.workspace}-twin/a.txt`, "x")).rejects.toThrow("outside");
  });

  it("is not reached through a link to a file, to a folder, or to a folder that will hold the file", async () => {
    const bench = openBench();
    mkdirSync(join(bench.home, "private"));
    writeFileSync(join(bench.home, "private/key"), "secret");
    symlinkSync(join(bench.home, "private/key"), bench.at("file-link"));
    symlinkSync(join(bench.home, "private"), bench.at("folder-link"));
    await expect(textOf(bench, "file-link")).rejects.toThrow("outside");
    await expect(textOf(bench, "folder-link/key")).rejects.toThrow("outside");
    await expect(bench.fence.list("folder-link", 10)).rejects.toThrow("outside");
    await expect(bench.fence.write("folder-link/new", "x")).rejects.toThrow("outside");
    await expect(bench.fence.write("folder-link/deep/er/new", "x")).rejects.toThrow("outside");
    expect(readFileSync(join(bench.home, "private/key"), "utf8")).toBe("secret");
  });

  it("is not created through a link that leads nowhere yet", async () => {
    const bench = openBench();
    symlinkSync(join(bench.home, "not-yet"), bench.at("dangling"));
    await expect(bench.fence.write("dangling", "x")).rejects.toThrow("leads nowhere");
    await expect(bench.fence.write("dangling/a", "x")).rejects.toThrow("leads nowhere");
  });

  it("is refused when links lead in a circle", async () => {
    const bench = openBench();
    symlinkSync(bench.at("one"), bench.at("two"));
    symlinkSync(bench.at("two"), bench.at("one"));
    await expect(textOf(bench, "one")).rejects.toThrow("circle");
  });

  it("may be read, not written, where the owner says so", async () => {
    const bench = openBench();
    const skills = join(bench.home, "built-in");
    mkdirSync(skills);
    writeFileSync(join(skills, "SKILL.md"), "how to");
    const { workspace, userHome, forbidden } = bench.fence;
    const fence = createFence({ workspace, userHome, forbidden, readable: [skills] });
    expect(await textOf({ ...bench, fence }, join(skills, "SKILL.md"))).toBe("how to");
    await expect(fence.write(join(skills, "SKILL.md"), "x")).rejects.toThrow("outside");
  });
});

describe("sessions, state and configuration", () => {
  it.each([
    "sessions/telegram_42.jsonl",
    "./sessions/../sessions/telegram_42.jsonl",
    "sessions",
    "SESSIONS/telegram_42.jsonl",
    "Sessions/new.jsonl",
    "~/config.json",
    "~/CONFIG.json",
    "../nanogate.json",
  ])("are out of reach: %s", async (path) => {
    const bench = openBench();
    await expect(textOf(bench, path)).rejects.toThrow("out of reach");
    await expect(bench.fence.write(path, "x")).rejects.toThrow("out of reach");
    await expect(bench.fence.list(path, 10)).rejects.toThrow("out of reach");
  });

  it("stay so by another name: a link, a hard link, an open file of this process", async () => {
    const bench = openBench();
    symlinkSync(bench.at("sessions"), bench.at("alias"));
    linkSync(join(bench.home, "config.json"), bench.at("twin.json"));
    await expect(textOf(bench, "alias/telegram_42.jsonl")).rejects.toThrow("out of reach");
    await expect(bench.fence.write("alias/x.jsonl", "x")).rejects.toThrow("out of reach");
    await expect(textOf(bench, "twin.json")).rejects.toThrow("out of reach");
    const open = openSync(bench.at("sessions/telegram_42.jsonl"), "r");
    onTestFinished(() => closeSync(open));
    await expect(textOf(bench, `/proc/self/fd/${open}`)).rejects.toThrow("out of reach");
  });

  it("stay so where the folder is itself a link", async () => {
    const bench = openBench();
    bench.put("elsewhere/a.jsonl", "secret");
    rmSync(bench.at("sessions"), { recursive: true });
    symlinkSync(bench.at("elsewhere"), bench.at("sessions"));
    await expect(textOf(bench, "elsewhere/a.jsonl")).rejects.toThrow("out of reach");
    await expect(textOf(bench, "sessions/a.jsonl")).rejects.toThrow("out of reach");
  });

  it("are not even mentioned in a listing", async () => {
    const bench = openBench();
    bench.put("a.txt", "");
    const { entries } = await bench.fence.list(".", 10);
    expect(entries.map(({ name }) => name)).toEqual(["a.txt"]);
  });
});

describe("a path that is no path", () => {
  it.each([
    ["", "empty"],
    ["  ", "empty"],
    ["a\0.txt", "NUL"],
    ["notes.txt\0/etc/passwd", "NUL"],
    ["x".repeat(300), "too long"],
  ])("is refused: %j", async (path, reason) => {
    const bench = openBench();
    await expect(textOf(bench, path)).rejects.toThrow(reason);
    await expect(bench.fence.write(path, "x")).rejects.toThrow(reason);
  });

  it("is told as missing, not as a system error", async () => {
    const bench = openBench();
    bench.put("file", "");
    await expect(textOf(bench, "none.txt")).rejects.toThrow("No such file or folder: none.txt");
    await expect(textOf(bench, "file/below")).rejects.toThrow("Not a directory: file/below");
    await expect(textOf(bench, ".")).rejects.toThrow("Not a file: .");
  });
});

describe("a file swapped for a link while it is being opened", () => {
  /** Swaps as fast as the event loop lets it, until the test is over. */
  function keepSwapping(swap: () => void): void {
    let over = false;
    onTestFinished(() => {
      over = true;
    });
    const again = (): void => {
      if (over) return;
      try {
        swap();
      } catch {
        // The other side is in between; the next swap will do.
      }
      setImmediate(again);
    };
    again();
  }

  it("never yields what the link leads to", async () => {
    const bench = openBench();
    bench.put("target", "mine");
    let linked = false;
    keepSwapping(() => {
      unlinkSync(bench.at("target"));
      if (linked) writeFileSync(bench.at("target"), "mine");
      else symlinkSync(join(bench.home, "config.json"), bench.at("target"));
      linked = !linked;
    });
    for (let round = 0; round < 100; round++) {
      expect(["mine", "", "refused"]).toContain(await textOf(bench, "target").catch(() => "refused"));
    }
  });

  it("never is written through, when its folder is swapped", async () => {
    const bench = openBench();
    mkdirSync(bench.at("folder"));
    const outside = join(bench.home, "outside");
    mkdirSync(outside);
    let linked = false;
    keepSwapping(() => {
      if (linked) {
        unlinkSync(bench.at("folder"));
        renameSync(bench.at("aside"), bench.at("folder"));
      } else {
        renameSync(bench.at("folder"), bench.at("aside"));
        symlinkSync(outside, bench.at("folder"));
      }
      linked = !linked;
    });
    for (let round = 0; round < 100; round++) {
      await bench.fence.write(`folder/deep/${round}.txt`, "x").catch(() => {});
    }
    const { entries } = await createFence({ workspace: outside, userHome: outside, forbidden: [] }).list(".", 1000);
    expect(entries).toEqual([]);
  });
});
