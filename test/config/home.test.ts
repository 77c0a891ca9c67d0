import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import { describe, expect, it, vi } from "vitest";
import { findHome } from "../../src/config/home.js";
import { temporaryFolder } from "../support/workspace.js";

/** A user whose home folder has these folders. */
function user(...folders: string[]): string {
  const home = temporaryFolder();
  vi.stubEnv("HOME", home);
  for (const folder of folders) mkdirSync(join(home, folder));
  return home;
}

describe("the home", () => {
  it("is what --home says, before everything else", () => {
    user(".nanogate", ".nanobot");
    expect(findHome("/there", { NANOGATE_HOME: "/elsewhere" })).toBe("/there");
    expect(findHome("relative", {})).toBe(resolve("relative"));
    expect(findHome("~/mine", {})).toBe(join(homedir(), "mine"));
  });

  it("is NANOGATE_HOME otherwise, unless that is empty", () => {
    const home = user();
    expect(findHome(undefined, { NANOGATE_HOME: "/elsewhere" })).toBe("/elsewhere");
    expect(findHome(undefined, { NANOGATE_HOME: "" })).toBe(join(home, ".nanogate"));
  });

  it("is ~/.nanogate on a fresh machine, and where both exist", () => {
    for (const home of [user, () => user(".nanogate", ".nanobot")]) {
      const expected = join(home(), ".nanogate");
      expect(findHome(undefined, {})).toBe(expected);
    }
  });

  it("is an existing ~/.nanobot for those who come from there", () => {
    const home = user(".nanobot");
    expect(findHome(undefined, {})).toBe(join(home, ".nanobot"));
  });
});
