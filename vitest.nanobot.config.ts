import { defineConfig } from "vitest/config";

/** `npm run test:nanobot`: the real nanobot and nanogate on the same files. Needs Python and its package index. */
export default defineConfig({
  test: {
    include: ["test/nanobot/**/*.test.ts"],
    globalSetup: ["test/nanobot/install.ts"],
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
