/** Slash commands: the same on every channel, answered without a turn, never stored. */
import { describe, expect, it } from "vitest";
import { createCommands, isCommand } from "../../src/gateway/commands.js";
import { ModelError } from "../../src/providers/provider.js";
import { driverNames } from "../../src/session/open.js";
import { addRows, openMemoryHouse, type MemoryHouseOptions, saves } from "../support/memory-house.js";
import { type Line, scriptedModel } from "../support/scripted-model.js";

const key = "telegram:42";

function openCommands(lines: readonly Line[] = [], options: MemoryHouseOptions = {}) {
  const { model, requests } = scriptedModel(lines);
  const house = openMemoryHouse({ model, ...options });
  const { sessions, memory } = house;
  const runCommand = createCommands({ sessions, memory, status: () => ["Model: test"] });
  return {
    ...house,
    requests,
    run: (text: string) => runCommand(text, key, new AbortController().signal),
    /** What the chat is told. */
    say: async (text: string): Promise<string | undefined> => {
      const result = await runCommand(text, key, new AbortController().signal);
      return result?.kind === "reply" ? result.text : undefined;
    },
  };
}
const gone = new ModelError("network", "gone", "wait");

describe("a command", () => {
  it.each(["/help", "/HELP", "  /help  ", "/Help\n"])("is known by its name alone, in any case: %j", async (text) => {
    expect(await openCommands().say(text)).toContain("/new — Start a new conversation");
  });

  it.each([
    "/new",
    "/Help\n",
    "/stop",
    "/history 5",
    "/history",
    "/status",
    "/compact",
    "/new x",
    "/unknown",
    "hi",
    "",
  ])("is told from a message without running it: %j", async (text) => {
    expect(isCommand(text)).toBe((await openCommands().run(text)) !== undefined);
  });

  it.each(["/new x", "/stop it", "/help me", "/compact now", "/status?", "/unknown", "new", "hello /new", "", "/"])(
    "is not what this is, so it goes to the model: %j",
    async (text) => {
      const house = openCommands();
      await house.filled(key, 2);
      expect(await house.run(text)).toBeUndefined();
      expect((await house.sessions.getOrCreate(key)).length).toBe(2);
    },
  );

  it.each(["/help", "/status", "/history", "/history 5", "/compact", "/stop"])(
    "leaves no trace in a chat where nothing was said: %s",
    async (text) => {
      const house = openCommands();
      await house.run(text);
      expect(house.names()).toEqual([]);
      expect(house.requests).toEqual([]);
    },
  );

  it.each(["/help", "/status", "/history", "/stop"])("changes nothing in one where something was: %s", async (text) => {
    const house = openCommands();
    await house.filled(key, 4);
    const before = house.text("telegram_42.jsonl");
    await house.run(text);
    expect(house.text("telegram_42.jsonl")).toBe(before);
  });
});

describe("/help", () => {
  it("names every command there is", async () => {
    const house = openCommands();
    const names = [...((await house.say("/help")) ?? "").matchAll(/^(\/\w+)/gm)].map(([name]) => name);
    expect(names).toEqual(["/new", "/stop", "/status", "/history", "/compact", "/help"]);
    for (const name of names) expect(await house.run(name)).toBeDefined();
  });
});

describe("/new", () => {
  it("starts a new conversation once the old one is in memory", async () => {
    const house = openCommands([saves("summary", "# Memory")]);
    await house.filled(key, 4);
    expect(await house.say("/NEW ")).toBe("New session started.");
    expect(house.read("HISTORY.md")).toBe("summary\n\n");
    expect((await house.sessions.getOrCreate(key)).length).toBe(0);
  });

  it("says so when the old one could only be kept word for word", async () => {
    const house = openCommands([gone]);
    await house.filled(key, 4);
    expect(await house.say("/new")).toMatch(/^New session started\. .*word for word/);
    expect(house.read("HISTORY.md")).toContain("[RAW] 4 messages");
  });
});

describe("/stop", () => {
  it("is for whoever runs the turns", async () => {
    expect(await openCommands().run(" /STOP")).toEqual({ kind: "stop" });
  });
});

describe("/status", () => {
  it("tells of the program and of this conversation", async () => {
    const house = openCommands();
    const session = await house.filled(key, 6);
    session.lastConsolidated = 4;
    expect(await house.say("/status")).toBe("Model: test\nSession: 6 messages, 4 of them in memory");
  });
});

describe("/history", () => {
  it("shows the last ten messages, or as many as one likes, up to fifty", async () => {
    const house = openCommands();
    await house.filled(key, 60);
    const shown = async (text: string): Promise<string[]> => ((await house.say(text)) ?? "").split("\n");
    expect((await shown("/history")).length).toBe(11);
    expect(await shown("/history 2")).toEqual(["Last 2 message(s):", "👤 You: row 58", "🤖 Bot: row 59"]);
    expect((await shown(" /HISTORY  1000 "))[0]).toBe("Last 50 message(s):");
  });

  it("shows people's words only, and of long ones the beginning", async () => {
    const house = openCommands();
    const session = await house.sessions.getOrCreate(key);
    session.addMessage("user", "😀".repeat(201));
    session.addMessage("assistant", null);
    session.addMessage("tool", "result");
    session.addMessage("assistant", "😀".repeat(200));
    expect(await house.say("/history")).toBe(
      `Last 2 message(s):\n👤 You: ${"😀".repeat(200)}…\n🤖 Bot: ${"😀".repeat(200)}`,
    );
  });

  it("says so when there is none", async () => {
    expect(await openCommands().say("/history")).toBe("No conversation history yet.");
  });

  it.each(["/history 0", "/history -1", "/history 1.5", "/history all", "/history 1e9x"])(
    "explains itself: %s",
    async (text) => {
      expect(await openCommands().say(text)).toMatch(/^Usage: \/history \[count\]/);
    },
  );
});

describe("/compact", () => {
  it.each(driverNames)("brings what was said into memory and leaves the log as it is: %s", async (driver) => {
    const house = openCommands([saves("summary", "# Memory")], { driver });
    const session = await house.filled(key, 5);
    expect(await house.say("/compact")).toBe("Compacted 5 messages into memory.");
    expect([session.length, session.lastConsolidated]).toEqual([5, 5]);
    expect([house.read("MEMORY.md"), house.read("HISTORY.md")]).toEqual(["# Memory", "summary\n\n"]);
    expect(await house.say("/compact")).toBe("Nothing to compact yet.");
    addRows(session, 2);
    expect(await house.say("/compact")).toBe("Compacted 2 messages into memory.");
  });

  it("that fails says so and changes nothing; the third time the rows are kept word for word", async () => {
    const house = openCommands([gone]);
    const session = await house.filled(key, 5);
    expect(await house.say("/compact")).toContain("Nothing has changed");
    expect(session.lastConsolidated).toBe(0);
    await house.say("/compact");
    expect(await house.say("/compact")).toContain("word for word");
    expect(session.lastConsolidated).toBe(5);
  });
});
