import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { createProcessLock, type ProcessLock } from "../../src/util/process-lock.js";
import { temporaryFolder } from "../support/workspace.js";

/** Two locks on one file stand for two processes: SQLite keeps their connections apart just the same. */
function locks(count: number): ProcessLock[] {
  const file = join(temporaryFolder(), ".lock");
  return Array.from({ length: count }, () => {
    const lock = createProcessLock(file);
    onTestFinished(() => lock.close());
    return lock;
  });
}

function gate() {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open: () => open(), opened };
}

describe("a process lock", () => {
  it("gives back what the work gives, or its error", async () => {
    const [lock] = locks(1);
    expect(await lock?.hold(async () => 7)).toBe(7);
    await expect(lock?.hold(async () => Promise.reject(new Error("mine")))).rejects.toThrow("mine");
    expect(await lock?.hold(async () => 8)).toBe(8);
  });

  it("lets work of one process run side by side", async () => {
    const [lock] = locks(1);
    const first = gate();
    const second = gate();
    const one = lock?.hold(async () => {
      second.open();
      await first.opened;
    });
    const other = lock?.hold(async () => {
      await second.opened;
      first.open();
    });
    await Promise.all([one, other]);
  });

  it("keeps others out until the last of this process is done", async () => {
    const [ours, theirs] = locks(2);
    const first = gate();
    const second = gate();
    const entered = gate();
    const order: string[] = [];
    const one = ours?.hold(async () => {
      entered.open();
      await first.opened;
      order.push("first");
    });
    await entered.opened;
    const two = ours?.hold(async () => {
      await second.opened;
      order.push("second");
    });
    const three = theirs?.hold(async () => void order.push("theirs"));
    first.open();
    await one;
    await sleep(30);
    second.open();
    await Promise.all([two, three]);
    expect(order).toEqual(["first", "second", "theirs"]);
  });

  it("never lets two be inside at once, however many ask", async () => {
    let inside: ProcessLock | undefined;
    let count = 0;
    let done = 0;
    const all = locks(3).flatMap((lock) =>
      Array.from({ length: 60 }, () =>
        lock.hold(async () => {
          expect(count === 0 || inside === lock).toBe(true);
          inside = lock;
          count++;
          await sleep(Math.random() * 2);
          count--;
          done++;
        }),
      ),
    );
    await Promise.all(all);
    expect(done).toBe(180);
  });

  it.each([1, 20])("does not let a process with %i saves at a time shut others out for ever", async (atOnce) => {
    const [busy, waiting] = locks(2);
    let stop = false;
    let entries = 0;
    // Always at least one inside, so that the lock would never be given back by itself.
    const worker = async (): Promise<void> => {
      while (!stop) {
        await busy?.hold(() => sleep(Math.random() * 2));
        entries++;
      }
    };
    const workers = Array.from({ length: atOnce }, worker);
    while (entries === 0) await sleep(1);
    await waiting?.hold(async () => {
      stop = true;
    });
    await Promise.all(workers);
    expect(stop).toBe(true);
  });

  it("is free again when its process is killed", async () => {
    const file = join(temporaryFolder(), ".lock");
    const module = fileURLToPath(new URL("../../src/util/process-lock.ts", import.meta.url));
    const script = `import { createProcessLock } from ${JSON.stringify(module)};
      void createProcessLock(${JSON.stringify(file)}).hold(() => { console.log("inside"); return new Promise(() => setInterval(() => {}, 1000)); });`;
    const child = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    onTestFinished(() => void child.kill("SIGKILL"));
    await once(child.stdout, "data");
    const lock = createProcessLock(file);
    onTestFinished(() => lock.close());
    let entered = false;
    const waiting = lock.hold(async () => void (entered = true));
    await sleep(50);
    expect(entered).toBe(false);
    child.kill("SIGKILL");
    await waiting;
    expect(entered).toBe(true);
  });

  it("that cannot be had fails for everyone who asked, and works once it can", async () => {
    const folder = temporaryFolder();
    const lock = createProcessLock(join(folder, "\0", ".lock"));
    const tries = await Promise.allSettled([lock.hold(async () => 1), lock.hold(async () => 2)]);
    expect(tries.map((result) => result.status)).toEqual(["rejected", "rejected"]);
  });
});
