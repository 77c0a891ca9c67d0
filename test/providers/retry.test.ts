import { describe, expect, it } from "vitest";
import { SilenceFailure } from "../../src/providers/failures.js";
import { createOpenAi } from "../../src/providers/openai.js";
import { complete, type Model, ModelError, type ModelEvent, type ModelFailure } from "../../src/providers/provider.js";
import { type RetryOptions, withRetry } from "../../src/providers/retry.js";
import { delta, fails, openFakeOpenAi, says, streams } from "../support/fake-openai.js";
import { ask, read } from "../support/reading.js";

const reply: ModelEvent = {
  kind: "reply",
  reply: { text: "ok", toolCalls: [], end: "stop", usage: { input: 1, output: 1, cached: 0 } },
};
const text = (words: string): ModelEvent => ({ kind: "text", text: words });
const failure = (kind: ModelFailure, retryAfterMs?: number) =>
  new ModelError(kind, `${kind}!`, "", retryAfterMs === undefined ? {} : { retryAfterMs });

/** A model that goes through one list of events per call; an error in it is thrown. */
function scripted(...calls: (ModelEvent | Error)[][]) {
  const model: Model = {
    name: "test/test",
    contextTokens: 10,
    // oxlint-disable-next-line typescript/require-await -- as asynchronous as the port
    async *stream() {
      for (const event of calls.shift() ?? []) {
        if (event instanceof Error) throw event;
        yield event;
      }
    },
  };
  return model;
}

function house(model: Model, options: Partial<RetryOptions> = {}) {
  const waits: number[] = [];
  const sleep = async (ms: number): Promise<void> => void waits.push(ms);
  return { waits, model: withRetry(model, { sleep, random: () => 0, ...options }) };
}

describe("a model that fails for a moment", () => {
  it.each<ModelFailure>(["overload", "network"])("is asked again after 1, 2 and 4 seconds: %s", async (kind) => {
    const { model, waits } = house(scripted([failure(kind)], [failure(kind)], [failure(kind)], [text("ok"), reply]));
    expect((await read(model, ask("hi"))).reply?.text).toBe("ok");
    expect(waits).toEqual([1000, 2000, 4000]);
  });

  it("is given up after the last try, with its last words", async () => {
    const last = failure("overload");
    const { model, waits } = house(scripted([failure("network")], [failure("network")], [last]), { retries: 2 });
    expect((await read(model, ask("hi"))).error).toBe(last);
    expect(waits).toHaveLength(2);
  });

  it.each<ModelFailure>(["auth", "limit", "content", "too-long", "request"])(
    "but not for a moment only is not: %s",
    async (kind) => {
      const { model, waits } = house(scripted([failure(kind)], [reply]));
      expect((await read(model, ask("hi"))).failure).toBe(kind);
      expect(waits).toEqual([]);
    },
  );

  it("and has said when to come back is asked then", async () => {
    const { model, waits } = house(scripted([failure("overload", 7000)], [failure("overload", 0)], [reply]));
    await read(model, ask("hi"));
    expect(waits).toEqual([7000, 0]);
  });

  it("for too long is not waited for", async () => {
    const { model, waits } = house(scripted([failure("overload", 61_000)], [reply]));
    expect((await read(model, ask("hi"))).error).toMatchObject({ kind: "overload", retryAfterMs: 61_000 });
    expect(waits).toEqual([]);
  });

  it("by keeping silent for minutes is asked once more only", async () => {
    const silence = () => new ModelError("network", "silence", "", { cause: new SilenceFailure("nothing was heard") });
    const { model, waits } = house(scripted([silence()], [silence()], [reply]));
    expect((await read(model, ask("hi"))).failure).toBe("network");
    expect(waits).toEqual([1000]);
  });

  it("is asked by different chats at different times", async () => {
    const { model, waits } = house(scripted([failure("overload")], [failure("overload")], [reply]), {
      random: () => 1,
    });
    await read(model, ask("hi"));
    expect(waits).toEqual([1250, 2500]);
  });

  it("is reported", async () => {
    const warnings: string[] = [];
    const { model } = house(scripted([failure("overload")], [reply]), {
      log: { warn: (line) => void warnings.push(line) },
    });
    await read(model, ask("hi"));
    expect(warnings).toEqual(["overload! (asking again in 1.0 s)"]);
  });
});

describe("text that was already shown", () => {
  it("is taken back before the next try begins", async () => {
    const { model } = house(
      scripted([text("ha"), text("lf"), failure("network")], [failure("network")], [text("whole"), reply]),
    );
    expect((await read(model, ask("hi"))).events).toEqual([
      text("ha"),
      text("lf"),
      { kind: "restart" },
      text("whole"),
      reply,
    ]);
  });

  it("reaches a reader of `complete` as such", async () => {
    const { model } = house(scripted([text("half"), failure("network")], [text("whole"), reply]));
    let shown = "";
    const events = model.stream(ask("hi"), new AbortController().signal);
    await complete(
      events,
      (words) => (shown += words),
      () => (shown = ""),
    );
    expect(shown).toBe("whole");
  });

  it("is not an answer if the stream just ends", async () => {
    const { model } = house(scripted([text("half")], [reply]));
    expect((await read(model, ask("hi"))).events).toEqual([text("half"), { kind: "restart" }, reply]);
  });
});

describe("a caller who leaves", () => {
  it("while it waits is told his reason, and nothing is asked again", async () => {
    const leaving = new AbortController();
    const calls = [[failure("network")], [reply]];
    const model = withRetry(scripted(...calls), {
      sleep: async (_, signal) => {
        leaving.abort("enough");
        signal.throwIfAborted();
      },
    });
    expect((await read(model, ask("hi"), leaving.signal)).failure).toBe("enough");
  });

  it("during a try is told his reason even if the model says otherwise", async () => {
    const leaving = new AbortController();
    const failing: Model = {
      name: "x",
      contextTokens: 1,
      // oxlint-disable-next-line typescript/require-await, require-yield -- a stream that only fails
      async *stream() {
        leaving.abort("enough");
        throw failure("network");
      },
    };
    const { model, waits } = house(failing);
    expect((await read(model, ask("hi"), leaving.signal)).failure).toBe("enough");
    expect(waits).toEqual([]);
  });
});

describe("over a real line", () => {
  it("a busy server, a dead socket and a silent one are got over", async () => {
    const server = await openFakeOpenAi(
      fails(429, { message: "Slow down" }, { "retry-after": "3" }),
      fails(503, { message: "Busy" }, { "retry-after-ms": "250" }),
      streams([delta({ content: "half" })], "cut"),
      says("whole"),
    );
    const adapter = createOpenAi({ provider: "x", model: "m", baseUrl: server.url, contextTokens: 1, fetch });
    const { model, waits } = house(adapter);
    const seen = await read(model, ask("hi"));
    expect(seen.reply?.text).toBe("whole");
    expect(seen.texts).toEqual(["half", "whole"]);
    expect(waits).toEqual([3000, 250, 4000]);
    expect(server.heard).toHaveLength(4); // the SDK does not retry on its own
  });
});
