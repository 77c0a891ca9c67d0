/** The zone of the machine as it is now: a process knows only the one it was started in. */
import { readlinkSync } from "node:fs";
import { isZone, machineZone } from "../util/zone.js";

export type MachineZoneParts = {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => number;
  /** The link that the system follows. */
  readonly link?: string;
};

const lookEveryMs = 30_000;

export function createMachineZone({ env, now, link = "/etc/localtime" }: MachineZoneParts): () => string {
  let lookedAt = -Infinity;
  let zone = "";

  const look = (): string => {
    const set = env["TZ"]?.replace(/^:/, "") ?? "";
    if (set !== "") return isZone(set) ? set : machineZone();
    try {
      const [, name = ""] = /zoneinfo\/(?:posix\/|right\/)?(.+)$/.exec(readlinkSync(link)) ?? [];
      return isZone(name) ? name : machineZone();
    } catch {
      // No link: the zone is a copy of a file, or this is another system.
      return machineZone();
    }
  };

  return () => {
    if (Math.abs(now() - lookedAt) >= lookEveryMs) [zone, lookedAt] = [look(), now()];
    return zone;
  };
}
