import { rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { createMachineZone } from "../../src/cron/machine-zone.js";
import { machineZone } from "../../src/util/zone.js";
import { temporaryFolder } from "../support/workspace.js";

function machine(env: Record<string, string> = {}) {
  const link = join(temporaryFolder(), "localtime");
  const time = { now: 0 };
  const zone = createMachineZone({ env, now: () => time.now, link });
  const move = (to: string): void => {
    rmSync(link, { force: true });
    symlinkSync(to, link);
  };
  return { zone, move, time };
}

describe("the zone of the machine", () => {
  it("is where the system's link leads, also after it was changed", () => {
    const { zone, move, time } = machine();
    move("/usr/share/zoneinfo/Asia/Tokyo");
    expect(zone()).toBe("Asia/Tokyo");
    move("../usr/share/zoneinfo/posix/America/Argentina/Ushuaia");
    time.now = 60_000;
    expect(zone()).toBe("America/Argentina/Ushuaia");
  });

  it("is not looked up for every question", () => {
    const { zone, move, time } = machine();
    move("/usr/share/zoneinfo/Asia/Tokyo");
    zone();
    move("/usr/share/zoneinfo/Europe/Berlin");
    time.now = 1000;
    expect(zone()).toBe("Asia/Tokyo");
    // A clock that was put back is no reason to wait.
    time.now = -3_600_000;
    expect(zone()).toBe("Europe/Berlin");
  });

  it("is what the environment says, if that is a zone", () => {
    const { zone, move } = machine({ TZ: ":Europe/Paris" });
    move("/usr/share/zoneinfo/Asia/Tokyo");
    expect(zone()).toBe("Europe/Paris");
    expect(machine({ TZ: "CET-1CEST" }).zone()).toBe(machineZone());
  });

  it("is the one the process began with, where there is no link that says it", () => {
    const { zone, move } = machine();
    expect(zone()).toBe(machineZone());
    const other = machine();
    other.move("/somewhere/else");
    expect(other.zone()).toBe(machineZone());
    move("/usr/share/zoneinfo/No/Such/Place");
  });
});
