/** Reloads, restarts and power cuts: every message is there once. */
import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { type House, openHouse, openPage, say, spoken } from "./support/house.js";

/** What stands in the only session file of the house, said by people. */
function stored({ home }: House): string[] {
  const folder = join(home, "workspace", "sessions");
  const name = readdirSync(folder).find((one) => one.endsWith(".jsonl"));
  if (name === undefined) return [];
  const lines = readFileSync(join(folder, name), "utf8").trim().split("\n").slice(1);
  return lines.map((line) => (JSON.parse(line) as { content: string }).content);
}

const whole = ["tell me", "One… two."];

describe("a page that is reloaded in the middle of an answer", () => {
  it("shows what was said so far, and goes on", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["One…", " two."] });
    await say(page, "tell me");
    await expect.poll(() => spoken(page)).toEqual(["tell me", "One…"]);
    await page.reload();
    await expect.poll(() => spoken(page)).toEqual(["tell me", "One…"]);
    house.model.goOn();
    await expect.poll(() => spoken(page)).toEqual(whole);
    await expect.poll(() => stored(house)).toEqual(whole);
  });
});

describe("a gateway that is killed while its page is open", () => {
  it("is found again, and what it was saying is said once", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["One…", " lost."] }, { say: ["One…", " two."] });
    await say(page, "tell me");
    await expect.poll(() => spoken(page)).toEqual(["tell me", "One…"]);
    await house.kill();
    await page.getByText("Reconnecting…").waitFor();
    await house.start();
    await expect.poll(() => house.model.asked.length, { timeout: 20_000 }).toBe(2);
    house.model.goOn();
    await expect.poll(() => spoken(page), { timeout: 20_000 }).toEqual(whole);
    await expect.poll(() => page.getByText("Reconnecting…").count()).toBe(0);
    await expect.poll(() => stored(house)).toEqual(whole);
  });

  it("gets what was said meanwhile, once", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["First."] }, { say: ["Second."] });
    await say(page, "one");
    await expect.poll(() => spoken(page)).toEqual(["one", "First."]);
    await house.kill();
    await page.getByText("Reconnecting…").waitFor();
    // The notice is one thing, the light beside the theme another: neither is dressed as the other.
    expect(await page.locator(".link-state").evaluate((light) => getComputedStyle(light).padding)).toBe("0px");
    await say(page, "two");
    await expect.poll(() => spoken(page)).toEqual(["one", "First.", "two"]);
    await page.getByText("Sending…").waitFor();
    await house.start();
    const all = ["one", "First.", "two", "Second."];
    await expect.poll(() => spoken(page), { timeout: 20_000 }).toEqual(all);
    await page.reload();
    await expect.poll(() => spoken(page)).toEqual(all);
    await expect.poll(() => stored(house)).toEqual(all);
  });

  it("is asked again about what was over before the page listened", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["First."] }, { say: ["Second."] });
    await say(page, "one");
    await expect.poll(() => spoken(page)).toEqual(["one", "First."]);
    const all = ["one", "First.", "two", "Second."];
    await house.kill();
    await page.getByText("Reconnecting…").waitFor();
    // The page listens only when all is over, and gets the first answer only when it listens.
    const listening = page.waitForResponse("**/api/events");
    await page.route("**/api/events", async (route) => {
      await expect.poll(() => stored(house)).toEqual(all);
      await route.continue();
    });
    await page.route(
      "**/api/turns",
      async (route) => {
        const response = await route.fetch();
        await listening;
        await route.fulfill({ response });
      },
      { times: 1 },
    );
    await house.start();
    await say(page, "two");
    await expect.poll(() => spoken(page), { timeout: 20_000 }).toEqual(all);
    await expect.poll(() => page.getByText("Reconnecting…").count()).toBe(0);
  });

  it("answers what it had taken before, although nobody was told", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["One…", " lost."] }, { say: ["One…", " two."] });
    await say(page, "tell me");
    await expect.poll(() => spoken(page)).toEqual(["tell me", "One…"]);
    await house.kill();
    house.model.goOn();
    await house.start();
    await expect.poll(() => house.model.asked.length, { timeout: 20_000 }).toBe(2);
    house.model.goOn();
    await page.reload();
    await expect.poll(() => spoken(page), { timeout: 20_000 }).toEqual(whole);
  });
});
