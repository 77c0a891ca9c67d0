import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { TurnEvent } from "../../src/agent/loop.js";
import type { BackendCall, BackendEnd } from "../../src/backends/backend.js";
import { createResponses } from "../../src/backends/openai-responses.js";
import { openFakeResponses, responsesKey } from "../support/fake-responses.js";
import { numbers, openTalk } from "../support/talk-house.js";
import { temporaryFolder } from "../support/workspace.js";

async function openBackend(options: { apiKey?: string; timeoutSeconds?: number } = {}) {
  const server = await openFakeResponses();
  const backend = createResponses({
    model: "gpt-x",
    apiKey: responsesKey,
    baseUrl: server.url,
    timeoutSeconds: 30,
    fetch,
    ...options,
  });
  const ask = (prompt: string, more: Partial<BackendCall> = {}): Promise<BackendEnd> =>
    backend.run({ prompt, system: "Be kind.", signal: new AbortController().signal, ...more });
  return { ...server, backend, ask };
}

async function answered(end: Promise<BackendEnd>) {
  const found = await end;
  if (found.kind !== "answered") throw new Error(`expected an answer, not ${JSON.stringify(found)}`);
  return found;
}

const watching = { on: () => {} };

describe("OpenAI's Responses", () => {
  it("go on from the response before, with the instructions repeated", async () => {
    const { ask, requests } = await openBackend();
    const first = await answered(ask("one"));
    expect(first).toMatchObject({ usage: { input: 30, output: 9, cached: 20 }, toolsUsed: [] });
    const second = await answered(ask("two", { handle: first.handle ?? "" }));
    expect(second.text).toBe("I have heard 2 prompt(s). The last: two");
    expect(second.handle).not.toBe(first.handle);
    expect(requests[1]).toEqual({
      model: "gpt-x",
      instructions: "Be kind.",
      input: "two",
      store: true,
      previous_response_id: first.handle,
      stream: false,
    });
  });

  it("can be watched", async () => {
    const { ask } = await openBackend();
    const events: TurnEvent[] = [];
    const { text } = await answered(ask("one", { on: (event) => void events.push(event) }));
    expect(events.length).toBeGreaterThan(1);
    expect(events.map((event) => (event.kind === "text" ? event.text : event.kind)).join("")).toBe(text);
  });

  it("keep nothing of a call that stands alone (003-13)", async () => {
    const { ask, kept, requests } = await openBackend();
    expect("handle" in (await answered(ask("one", { once: true })))).toBe(false);
    expect(requests[0]?.store).toBe(false);
    expect(kept.size).toBe(0);
  });

  it("see the pictures that came with a message", async () => {
    const { ask, requests } = await openBackend();
    const picture = join(temporaryFolder(), "a.png");
    writeFileSync(picture, Buffer.from("\x89PNG\r\n\x1a\nrest", "latin1"));
    await answered(ask("look", { files: [picture, "/nonexistent"] }));
    const content = [
      { type: "input_image", image_url: expect.stringMatching(/^data:image\/png/) },
      { type: "input_text" },
    ];
    expect(requests[0]?.input).toMatchObject([{ role: "user", content }]);
  });

  it("are lost when the server does not have them, and nothing else is sent", async () => {
    const { ask, requests } = await openBackend();
    for (const more of [{}, watching]) {
      expect(await ask("one", { handle: "resp_gone", ...more })).toMatchObject({ kind: "lost" });
    }
    for (const handle of ["", "../files", "resp_/../x", "11111111-1111-4111-8111-111111111111"]) {
      expect(await ask("one", { handle })).toMatchObject({ kind: "lost" });
    }
    expect(requests).toEqual([]);
  });

  it.each([
    ["[api 529]", "overload"],
    ["[api too-long]", "too-long"],
    ["[stub failed]", "overload"],
  ])("fail: %s", async (words, failure) => {
    const { ask } = await openBackend();
    for (const more of [{}, watching]) {
      expect(await ask(`one ${words}`, more)).toMatchObject({ kind: "failed", failure, acted: false });
    }
  });

  it("fail when the key is wrong, without repeating it", async () => {
    const { ask } = await openBackend({ apiKey: "sk-wrong-0123456789" });
    const end = await ask("one");
    expect(end).toMatchObject({ kind: "failed", failure: "auth" });
    expect(JSON.stringify(end)).not.toContain("sk-wrong");
  });

  it("fail when the answer breaks off", async () => {
    const { ask } = await openBackend();
    expect(await ask("one [stub cut]", watching)).toMatchObject({ kind: "failed" });
  });

  it("may come back without an answer (003-23)", async () => {
    const { ask } = await openBackend();
    expect(await ask("one [stub empty]")).toMatchObject({ kind: "silent", note: expect.stringContaining("answer") });
  });

  it("may take too long; what was heard is kept (003-24)", async () => {
    const { ask } = await openBackend({ timeoutSeconds: 1 });
    const heard = "I have heard 1 prompt(s). The last: one [api hang]";
    expect(await ask("one [api hang]", watching)).toEqual({ kind: "timed-out", seconds: 1, partial: heard });
    expect(await ask("one [api silent-hang]")).toEqual({ kind: "timed-out", seconds: 1, partial: "" });
  });

  it("can be stopped", async () => {
    const { ask, requests } = await openBackend();
    const stop = new AbortController();
    const end = ask("one [api silent-hang]", { signal: stop.signal });
    for (let tries = 0; requests.length === 0 && tries < 500; tries++)
      await new Promise((done) => setTimeout(done, 10));
    stop.abort(new Error("enough"));
    await expect(end).rejects.toThrow("enough");
  });

  it("can be forgotten, and only by a name of theirs", async () => {
    const { ask, backend, kept } = await openBackend();
    const { handle = "" } = await answered(ask("one"));
    await backend.forget(handle);
    await backend.forget(handle);
    expect(kept.size).toBe(0);
    await expect(backend.forget("../files/x")).rejects.toThrow(/not the id/);
  });

  it("rotate by the same rules as the claude command (003-2, 003-3, 003-19)", async () => {
    const { backend, requests, kept } = await openBackend();
    const { say, active } = await openTalk({ backend, windowSize: 3 });
    for (const text of numbers(5)) expect(await say(text)).toContain(`The last: ${text}`);
    expect(requests.map(({ previous_response_id: id }) => id !== undefined)).toEqual([false, true, true, false, true]);
    expect(requests[3]?.input).toContain("\nmessage 3\n");
    kept.clear();
    expect(await say("message 6")).toContain("The last: message 6");
    expect(requests.at(-1)?.input).toContain("\nmessage 5\n");
    expect(await active()).toMatchObject({ count: 1 });
  });
});
