import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/browser/**", "test/nanobot/**", "test/claude/**"],
    // One more than the cores of a small machine: many tests wait for processes, terminals and time limits.
    maxWorkers: 3,
    // Nothing here holds on to globals: a module is loaded once for all files, not once for each.
    isolate: false,
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
