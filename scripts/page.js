/** Builds the page. */
import { resolve } from "node:path";
import { build } from "vite";
import { besides, putInPlace } from "./put-in-place.js";

const folder = resolve("dist/web");

await build({ root: "web", logLevel: "warn", build: { outDir: besides(folder), emptyOutDir: true } });
putInPlace(folder);
