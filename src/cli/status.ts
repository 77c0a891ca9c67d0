/** `nanogate status`: what the running gateway says of itself. */
import { askGateway } from "../app/running.js";
import { findHome } from "../config/home.js";
import type { Status } from "../gateway/health.js";
import { UserError } from "../util/errors.js";
import { systemWorld } from "../world.js";
import { span } from "./spans.js";
import { spelledOut } from "./printable.js";
import { NotFound, styled, table, type Terminal } from "./terminal.js";

export async function showStatus(
  options: { readonly home?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<void> {
  const home = findHome(options.home, process.env);
  const found = await askGateway(home, systemWorld().fetch);
  if (found.kind === "mute") {
    throw new UserError(
      `The gateway on ${home} is process ${found.running.pid} and does not answer.`,
      "Look at its log; if it stays so, end that process and start it again.",
    );
  }
  if (found.kind === "none") {
    throw new NotFound(`No gateway is running on ${home}.`, "Start it with `nanogate gateway`.");
  }
  const { key: _, ...running } = found.running;
  if (options.json) return terminal.out(JSON.stringify({ home, ...running, ...found.status }));
  terminal.out(inWords(terminal, home, found.status, Date.now()));
}

function inWords(terminal: Terminal, home: string, status: Status, now: number): string {
  const { version, pid, uptimeSeconds, ready, channels, lanes, ledger, residentBytes } = status;
  const { open, unsent, dead, oldestOpenAt, outcomes } = ledger;
  const waiting = oldestOpenAt === undefined ? "" : `, the oldest for ${span(now - oldestOpenAt)}`;
  const troubles = dead + (outcomes["failed"] ?? 0);
  const state = ready ? styled(terminal, "green", "ready") : styled(terminal, "red", "not ready");
  return [
    `${styled(terminal, "bold", `nanogate ${version}`)}  ${state}, process ${pid}, up ${span(uptimeSeconds * 1000)}, ${Math.round(residentBytes / 1e6)} MB`,
    `  home     ${home}`,
    `  lanes    ${lanes.lanes} in use, ${lanes.queued} message(s) at work or waiting`,
    `  backlog  ${open} open${waiting}, ${unsent} to be sent`,
    `  trouble  ${dead} put aside, ${outcomes["failed"] ?? 0} failed${troubles > 0 ? " (see `nanogate ledger`)" : ""}`,
    ...Object.entries(status.unwritten ?? {}).map(([what, why]) =>
      styled(terminal, "red", `  ${what} cannot be written: ${spelledOut(why)}`),
    ),
    "",
    channels.length === 0
      ? "  No channel is connected: `nanogate init` does that."
      : table(
          terminal,
          ["CHANNEL", "STATE", "LAST HEARD", "RESTARTS", "WHY"],
          channels.map(({ name, state: how, lastAliveMs, restarts, reason }) => [
            name,
            how,
            lastAliveMs === undefined ? "never" : `${span(now - lastAliveMs)} ago`,
            String(restarts),
            spelledOut(reason ?? ""),
          ]),
        ),
  ].join("\n");
}
