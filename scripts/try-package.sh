#!/usr/bin/env bash
# Packs the project, installs the package somewhere else, and uses it the way its users would.
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
cd "$root"
tarball=$(npm pack --silent --pack-destination "$place" | tail -n 1)
cd "$place"
npm init --yes >/dev/null
npm install --silent --no-audit --no-fund "./$tarball"
cat >use.mjs <<'JS'
import { openSessions, SessionManager, sessionFileName } from "nanogate";
const sessions = openSessions({ workspace: "workspace" });
if (!(sessions instanceof SessionManager)) throw new Error("openSessions returns a SessionManager");
const session = await sessions.getOrCreate("telegram:42");
session.addMessage("user", "hi");
await sessions.save(session);
await sessions.close();
console.log(sessionFileName("telegram:42"));
JS
test "$(node use.mjs)" = telegram_42.jsonl
npx --no-install nanogate sessions list --workspace workspace | grep -q telegram:42
npx --no-install nanogate sessions export telegram:42 --workspace workspace | tail -n 1 | grep -q '"content": "hi"'
npx --no-install nanogate selftest --kills 3 | grep -q "every invariant held"
test -s node_modules/nanogate/dist/web/index.html
echo "the package works"
