/** The command line as a bundle with lazy chunks: a third of the start-up time of loose modules. */
import { rm } from "node:fs/promises";
import { build } from "esbuild";

await rm("dist/bundle", { recursive: true, force: true });
await build({
  entryPoints: { main: "src/cli/main.ts" },
  outdir: "dist/bundle",
  bundle: true,
  splitting: true,
  format: "esm",
  platform: "node",
  target: "node20.19",
  minifySyntax: true,
  minifyWhitespace: true,
  keepNames: true,
  // Binary, or large and loaded only by the channel that needs them.
  external: ["@photostructure/sqlite", "discord.js", "grammy"],
  // Some dependencies are CommonJS and ask for Node's own modules.
  banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  logLevel: "warning",
});
