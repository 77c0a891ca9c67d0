/** Every view, at a desk, on a phone, and without a mouse. */
import { describe, expect, it } from "vitest";
import type { Page } from "playwright-core";
import { openHouse, openPage, say, spoken } from "./support/house.js";

const views = ["Chat", "Conversations", "Messages", "Memory", "Schedule", "Health"];

/** Buttons, links and fields that nobody can name. */
const nameless = async (page: Page): Promise<string[]> =>
  (await page.locator("body").ariaSnapshot())
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => /^- (?:button|link|textbox|searchbox|combobox|img)(?:$|:| \[)/.test(line));

describe("on a phone", () => {
  it("every view fits, and can be reached", async () => {
    const house = await openHouse();
    const page = await openPage(house, { viewport: { width: 360, height: 740 }, hasTouch: true, isMobile: true });
    await say(page, "hello from a phone");
    await expect.poll(() => spoken(page)).toEqual(["hello from a phone", "answer 1"]);
    for (const name of views) {
      await page.getByRole("navigation").getByRole("link", { name }).tap();
      await expect.poll(() => page.getByRole("main", { name }).count()).toBe(1);
      await expect.poll(() => page.locator(".skeleton").count()).toBe(0);
      const width = await page.evaluate(() => document.documentElement.scrollWidth);
      expect(width, name).toBeLessThanOrEqual(360);
      expect(await nameless(page), name).toEqual([]);
    }
  });

  it("one conversation is seen at a time, and the others are one tap away", async () => {
    const house = await openHouse();
    const page = await openPage(house, { viewport: { width: 390, height: 844 }, hasTouch: true });
    await say(page, "the first");
    await expect.poll(() => spoken(page)).toEqual(["the first", "answer 1"]);
    await page.locator(".chat-tabs").getByRole("button", { name: "New chat" }).tap();
    await expect.poll(() => page.locator(".column:visible").count()).toBe(1);
    await page.locator(".chat-tabs").getByRole("button", { name: "the first" }).tap();
    await expect.poll(() => page.locator(".column:visible .bubble").textContent()).toBe("the first");
  });
});

describe("without a mouse", () => {
  it("one can talk, choose a command, and look at what became of it", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    const focused = (): Promise<string> =>
      page.evaluate(() => document.activeElement?.getAttribute("aria-label") ?? "");
    await expect.poll(focused).toBe("Message to New chat");
    await page.keyboard.type("by keyboard");
    await page.keyboard.press("Enter");
    await expect.poll(() => spoken(page)).toEqual(["by keyboard", "answer 1"]);

    await page.keyboard.type("/st");
    await page.keyboard.press("ArrowDown");
    await expect.poll(() => page.getByRole("option", { selected: true }).textContent()).toContain("/status");
    await page.keyboard.press("Enter");
    await expect.poll(async () => (await spoken(page)).at(-1)).toContain("Session: 2 messages");

    // Back through the menu, up to the way past it.
    const focusedText = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent ?? "");
    const back = async (text: string): Promise<void> => {
      for (let at = 0; at < 40 && !(await focusedText()).startsWith(text); at++) await page.keyboard.press("Shift+Tab");
      expect(await focusedText()).toContain(text);
    };
    await back("Messages");
    await back("Skip to content");
    for (let at = 0; at < 3; at++) await page.keyboard.press("Tab");
    expect(await focusedText()).toContain("Messages");
    await page.keyboard.press("Enter");
    await page.getByRole("main", { name: "Messages" }).waitFor();
    const first = page.getByRole("link", { name: /by keyboard/ });
    await first.waitFor();
    for (let at = 0; at < 40 && !(await first.evaluate((link) => link === document.activeElement)); at++) {
      await page.keyboard.press("Tab");
    }
    await page.keyboard.press("Enter");
    await expect
      .poll(() => page.locator(".stage.done").allTextContents())
      .toEqual(["received", "stored", "model", "saved", "sent"]);
    await expect.poll(() => page.locator(".timeline-event").count()).toBeGreaterThan(5);
  });
});

describe("every view", () => {
  it("names everything one can press or fill", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    await say(page, "hello");
    await expect.poll(() => spoken(page)).toEqual(["hello", "answer 1"]);
    for (const name of views) {
      await page.getByRole("navigation").getByRole("link", { name }).click();
      await page.getByRole("main", { name }).waitFor();
      await expect.poll(() => page.getByRole("heading", { level: 1 }).count(), { message: name }).toBe(1);
      expect(await nameless(page), name).toEqual([]);
    }
  });

  it("is there in light and dark, and remembers which", async () => {
    const house = await openHouse();
    const page = await openPage(house, { colorScheme: "dark" });
    const ground = (): Promise<string> => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    const dark = await ground();
    await page.getByRole("button", { name: /^Colours/ }).click();
    await expect.poll(ground).not.toBe(dark);
    const light = await ground();
    await page.reload();
    await expect.poll(ground).toBe(light);
  });

  it("shows what is known of conversations, tokens and channels", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    await say(page, "hello");
    await expect.poll(() => spoken(page)).toEqual(["hello", "answer 1"]);
    const go = (name: string) => page.getByRole("navigation").getByRole("link", { name }).click();
    await go("Conversations");
    await page.locator(".finder-item").first().click();
    await expect.poll(() => page.locator(".reader-title").textContent()).toMatch(/2 rows\s*Whole/);
    await page.getByRole("button", { name: "Raw lines" }).click();
    await expect
      .poll(() => page.locator(".raw-row code").first().textContent())
      .toContain('{"role": "user", "content": "hello"');
    await page.getByRole("searchbox").fill("nothing of this kind");
    await page.getByText("Nothing found").waitFor();
    await go("Health");
    await expect.poll(() => page.locator(".figures").textContent()).toContain("Answered1");
    await expect.poll(() => page.locator(".chart canvas").count()).toBeGreaterThanOrEqual(3);
    await expect.poll(() => page.locator("figcaption").allTextContents()).toContain("Per day 120 tokens in 1 turn");
  });
});

describe("the life of a message on a phone", () => {
  it("begins with all of a short message", async () => {
    const house = await openHouse();
    const page = await openPage(house, { viewport: { width: 375, height: 500 } });
    await say(page, "hello");
    await expect.poll(() => spoken(page)).toEqual(["hello", "answer 1"]);
    await page.goto(`${house.url}/#/messages`);
    await page.locator(".finder-item").click();
    const hidden = page.locator(".trace-text").evaluate((text) => text.scrollHeight - text.clientHeight);
    expect(await hidden).toBe(0);
  });
});

describe("the life of a message in a window of any width", () => {
  /** Words that leave the view, stand in a column of a few letters, or run into those beside them. */
  const squeezed = (page: Page): Promise<string[]> =>
    page.getByRole("main").evaluate((main) => {
      const edge = main.getBoundingClientRect();
      const blockOf = (element: Element): Element =>
        getComputedStyle(element).display.startsWith("inline") ? blockOf(element.parentElement ?? main) : element;
      const texts = document.createTreeWalker(main, NodeFilter.SHOW_TEXT);
      const range = document.createRange();
      const wrong: string[] = [];
      let last: { readonly block: Element; readonly box: DOMRect } | undefined;
      while (texts.nextNode()) {
        const text = texts.currentNode.textContent ?? "";
        const block = blockOf(texts.currentNode.parentElement ?? main);
        range.selectNodeContents(texts.currentNode);
        const box = range.getBoundingClientRect();
        // What ends in an ellipsis is cut on purpose.
        if (text.trim() === "" || box.width === 0 || getComputedStyle(block).textOverflow === "ellipsis") continue;
        const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
        const isOut = box.left < edge.left || box.right > edge.right;
        const beside = last?.block !== block && last?.box.top === box.top ? last.box : undefined;
        const isTouched = beside && beside.left <= box.left && beside.right + 2 > box.left;
        if (isOut || isTouched || lines > 1 + text.length / 12) wrong.push(text);
        last = { block, box };
      }
      return wrong;
    });

  it("can be read", async () => {
    const house = await openHouse();
    house.model.script({ call: { name: "list_dir", input: { path: "." } } }, { say: ["done"] });
    const id = "ae1a9bd5-95bb-40da-abf4-bed4c5b84c95";
    const body = JSON.stringify({ session: "cli:direct", text: "list files", id });
    await (await fetch(`${house.url}/api/turns`, { method: "POST", body })).text();
    const page = await openPage(house);
    await page.goto(`${house.url}/#/messages`);
    await page.locator(".finder-item").click();
    await expect.poll(() => page.locator(".timeline").textContent()).toMatch(new RegExp(`${id}.*finished`));
    for (const width of [360, 760, 761, 800, 1000, 1100, 1280, 1600]) {
      await page.setViewportSize({ width, height: 700 });
      expect(await squeezed(page), `${width} wide`).toEqual([]);
    }
  });
});

describe("a gateway with a token", () => {
  it("asks for it once, and says when it is the wrong one", async () => {
    const house = await openHouse({ gateway: { token: "the-right-token-of-this-house" } });
    const page = await openPage(house);
    await page.getByText("state/http-token").waitFor();
    await page.keyboard.type("a-wrong-token-altogether");
    await page.keyboard.press("Enter");
    await expect.poll(() => page.getByRole("alert").textContent()).toContain("not the token");
    await page.getByLabel("Access token").fill("the-right-token-of-this-house");
    await page.keyboard.press("Enter");
    await say(page, "hello");
    await expect.poll(() => spoken(page)).toEqual(["hello", "answer 1"]);
    await page.reload();
    await expect.poll(() => spoken(page)).toEqual(["hello", "answer 1"]);
  });
});
