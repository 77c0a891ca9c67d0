import { describe, expect, it } from "vitest";
import { createHeartbeatStart, hasTasks, heartbeatJob } from "../../src/cron/heartbeat.js";
import type { OpenOccurrence } from "../../src/cron/occurrences.js";
import type { Inbound } from "../../src/message.js";

const template = `# Heartbeat Tasks

This file is checked every 30 minutes by your nanobot agent.
Add tasks below that you want the agent to work on periodically.

If this file has no tasks (only headers and comments), the agent will skip the heartbeat.

## Active Tasks

<!-- Add your periodic tasks below this line -->


## Completed

<!-- Move completed tasks here or delete them -->
`;

describe("HEARTBEAT.md", () => {
  it.each([
    ["nothing", ""],
    ["the template as it came", template],
    ["headings and comments", "# A\r\n\r\n<!-- a comment\nover lines\n- [ ] even a task -->\n### B\n#"],
    ["empty boxes and bullets", "- [ ]\n* [ ] \n-\n1.\n[ ]\n---\n***"],
    ["what is ticked", "## Tasks\n- [x] water the plants\n* [X] tidy up"],
    ["what is completed", `${template}\n- water the plants`],
    ["a comment that does not end", "# A\n<!-- water the plants"],
  ])("with %s holds no task", (_, text) => {
    expect(hasTasks(text)).toBe(false);
  });

  it.each([
    ["a line", "water the plants"],
    ["an open box", "- [ ] water the plants"],
    ["a line under the active tasks of the template", template.replace("## Completed", "- water\n\n## Completed")],
    ["a line beside a comment", "<!-- why --> water the plants"],
    ["a line after what is completed", "## Done\n- old\n## Later\n- water the plants"],
    ["a heading that only looks like one", "#water the plants"],
  ])("with %s holds one", (_, text) => {
    expect(hasTasks(text)).toBe(true);
  });
});

const dueAt = Date.UTC(2026, 0, 1, 12);
const beat: OpenOccurrence = {
  job: "heartbeat",
  name: "heartbeat",
  dueAt,
  how: "scheduled",
  late: false,
  attempt: 1,
  notBefore: 0,
};

function heart({
  file = "- water the plants",
  hasFile = true,
  answer = async (): Promise<string | undefined> => "water them",
  now = dueAt,
} = {}) {
  const asked: string[] = [];
  const accepted: Inbound[] = [];
  const parts = {
    everyMs: 1_800_000,
    hours: { from: 8 * 60, to: 22 * 60 },
    zone: () => "UTC",
    limitMs: 600_000,
    read: async () => (hasFile ? file : undefined),
    ask: async (text: string) => {
      asked.push(text);
      return answer();
    },
    target: async () => ({ channel: "telegram", chat: "-100:topic:5" }),
    accept: async (message: Inbound) => void accepted.push(message),
    now: () => now,
  };
  const start = createHeartbeatStart(parts);
  const signal = new AbortController().signal;
  return { asked, accepted, start: (one = beat) => start(one, heartbeatJob(parts), signal) };
}

describe("a heartbeat", () => {
  it("asks what to do, and has it done in its own session, told in the last used chat", async () => {
    const { asked, accepted, start } = heart();
    expect(await start()).toBeUndefined();
    expect(asked).toEqual(["- water the plants"]);
    expect(accepted).toMatchObject([
      {
        id: `cron-heartbeat-${dueAt}`,
        from: { channel: "telegram", chat: "-100:topic:5" },
        session: "heartbeat",
        quiet: true,
      },
    ]);
    expect(accepted[0]?.text).toMatch(/^water them\n\n.*\[SILENT\]/);
  });

  it.each([
    ["no file", { hasFile: false }],
    ["no task in it", { file: template }],
  ])("costs nothing with %s", async (_, options) => {
    const { asked, accepted, start } = heart(options);
    expect(await start()).toEqual({ kind: "skipped", by: "idle" });
    expect(asked).toEqual([]);
    expect(accepted).toEqual([]);
  });

  it("does nothing more if the model sees nothing to do", async () => {
    const { accepted, start } = heart({ answer: async () => undefined });
    expect(await start()).toEqual({ kind: "skipped", by: "idle" });
    expect(accepted).toEqual([]);
  });

  it("sleeps outside its hours, unless the owner asks for it", async () => {
    const { asked, accepted, start } = heart({ now: Date.UTC(2026, 0, 1, 23) });
    expect(await start()).toEqual({ kind: "skipped", by: "asleep" });
    expect(asked).toEqual([]);
    expect(await start({ ...beat, how: "manual" })).toBeUndefined();
    expect(accepted).toHaveLength(1);
  });

  it("that cannot ask has failed, and the next one is another chance", async () => {
    const { start } = heart({ answer: () => Promise.reject(new Error("no model")) });
    expect(await start()).toEqual({ kind: "error", reason: "no model", again: false });
  });
});
