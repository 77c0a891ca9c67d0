/** A process of its own that changes memory until it is killed, and says after each change: it is in. */
import { writeSync } from "node:fs";
import { createMemoryFolders } from "../../src/agent/memory-folders.js";
import { workspaceFence } from "../../src/agent/workspace.js";
import { openSessions } from "../../src/session/open.js";
import { systemClock as clock } from "../../src/world.js";

const [home = "", workspace = "", key = "", name = ""] = process.argv.slice(2);
const log = { warn: (message: string) => void process.stderr.write(`${message}\n`) };
const sessions = openSessions({ workspace, clock, log });
const fence = workspaceFence({ home, workspace });
const files = createMemoryFolders({ home, workspace, scope: "workspace", fence, sessions, clock, log }).of(key);
writeSync(1, "ready\n");
await files.recover();
const session = await sessions.getOrCreate(key);
for (let turn = 0; ; turn++) {
  session.addMessage("user", `${name}.${turn}`);
  await sessions.save(session);
  const before = await files.memory();
  await files.commit({
    by: { kind: "session", key, cursor: session.length },
    entry: `entry ${name}.${turn} ${"é😀".repeat(2000)}`,
    memory: { from: before, to: `${before}- ${name}.${turn}\n` },
  });
  writeSync(1, `${name}.${turn}\n`);
}
