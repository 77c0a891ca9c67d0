/** Talking to the agent in a real browser, through a real gateway. */
import { describe, expect, it } from "vitest";
import { openHouse, openPage, say, spoken } from "./support/house.js";

describe("a conversation", () => {
  it("shows an answer while it is written, and keeps it", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["The first half…", " and the **second** half."] });
    await say(page, "tell me everything");
    await expect.poll(() => spoken(page)).toEqual(["tell me everything", "The first half…"]);
    expect(await page.getByRole("button", { name: "Stop" }).isVisible()).toBe(true);
    house.model.goOn();
    const whole = ["tell me everything", "The first half… and the second half."];
    await expect.poll(() => spoken(page)).toEqual(whole);
    await expect.poll(() => page.locator(".markdown strong").textContent()).toBe("second");
    await expect.poll(() => page.getByRole("button", { name: "Stop" }).count()).toBe(0);
    await page.reload();
    await expect.poll(() => spoken(page)).toEqual(whole);
  });

  it("shows tools as steps that unfold", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ call: { name: "list_dir", input: { path: "." } } }, { say: ["That is all there is."] });
    await say(page, "what is here?");
    await expect.poll(() => spoken(page)).toEqual(["what is here?", "That is all there is."]);
    const step = page.locator(".step", { hasText: "list_dir" });
    await expect.poll(() => step.count()).toBe(1);
    expect(await step.locator(".step-text").count()).toBe(0);
    await step.locator("summary").click();
    await expect.poll(() => step.locator(".step-text").allTextContents()).toHaveLength(2);
    expect(await step.locator(".step-text").last().textContent()).toContain("memory");
  });

  it("is stopped by its button, and goes on", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["This goes on and on…", " never said"] }, { say: ["Fine."] });
    await say(page, "talk");
    await expect.poll(() => spoken(page)).toEqual(["talk", "This goes on and on…"]);
    await page.getByRole("button", { name: "Stop" }).click();
    await expect.poll(() => page.locator(".turn-end").textContent()).toBe("Stopped.");
    await say(page, "enough?");
    await expect.poll(() => spoken(page)).toEqual(["talk", "This goes on and on…", "enough?", "Fine."]);
  });

  it("copies code", async () => {
    const house = await openHouse();
    const page = await openPage(house, { permissions: ["clipboard-read", "clipboard-write"] });
    house.model.script({ say: ["Try this:\n\n```sh\nls -la\ndu -sh .\n```\n"] });
    await say(page, "how?");
    await page.getByRole("button", { name: "Copy" }).click();
    await expect.poll(() => page.evaluate(() => navigator.clipboard.readText())).toBe("ls -la\ndu -sh .");
    expect(await page.locator(".code-head span").textContent()).toBe("sh");
  });

  it("does nothing an answer wants it to do", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    const evil =
      'x <img src=x onerror="window.pwned=1"> <script>window.pwned=2</script> ![p](http://elsewhere.example/p.png) [a](javascript:window.pwned=3) <style>*{display:none}</style>';
    house.model.script({ say: [evil] });
    await say(page, "be evil");
    await expect.poll(() => spoken(page)).toHaveLength(2);
    expect(await page.locator(".markdown").locator("img, script, style, [onerror], a[href^=javascript]").count()).toBe(
      0,
    );
    // What leads nowhere does not look as if it did.
    expect(await page.locator(".markdown a").allTextContents()).toEqual(["p ↗"]);
    expect(await page.evaluate(() => (globalThis as { pwned?: number }).pwned)).toBeUndefined();
  });

  it("takes pictures from the clipboard", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    await page.getByRole("textbox", { name: /^Message to/ }).focus();
    await page.evaluate(async () => {
      const canvas = Object.assign(document.createElement("canvas"), { width: 8, height: 8 });
      const blob = await new Promise<Blob | null>((resolve) => canvas.toBlob(resolve));
      const data = new DataTransfer();
      data.items.add(new File([blob ?? ""], "a.png", { type: "image/png" }));
      document.activeElement?.dispatchEvent(
        new ClipboardEvent("paste", { clipboardData: data, bubbles: true, cancelable: true }),
      );
    });
    await expect.poll(() => page.locator(".composer-pictures img").count()).toBe(1);
    await say(page, "what is this?");
    await expect.poll(() => spoken(page)).toEqual(["what is this?", "answer 1"]);
    const [first] = house.model.asked;
    expect(JSON.stringify(first?.messages.at(-1)?.content)).toContain("data:image/png;base64,");
  });

  it("has an address that leads to it", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["Here."] }, { say: ["There."] });
    await say(page, "where am I");
    await expect.poll(() => spoken(page)).toEqual(["where am I", "Here."]);
    await page.goto(`${house.url}/#/chat/web:elsewhere`);
    await expect.poll(() => spoken(page)).toEqual([]);
    await say(page, "and now");
    await expect.poll(() => spoken(page)).toEqual(["and now", "There."]);
    await page.reload();
    await expect.poll(() => spoken(page)).toEqual(["and now", "There."]);
  });

  it("runs beside others", async () => {
    const house = await openHouse();
    const page = await openPage(house);
    house.model.script({ say: ["Slow…", " but sure."] }, { say: ["Quick."] });
    await say(page, "left");
    await expect.poll(() => spoken(page)).toEqual(["left", "Slow…"]);
    await page.getByRole("button", { name: "New chat beside this" }).click();
    const right = page.locator(".column").nth(1);
    await right.getByRole("textbox").fill("right");
    await page.keyboard.press("Enter");
    await expect.poll(() => spoken(page)).toEqual(["left", "Slow…", "right", "Quick."]);
    house.model.goOn();
    await expect.poll(() => spoken(page)).toEqual(["left", "Slow… but sure.", "right", "Quick."]);
  });
});
