/** Builds the page into dist/web, from where the gateway serves it. */
import { fileURLToPath } from "node:url";
import { defineConfig } from "vite";
import { budget } from "./budget.js";

const gateway = process.env["NANOGATE_URL"] ?? "http://127.0.0.1:18790";

export default defineConfig({
  root: fileURLToPath(new URL(".", import.meta.url)),
  // Relative, so that a proxy may put the page into a folder.
  base: "./",
  oxc: { jsx: { runtime: "automatic", importSource: "preact" } },
  build: {
    outDir: fileURLToPath(new URL("../dist/web", import.meta.url)),
    emptyOutDir: true,
    target: "es2022",
    // Pictures inside of the code would have to be allowed by the page's security policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  plugins: [budget({ firstLoadKb: 150 })],
  server: { proxy: { "/api": gateway } },
});
