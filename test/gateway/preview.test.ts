/** Answers that appear while they are being written. */
import { describe, expect, it } from "vitest";
import { type Channel, SendFailure } from "../../src/channels/channel.js";
import { gate } from "../support/gate.js";
import { openHouse, type HouseOptions } from "../support/house.js";
import { call } from "../support/scripted-model.js";

/** A house whose channel shows answers early; `screen` is what the chat looks like. */
async function openScreen(options: HouseOptions & { readonly edit?: Channel["edit"] } = {}) {
  const screen = new Map<string, string>();
  const edits: string[] = [];
  const house = await openHouse({
    ...options,
    channel: {
      streaming: { everyMs: () => 1000 },
      async edit(to, { id }, text, signal) {
        await options.edit?.(to, { id }, text, signal);
        edits.push(text);
        screen.set(id, text);
      },
      ...options.channel,
    },
    async send(message) {
      const receipt = (await options.send?.(message)) ?? { id: `m${screen.size + 1}` };
      screen.set(receipt.id, message.kind === "text" ? message.text : message.path);
      return receipt;
    },
  });
  const shown = (): string[] => [...screen.values()];
  /** Seconds pass until the chat looks like this. */
  const becomes = (...texts: string[]): Promise<void> =>
    expect
      .poll(() => {
        house.wake(1000);
        return shown();
      })
      .toEqual(texts);
  return { house, screen, edits, becomes, shown };
}

describe("an answer that takes a while", () => {
  it("appears early, grows, and becomes the answer: one message in all", async () => {
    const [more, rest] = [gate(), gate()];
    const { house, shown, becomes } = await openScreen({
      model: [{ pieces: ["The answer", more.wait, " is", rest.wait, " forty-two."] }],
    });
    await house.say("ann", "hi");
    await becomes("The answer");
    more.open();
    await becomes("The answer is");
    rest.open();
    await house.settle();
    expect(shown()).toEqual(["The answer is forty-two."]);
    expect(await house.outcomes()).toEqual(["hi: answered"]);
    await house.close();
  });

  it("is never taken for one of long ago, of which the ledger has forgotten all but the id", async () => {
    const [first, second] = [gate(), gate()];
    const { house, becomes } = await openScreen({
      model: [{ pieces: ["one", first.wait, "!"] }, { pieces: ["two", second.wait, "!"] }],
    });
    await house.say("ann", "hi");
    await becomes("one");
    first.open();
    await house.settle();
    expect(await house.ledger.upkeep.sweep(house.time.now + 1)).toBe(1);
    await house.say("ann", "again");
    await becomes("one!", "two");
    second.open();
    await house.settle();
    const intents = house.sends.map(({ intent }) => intent).filter((intent) => intent.startsWith("preview-"));
    expect(new Set(intents).size).toBe(2);
    await house.close();
  });

  it("is not shown early when it comes at once", async () => {
    const { house, shown, edits } = await openScreen({ model: [{ pieces: ["quick", " answer"] }] });
    await house.say("ann", "hi");
    await house.settle();
    expect([shown(), edits]).toEqual([["quick answer"], []]);
    await house.close();
  });

  it("shows only what fits into one message, and the rest when it is done", async () => {
    const rest = gate();
    const { house, shown, becomes } = await openScreen({ model: [{ pieces: ["one|two", rest.wait, "|three"] }] });
    await house.say("ann", "hi");
    await becomes("one");
    rest.open();
    await house.settle();
    expect(shown()).toEqual(["one", "two", "three"]);
    await house.close();
  });

  it("takes the place of what the model said before it used a tool", async () => {
    const [saying, work] = [gate(), gate()];
    const { house, shown, becomes } = await openScreen({
      settings: { sendProgress: true },
      model: [
        { pieces: ["Let me look.", saying.wait], toolCalls: [call("probe", {})], end: "tools" },
        { text: "Found it." },
      ],
      tools: [
        { spec: { name: "probe", description: "", parameters: {} }, call: async () => (await work.wait, "done") },
      ],
    });
    await house.say("ann", "hi");
    await becomes("Let me look.");
    saying.open();
    work.open();
    await house.settle();
    expect(shown()).toEqual(["Found it."]);
    await house.close();
  });
});

describe("an early answer that cannot be shown", () => {
  const slow = () => {
    const rest = gate();
    return { rest, model: [{ pieces: ["The answer", rest.wait, " is here."] }] };
  };

  it("is sent when it is done, if the early message is gone by then", async () => {
    const { rest, model } = slow();
    const { house, shown, becomes } = await openScreen({
      model,
      edit: async () => {
        throw new SendFailure("never", "message to edit not found");
      },
    });
    await house.say("ann", "hi");
    await becomes("The answer");
    rest.open();
    await house.settle();
    expect(shown()).toEqual(["The answer", "The answer is here."]);
    expect(await house.outcomes()).toEqual(["hi: answered"]);
    await house.close();
  });

  it("is sent when it is done, if nothing could be sent before", async () => {
    const { rest, model } = slow();
    let tries = 0;
    const { house, shown } = await openScreen({
      model,
      send: async () => {
        if (tries++ === 0) throw new Error("the connection broke");
        return { id: `m${tries}` };
      },
    });
    await house.say("ann", "hi");
    await expect.poll(() => (house.wake(1000), tries)).toBe(1);
    rest.open();
    await house.settle();
    expect(shown()).toEqual(["The answer is here."]);
    await house.close();
  });

  it("waits as long as the platform asks", async () => {
    const { rest, model } = slow();
    let tries = 0;
    const { house, shown, becomes } = await openScreen({
      model,
      send: async () => {
        if (tries++ === 0) throw new SendFailure("later", "too many requests", { afterMs: 5000 });
        return { id: "m1" };
      },
    });
    await house.say("ann", "hi");
    await expect.poll(() => (house.wake(1000), house.slept)).toContain(5000);
    await becomes("The answer");
    rest.open();
    await house.settle();
    expect(shown()).toEqual(["The answer is here."]);
    await house.close();
  });
});

describe("a crash in the middle of an early answer", () => {
  it("leaves one message in the chat: the resumed turn takes its place", async () => {
    const never = gate();
    const { house, shown, becomes, screen } = await openScreen({ model: [{ pieces: ["The answer", never.wait] }] });
    await house.say("ann", "hi");
    await becomes("The answer");
    house.kill();
    const edited: string[] = [];
    const next = await openHouse({
      folder: house.folder,
      model: [{ text: "The whole answer." }],
      channel: {
        streaming: { everyMs: () => 1000 },
        edit: async (_, { id }, text) => void (edited.push(text), screen.set(id, text)),
      },
    });
    await next.gateway.resume();
    await next.settle();
    expect(shown()).toEqual(["The whole answer."]);
    expect([edited, next.heard]).toEqual([["The whole answer."], []]);
    await next.close();
  });

  it("leaves no half answer beside the word that the message was given up", async () => {
    const { house, screen, shown, becomes } = await openScreen({
      model: [{ pieces: ["The beginning", gate().wait] }],
    });
    await house.say("ann", "hi");
    await becomes("The beginning");
    house.kill();
    const dying = async (folder: string): Promise<void> => {
      const life = await openHouse({ folder, model: [{ pieces: ["x", gate().wait] }] });
      await life.gateway.resume();
      await expect.poll(() => life.requests.length).toBe(1);
      life.kill();
    };
    await dying(house.folder);
    await dying(house.folder);
    const next = await openHouse({
      folder: house.folder,
      channel: { edit: async (_, { id }, text) => void screen.set(id, text) },
    });
    await next.gateway.resume();
    await next.settle();
    expect(shown()).toEqual([expect.stringContaining("put it aside")]);
    expect(await next.outcomes()).toEqual(["hi: dead"]);
    await next.close();
  });
});
