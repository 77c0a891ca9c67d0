/** One opening in a process of its own, which then tells how long it took and how much memory it now holds. */
import { openDriver, type DriverName } from "./drivers.js";
import { parseAll } from "./rewriting.js";

export type Opening = { readonly ms: number; readonly grownBytes: number };

const [contestant = "", place = "", key = ""] = process.argv.slice(2);
const before = process.memoryUsage().rss;
const start = performance.now();
const held = contestant === "parsing" ? await parseAll(place) : await opened();
const ms = performance.now() - start;
const opening: Opening = { ms, grownBytes: process.memoryUsage().rss - before };
if (held.length < 100) throw new Error(`${key} is too short`);
process.send?.(opening, () => process.exit());

async function opened() {
  const session = await openDriver(place, contestant as DriverName).getOrCreate(key);
  session.history(100);
  return session;
}
