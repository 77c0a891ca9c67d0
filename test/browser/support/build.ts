/** The program and the page, built before the first test. */
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { buildProgram } from "../../support/cli.js";

export async function setup(): Promise<void> {
  await buildProgram();
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const vite = fileURLToPath(new URL("../../../node_modules/vite/bin/vite.js", import.meta.url));
  const { status, stderr } = spawnSync(process.execPath, [vite, "build", "web", "--logLevel", "warn"], {
    cwd: root,
    encoding: "utf8",
  });
  if (status !== 0) throw new Error(`The page cannot be built:\n${stderr}`);
}
