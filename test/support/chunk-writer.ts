/** A process of its own that appends turns to one chunked conversation: `<workspace> <key> <name> <turns>`. */
import { openStore } from "../../src/session/open.js";
import { ChangedElsewhere } from "../../src/session/store.js";

const [workspace = "", key = "", name = "", turns = "0"] = process.argv.slice(2);
const store = openStore({ workspace, driver: "chunked", segmentSize: 5 });

for (let turn = 1; turn <= Number(turns);) {
  const log = await store.open(key);
  const rows = ["question", "answer", "thanks"].map((part) => ({ role: "user", content: `${name} ${turn} ${part}` }));
  try {
    await log.append(log.header, rows);
    // Said only once it is saved: whoever kills this process may count on it.
    process.stdout.write(`${turn}\n`);
    turn++;
  } catch (error) {
    if (!(error instanceof ChangedElsewhere)) throw error;
  }
}
await store.close();
