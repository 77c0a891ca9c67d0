/**
 * In the place of node-gyp-build in the bundle (scripts/bundle.js): looks for SQLite's binary where its package lies, not
 * where the bundle does.
 */
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import find from "node-gyp-build/node-gyp-build.js";

const sqlite = createRequire(import.meta.url).resolve("@photostructure/sqlite");

// As node-gyp-build exports it.
// oxlint-disable-next-line import/no-default-export
export default () => find(join(dirname(sqlite), ".."));
