/** A process of its own that saves turns of three rows until it is done or killed, and says after each: it is saved. */
import { writeSync } from "node:fs";
import { type DriverName, openSessions } from "../../src/session/open.js";

const [workspace = "", driver = "jsonl", name = "", turns = "0", ...keys] = process.argv.slice(2);
const sessions = openSessions({ workspace, driver: driver as DriverName, log: { warn: () => {} } });
writeSync(1, "ready\n");
for (let turn = 0; turn < Number(turns); turn++) {
  const key = keys[turn % keys.length] ?? "";
  const session = await sessions.getOrCreate(key);
  const id = `${name}.${turn}`;
  for (const part of [0, 1, 2]) session.addMessage("user", `${id}.${part} ${"é".repeat(turn % 5 === 0 ? 3000 : 10)}`);
  await sessions.save(session);
  writeSync(1, `${JSON.stringify({ key, id })}\n`);
}
await sessions.close();
