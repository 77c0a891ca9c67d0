/** A process that saves one growing history over and over, telling each version once it is saved, until it is killed. */
import { openHistories } from "../../src/session/histories.js";

const [file = "", from = "0"] = process.argv.slice(2);
const histories = openHistories({ file });
for (let version = Number(from); ; version++) {
  const text = `${version} ${"x".repeat(2000)}`;
  const history = Array.from({ length: (version % 40) + 1 }, () => ({ role: "user", content: text }));
  await histories.saveHistory("agent", "chat", history);
  process.stdout.write(`${version}\n`);
}
