/** A conversation of a hundred thousand rows is read like one of ten. */
import { describe, expect, it } from "vitest";
import { openSessions } from "../../src/session/open.js";
import { openHouse, openPage } from "./support/house.js";

const rows = 100_000;

async function writeLong(workspace: string): Promise<void> {
  const sessions = openSessions({ workspace });
  const session = await sessions.getOrCreate("telegram:-100200");
  for (let at = 0; at < rows; at++) {
    const words = Array.from({ length: 3 + ((at * 7) % 60) }, () => "word").join(" ");
    session.addMessage(at % 2 === 0 ? "user" : "assistant", `Row ${at}. ${words}`);
  }
  await sessions.save(session);
  await sessions.close();
}

describe("a conversation of 100,000 rows", () => {
  it("is read from its end, to its beginning and anywhere between", async () => {
    const house = await openHouse({ prepare: writeLong });
    const page = await openPage(house);
    await page.goto(`${house.url}/#/conversations/telegram%3A-100200`);
    const list = page.locator(".virtual");
    const shows = (row: number) => expect.poll(() => list.textContent(), { timeout: 10_000 }).toContain(`Row ${row}. `);
    const drawn = (): Promise<number> => page.locator(".virtual-row").count();
    await shows(rows - 1);
    expect(await page.getByText("100,000 rows").count()).toBe(1);

    await list.focus();
    await page.keyboard.press("Home");
    await shows(0);
    expect(await drawn()).toBeLessThan(80);

    await list.evaluate((element) => void (element.scrollTop = element.scrollHeight / 2));
    await expect.poll(() => list.textContent(), { timeout: 10_000 }).toMatch(/Row [3-6]\d{4}\. /);

    await page.keyboard.press("End");
    await shows(rows - 1);
    expect(await drawn()).toBeLessThan(80);
  });

  it("stays in its place while rows are loaded above", async () => {
    const house = await openHouse({ prepare: writeLong });
    const page = await openPage(house);
    await page.goto(`${house.url}/#/conversations/telegram%3A-100200`);
    const list = page.locator(".virtual");
    await expect.poll(() => list.textContent()).toContain(`Row ${rows - 1}. `);
    const box = (await list.boundingBox()) ?? { x: 0, y: 0, width: 0, height: 0 };
    await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
    // What is on the screen, by number and place.
    const seen = (): Promise<number[]> =>
      list.evaluate((element) => {
        const { top, bottom } = element.getBoundingClientRect();
        return [...element.querySelectorAll(".virtual-row")]
          .filter((row) => row.getBoundingClientRect().bottom > top && row.getBoundingClientRect().top < bottom)
          .map((row) => Number(/Row (\d+)\./.exec(row.textContent ?? "")?.[1] ?? -1));
      });
    /** Once the movement has come to rest and everything on the screen is there. */
    const settled = async (): Promise<number[]> => {
      let last: number[] = [];
      await expect
        .poll(async () => {
          const [before, now] = [last, await seen()];
          last = now;
          return now.length > 0 && now.every((row) => row >= 0) && now.join() === before.join();
        })
        .toBe(true);
      return last;
    };
    let before = (await settled())[0] ?? 0;
    for (let turn = 0; turn < 25; turn++) {
      await page.mouse.wheel(0, -900);
      await expect.poll(async () => (await seen())[0]).not.toBe(before);
      const now = await settled();
      // In order, without a gap, and further up than before, but never by leaps.
      expect(now).toEqual(now.map((_, at) => (now[0] ?? 0) + at));
      expect(now[0]).toBeLessThan(before);
      expect(now[0]).toBeGreaterThan(before - 30);
      before = now[0] ?? 0;
    }
  });
});
