/** A conversation with an agent in this process: there is no gateway. */
import { createApp } from "../app.js";
import { createLanes } from "../gateway/lanes.js";
import { keyOf } from "../message.js";
import { UserError } from "../util/errors.js";
import type { Conversation, ConversationParts } from "./conversation.js";
import { openJobs } from "./jobs.js";

/** What was begun in the background may take so long; what is not done by then the next run does. */
const graceMs = 10_000;

export async function openDirect({ settings, world, session, from, heard }: ConversationParts): Promise<Conversation> {
  // A subagent's report is a turn like any other, and waits for the one that is running.
  const lanes = createLanes({ limit: 1 });
  const jobs = openJobs(settings, world.log);
  const app = await createApp({
    settings,
    world,
    jobs,
    send: async ({ to, text, media }, origin) => {
      if (to.channel !== origin.channel || to.chat !== origin.chat) {
        throw new UserError(`${keyOf(to)} can only be reached while the gateway runs.`, "Run nanogate gateway.");
      }
      heard([text, ...media.map((path) => `(file: ${path})`)].join("\n"));
    },
    report: (origin, text) =>
      lanes.run(session, async (signal) => {
        const { reply } = await app.answer({ ...origin, text, signal });
        if (reply !== undefined) heard(reply);
      }),
  });
  const stopped = (count: number): string => (count === 0 ? "No active task to stop." : `Stopped ${count} task(s).`);

  return {
    modelName: app.modelName,
    ...(app.notice !== undefined && { notice: app.notice }),
    async ask(text, { signal, on }) {
      const command = await app.runCommand(text, session, signal);
      if (command) return { reply: command.kind === "reply" ? command.text : stopped(app.stopSubagents(session)) };
      return new Promise((resolve, reject) => {
        const work = async (): Promise<void> =>
          app.answer({ session, from, text, signal, ...(on && { on }) }).then(resolve, reject);
        lanes.run(session, work).catch(reject);
      });
    },
    async close() {
      await app.close(graceMs);
      jobs.close();
    },
  };
}
