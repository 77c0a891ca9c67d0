import { existsSync, statfsSync } from "node:fs";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/browser/**", "test/nanobot/**", "test/claude/**"],
    // Twice the cores of a small machine: many tests wait for processes, terminals and time limits.
    maxWorkers: 4,
    // Nothing here holds on to globals: a module is loaded once for all files, not once for each.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
    env: hasRoom("/dev/shm") ? { TMPDIR: "/dev/shm" } : {},
  },
});

/** No test can see whether a file has reached the disk, and waiting for it takes a third of the time. */
function hasRoom(folder: string): boolean {
  if (!existsSync(folder)) return false;
  const { bavail, bsize } = statfsSync(folder);
  return bavail * bsize > 2 * 1024 ** 3;
}
