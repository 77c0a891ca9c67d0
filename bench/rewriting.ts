/** The contestant: a session file kept the plain way, read as a whole and written as a whole, as nanobot does. */
import { open, readFile } from "node:fs/promises";
import type { Row } from "../src/message.js";

/** All lines parsed; the first is the header. */
export async function parseAll(path: string): Promise<Row[]> {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Row);
}

/** Reads the file, adds the rows and writes everything anew, durably. */
export async function rewriteWith(path: string, added: readonly Row[]): Promise<void> {
  const [header = {}, ...rows] = await parseAll(path);
  rows.push(...added);
  const updated = { ...header, updated_at: new Date().toISOString() };
  const text = [updated, ...rows].map((row) => `${JSON.stringify(row)}\n`).join("");
  const file = await open(path, "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}
