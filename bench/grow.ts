/** How many bytes are written while a session grows turn by turn. */
import { statSync, writeFileSync } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import { type DriverName, driverNames, appendingDrivers, openDriver } from "./drivers.js";
import { atMost, type Bench, bytesWritten, milliseconds, rowsPerTurn, turnOf } from "./harness.js";
import { rewriteWith } from "./rewriting.js";

const turns = 5000;
/** Whoever writes everything each time is measured over fewer turns; the bytes then grow with the square of the turns. */
const fewTurns = 250;

type Growth = { readonly turns: number; readonly written: number; readonly size: number; readonly ms: number };

export const grow: Bench = {
  name: "grow",
  title: `Bytes written to grow a session to ${turns} turns of ${rowsPerTurn} rows, each turn saved`,
  async run(folder) {
    if (bytesWritten() === undefined) {
      return { table: [], targets: [], notes: ["This system does not count written bytes (/proc/self/io); skipped."] };
    }
    const grown: { contestant: string; growth: Growth }[] = [];
    for (const driver of driverNames) grown.push({ contestant: driver, growth: await growDriver(folder, driver) });
    grown.push({ contestant: "rewriting", growth: await growRewriting(folder) });
    return {
      table: grown.map(({ contestant, growth }) => ({
        contestant,
        "turns measured": growth.turns,
        "MB written": megabytes(toFullLength(growth).written),
        "final MB": megabytes(toFullLength(growth).size),
        "written / final": writtenPerFinal(growth),
        "ms per turn": growth.ms / growth.turns,
      })),
      targets: grown
        .filter(({ contestant }) => (appendingDrivers as readonly string[]).includes(contestant))
        .map(({ contestant, growth }) =>
          atMost(`${contestant}: bytes written per final byte`, writtenPerFinal(growth), 1.5),
        ),
      notes: [
        "Written: all bytes this process passed to write(), the lock's and the header's included.",
        `Measured over ${fewTurns} turns instead of ${turns}: extrapolated, bytes written by (${turns} / ${fewTurns})².`,
      ],
    };
  },
};

async function growDriver(folder: string, driver: DriverName): Promise<Growth> {
  const sessions = openDriver(folder, driver);
  const session = await sessions.getOrCreate("bench:grow");
  const count = appendingDrivers.includes(driver) ? turns : fewTurns;
  const growth = await measured(count, (turn) => {
    session.addRows(turnOf(turn));
    return sessions.save(session);
  });
  await sessions.close();
  return { ...growth, size: await folderSize(join(folder, driver)) };
}

async function growRewriting(folder: string): Promise<Growth> {
  const path = join(folder, "rewriting.jsonl");
  writeFileSync(path, '{"_type":"metadata"}\n');
  const growth = await measured(fewTurns, (turn) => rewriteWith(path, turnOf(turn)));
  return { ...growth, size: statSync(path).size };
}

async function measured(count: number, save: (turn: number) => Promise<void>): Promise<Omit<Growth, "size">> {
  const before = bytesWritten() ?? 0;
  const ms = await milliseconds(async () => {
    for (let turn = 0; turn < count; turn++) await save(turn);
  });
  return { turns: count, written: (bytesWritten() ?? 0) - before, ms };
}

function toFullLength({ turns: measuredTurns, written, size }: Growth): { written: number; size: number } {
  const factor = turns / measuredTurns;
  return { written: written * factor ** 2, size: size * factor };
}

function writtenPerFinal(growth: Growth): number {
  const { written, size } = toFullLength(growth);
  return written / size;
}

const megabytes = (bytes: number): number => bytes / 1e6;

async function folderSize(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => entry.isFile());
  const sizes = await Promise.all(files.map(async (file) => (await stat(join(file.parentPath, file.name))).size));
  return sizes.reduce((sum, size) => sum + size, 0);
}
