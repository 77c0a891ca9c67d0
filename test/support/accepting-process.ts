/** A process of its own that accepts the same messages as its siblings, answers those it got, and says which. */
import { openSqliteLedger } from "../../src/gateway/ledger-sqlite.js";

const [file = "", count = "0"] = process.argv.slice(2);
const ledger = await openSqliteLedger({ file, now: () => Date.now(), reach: () => {} });
const mine: string[] = [];
for (let at = 0; at < Number(count); at++) {
  const from = { channel: "fake", chat: `c${at % 7}` };
  const item = await ledger.inbox.accept({ id: `m${at}`, from, sender: [], text: "hi", media: [] }, `fake:c${at % 7}`);
  if (item === "repeat") continue;
  mine.push(item.message.id);
  await ledger.journal.begin(item);
  await ledger.journal.finish(item, { rows: [], messages: [], outcome: { kind: "answered" } });
  await ledger.journal.appended(item);
}
await ledger.close();
process.stdout.write(JSON.stringify(mine));
