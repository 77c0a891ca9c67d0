/** A stream that is kept open. */
import { describe, expect, it } from "vitest";
import { createApi, pathOf } from "../../../web/src/api/client.js";
import { follow } from "../../../web/src/api/follow.js";
import { Problem } from "../../../web/src/api/problem.js";

const streamOf = (...events: number[]): Response => new Response(events.map((one) => `data: ${one}\n\n`).join(""));

/** Follows these answers, one after the other, until there are none. */
async function followed(...answers: (Response | Error)[]): Promise<string[]> {
  const told: string[] = [];
  const ended = new AbortController();
  await follow<number>(
    {
      open: async () => {
        const answer = answers.shift();
        if (answer === undefined) {
          ended.abort();
          throw new Error("enough");
        }
        if (answer instanceof Error) throw answer;
        return answer;
      },
      connected: () => void told.push("connected"),
      heard: (event) => void told.push(String(event)),
      lost: () => void told.push("lost"),
      wait: async (ms) => void told.push(`wait ${ms}`),
    },
    ended.signal,
  );
  return told;
}

describe("following", () => {
  it("goes on after the stream has ended, and after failures ever more patiently", async () => {
    const gone = new TypeError("network");
    expect(await followed(streamOf(1, 2), gone, gone, streamOf(3))).toEqual(
      "connected 1 2 lost,wait 250,lost,wait 500,lost,wait 1000,connected 3 lost,wait 250"
        .split(",")
        .flatMap((words) => (words.startsWith("wait") ? [words] : words.split(" "))),
    );
  });

  it("waits for nobody to enter a token", async () => {
    expect(await followed(new Problem("locked", { fix: "", status: 401 }), streamOf(1))).toEqual(["lost"]);
  });
});

describe("asking the gateway", () => {
  it("says in its words what it refused, and what to do", async () => {
    const fetch = async (): Promise<Response> => Response.json({ error: "There is no such job." }, { status: 404 });
    const api = createApi({ fetch, onLocked: () => {} });
    await expect(api.get("api/jobs/x")).rejects.toMatchObject({
      message: "There is no such job.",
      status: 404,
      fix: expect.stringMatching(/gone/),
    });
  });

  it("sends JSON also where there is nothing to say, which no form of another site can", async () => {
    const sent: RequestInit[] = [];
    const fetch: typeof globalThis.fetch = async (_, init) => {
      sent.push(init ?? {});
      return Response.json({});
    };
    const api = createApi({ fetch, onLocked: () => {} });
    await api.post("api/jobs/x/run");
    await api.remove("api/jobs/x");
    for (const init of sent)
      expect(init).toMatchObject({ headers: { "content-type": "application/json" }, body: "{}" });
  });

  it("notices that it is locked out", async () => {
    let isLocked = false;
    const fetch = async (): Promise<Response> => Response.json({ error: "who?" }, { status: 401 });
    const api = createApi({ fetch, onLocked: () => void (isLocked = true) });
    await expect(api.get("api/overview")).rejects.toThrow("who?");
    expect(isLocked).toBe(true);
  });

  it("leaves out what is not asked for", () => {
    expect(pathOf("api/sessions", { q: "", limit: 5, offset: undefined })).toBe("api/sessions?limit=5");
    expect(pathOf("api/sessions", { q: "a&b" })).toBe("api/sessions?q=a%26b");
  });
});
