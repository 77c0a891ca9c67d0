import { defineConfig } from "vitest/config";

/** `npm run test:browser`: the page in a real Chromium, served by a real gateway. Needs `chromium`. */
export default defineConfig({
  test: {
    include: ["test/browser/**/*.test.ts"],
    globalSetup: ["test/browser/support/build.ts"],
    maxWorkers: 1,
    testTimeout: 60_000,
    hookTimeout: 120_000,
    expect: { poll: { timeout: 15_000 } },
  },
});
