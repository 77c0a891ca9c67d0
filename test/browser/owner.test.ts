/** What the owner of a gateway does on its page: look after messages, memory and jobs. */
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { describe, expect, it } from "vitest";
import { openHouse, openPage, say, spoken } from "./support/house.js";

const go = (page: Page, name: string): Promise<void> =>
  page.getByRole("navigation").getByRole("link", { name }).click();

describe("a message that failed", () => {
  it("is listed with its reason, and answered when it is tried again", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ refuse: "this model is not for you" }, { say: ["Now it works."] });
    await say(page, "please");
    await expect.poll(() => page.locator(".turn-end.failed").textContent()).toContain("Not answered");
    await go(page, "Messages");
    await page.getByRole("button", { name: "Open and failed" }).click();
    await page.getByRole("link", { name: /please/ }).click();
    await expect.poll(() => page.locator(".trace-reason").textContent()).toContain("Reason");
    await page.getByRole("button", { name: "Retry" }).click();
    await expect.poll(() => page.locator(".reader-title .badge").textContent()).toBe("answered");
    await go(page, "Chat");
    await expect.poll(async () => (await spoken(page)).at(-1)).toBe("Now it works.");
  });
});

describe("memory", () => {
  it("shows what was changed, and takes it back", async () => {
    let file = "";
    const house = await openHouse({
      prepare: async (workspace) => {
        mkdirSync(join(workspace, "memory"), { recursive: true });
        file = join(workspace, "memory", "MEMORY.md");
        writeFileSync(file, "# Memory\n\n- Anna likes tea\n");
      },
    });
    const page = await openPage(house);
    await go(page, "Memory");
    await expect.poll(() => page.locator(".sheet-of-paper").textContent()).toContain("Anna likes tea");
    appendFileSync(file, "- and coffee\n");
    await page.reload();
    await page.getByRole("button", { name: /^Changes \(\d/ }).click();
    await expect.poll(() => page.locator(".diff-line.added").allTextContents()).toContain("+added: - and coffee");
    await page.getByRole("button", { name: "Undo this change" }).click();
    await page.getByRole("button", { name: "Undo it?" }).click();
    await expect.poll(() => readFileSync(file, "utf8")).toBe("# Memory\n\n- Anna likes tea\n");
  });
});

describe("a job", () => {
  it("is shown with its next runs, paused, run and removed", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    const input = { action: "add", message: "water the plants", every_seconds: 7200 };
    house.model.script({ call: { name: "cron", input } }, { say: ["I will."] }, { say: ["The plants are watered."] });
    await say(page, "remind me of the plants");
    await expect.poll(() => spoken(page)).toEqual(["remind me of the plants", "I will."]);
    await go(page, "Schedule");
    const job = page.locator(".job", { hasText: "water the plants" });
    await job.waitFor();
    await expect.poll(() => page.locator(".next-line i").count()).toBeGreaterThan(5);
    await job.getByRole("button", { name: "Run now" }).click();
    await expect.poll(() => page.locator(".occurrences .badge").allTextContents()).toContain("ran");
    await job.getByRole("button", { name: "Pause" }).click();
    await expect.poll(() => job.locator(".badge").textContent()).toBe("paused");
    await job.getByRole("button", { name: "Resume" }).click();
    await expect.poll(() => job.locator(".badge").textContent()).toBe("on");
    await job.getByRole("button", { name: "Remove" }).click();
    await job.getByRole("button", { name: "Remove it?" }).click();
    await expect.poll(() => job.count()).toBe(0);
  });
});
