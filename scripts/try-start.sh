#!/usr/bin/env bash
# `npm start` in an empty home: the gateway comes up with the demo model, says it is ready, and ends politely.
set -euo pipefail
cd "$(dirname "$0")/.."
home=$(mktemp -d)
trap 'rm -rf "$home"' EXIT
mkdir -p "$home/.nanogate"
echo '{"gateway": {"port": 0}}' >"$home/.nanogate/config.json"
HOME=$home npm start >"$home/out" 2>"$home/err" &
starter=$!
state=$home/.nanogate/state/gateway.json
for _ in $(seq 300); do
  [ -s "$state" ] && break
  kill -0 "$starter" 2>/dev/null || break
  sleep 0.2
done
[ -s "$state" ] || { cat "$home/out" "$home/err"; exit 1; }
ask() { node -e 'const {port, pid} = JSON.parse(require("fs").readFileSync(process.argv[1])); process.argv[2] === "pid" ? console.log(pid) : fetch(`http://127.0.0.1:${port}/readyz`).then((r) => process.exit(r.status === 200 ? 0 : 1))' "$state" "$1"; }
gateway=$(ask pid)
ask ready
kill -TERM "$gateway"
wait "$starter"
grep -q "nanogate chat" "$home/out"
grep -q "nanogate init" "$home/out"
grep -q demo "$home/out"
echo "npm start works"
