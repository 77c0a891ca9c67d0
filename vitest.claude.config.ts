import { defineConfig } from "vitest/config";

/** `npm run test:claude`: the real claude command against a model's server of our own. Needs the package registry. */
export default defineConfig({
  test: {
    include: ["test/claude/**/*.test.ts"],
    globalSetup: ["test/claude/install.ts"],
    maxWorkers: 1,
    testTimeout: 120_000,
    hookTimeout: 60_000,
  },
});
