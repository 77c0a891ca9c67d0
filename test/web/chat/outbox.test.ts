/** A question is handed over until the gateway says that it has it, under one id. */
import { describe, expect, it, vi } from "vitest";
import type { Told } from "../../../src/http/asking.js";
import type { Api } from "../../../web/src/api/client.js";
import { Problem } from "../../../web/src/api/problem.js";
import { createOutbox, type Question, type Shelf } from "../../../web/src/chat/outbox.js";
import type { Happening } from "../../../web/src/chat/turns.js";

const question: Question = { session: "web:a", text: "hi", id: "id-1", images: [] };

const streamOf = (...told: Told[]): Response =>
  new Response(told.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(""));
const accepted = (): Response => streamOf({ kind: "accepted", text: "hi" });

/** A page with this gateway behind it: each answer is for one request. */
function openPage(answers: (() => Response)[], kept: readonly Question[] = []) {
  const asked: Question[] = [];
  const told: Happening[] = [];
  let shelved = kept;
  const shelf: Shelf<readonly Question[]> = { read: () => shelved, write: (value) => void (shelved = value) };
  const stream: Api["stream"] = async (_, { body }) => {
    asked.push(body as Question);
    return (answers.shift() ?? accepted)();
  };
  const outbox = createOutbox({
    api: { stream } as unknown as Api,
    shelf,
    tell: (_, happening) => void told.push(happening),
    wait: async () => {},
  });
  const kinds = (): string[] => told.map(({ kind }) => kind);
  return { outbox, asked, told, kinds, shelved: () => shelved };
}

const fails = (problem: Error) => (): never => {
  throw problem;
};

describe("a question", () => {
  it("is shown at once and handed over once", async () => {
    const page = openPage([accepted]);
    page.outbox.send(question);
    expect(page.kinds()).toEqual(["asked"]);
    await vi.waitFor(() => expect(page.kinds()).toEqual(["asked", "news"]));
    expect(page.asked).toEqual([question]);
  });

  it("is handed over again under the same id when the gateway goes away", async () => {
    const goesAway = new Problem("gone", { fix: "" });
    const page = openPage([fails(goesAway), () => new Response(""), fails(goesAway), accepted]);
    page.outbox.send(question);
    await vi.waitFor(() => expect(page.kinds()).toContain("news"));
    expect(page.asked.map(({ id }) => id)).toEqual(["id-1", "id-1", "id-1", "id-1"]);
  });

  it("outlives a reload of the page until it is over", async () => {
    const page = openPage([accepted], [question]);
    page.outbox.reclaim();
    await vi.waitFor(() => expect(page.kinds()).toEqual(["asked", "news"]));
    expect(page.shelved()).toEqual([question]);
    page.outbox.over("id-1");
    expect(page.shelved()).toEqual([]);
  });

  it("that was answered while nobody looked is over", async () => {
    const page = openPage([() => streamOf({ kind: "finished", turn: { outcome: { kind: "answered" } } })]);
    page.outbox.send(question);
    await vi.waitFor(() =>
      expect(page.told).toContainEqual({ kind: "over", id: "id-1", outcome: { kind: "answered" } }),
    );
    expect(page.shelved()).toEqual([]);
  });

  it("that was answered just before somebody listens again is asked about once more", async () => {
    const page = openPage([
      () => {
        page.outbox.reclaim();
        return accepted();
      },
      () => streamOf({ kind: "finished", turn: { outcome: { kind: "answered" } } }),
    ]);
    page.outbox.send(question);
    await vi.waitFor(() => expect(page.kinds()).toContain("over"));
    expect([page.asked.length, page.shelved()]).toEqual([2, []]);
  });

  it("that the gateway refuses is not sent again, and says why", async () => {
    const page = openPage([fails(new Problem("too big", { fix: "send less", status: 413 }))]);
    page.outbox.send(question);
    await vi.waitFor(() =>
      expect(page.told).toContainEqual({ kind: "refused", id: "id-1", problem: "too big", fix: "send less" }),
    );
    expect([page.asked.length, page.shelved()]).toEqual([1, []]);
  });

  it("is not sent twice at a time, however often it is reclaimed", async () => {
    let open = (): void => {};
    const held = (): Response =>
      new Response(new ReadableStream({ start: (control) => void (open = () => control.close()) }));
    const page = openPage([held]);
    page.outbox.send(question);
    await vi.waitFor(() => expect(page.asked).toHaveLength(1));
    page.outbox.reclaim();
    page.outbox.reclaim();
    expect(page.asked).toHaveLength(1);
    page.outbox.over("id-1");
    open();
  });
});
