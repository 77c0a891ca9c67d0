/** Writes that must not be given up. */
import { expect, it } from "vitest";
import { createPersist } from "../../src/gateway/persist.js";

function openPersist(failures: number) {
  const unwritten = new Map<string, string>();
  const seen: string[][] = [];
  const ending = new AbortController();
  const waits: number[] = [];
  const persist = createPersist({
    unwritten,
    ending: ending.signal,
    log: { warn: () => {} },
    sleep: async (ms) => {
      waits.push(ms);
      seen.push([...unwritten.entries()].map(([what, why]) => `${what}: ${why}`));
    },
  });
  const write = async (): Promise<string> => {
    if (failures-- > 0) throw new Error("no space left");
    return "written";
  };
  return { persist, write, unwritten, seen, ending, waits };
}

it("a write that fails is tried again, ever more slowly, and shown to the owner until it works", async () => {
  const { persist, write, unwritten, seen, waits } = openPersist(9);
  expect(await persist("The turn", write)).toBe("written");
  expect(waits).toEqual([500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  expect(new Set(seen.flat())).toEqual(new Set(["The turn: no space left"]));
  expect(unwritten.size).toBe(0);
});

it("a write that works is nobody's concern", async () => {
  const { persist, write, waits } = openPersist(0);
  expect(await persist("The turn", write)).toBe("written");
  expect(waits).toEqual([]);
});

it("ends with the process", async () => {
  const { persist, write, ending } = openPersist(1);
  ending.abort();
  await expect(persist("The turn", write)).rejects.toThrow("no space left");
});
