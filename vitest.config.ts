import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/nanobot/**"],
    testTimeout: 30_000,
    hookTimeout: 30_000,
  },
});
