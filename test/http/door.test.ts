/** What holds for every path of the HTTP door. */
import { describe, expect, it } from "vitest";
import { openDoor } from "../support/door.js";

describe("a request that is too large", () => {
  it.each(["/api/turns", "/chat", "/v1/chat/completions"])("is refused at %s before it is read", async (path) => {
    const { post, house } = await openDoor();
    const refused = await post(path, { session: "fake:ann", text: "x".repeat(65 * 1024 * 1024) });
    expect({ code: refused.status, body: await refused.json() }).toEqual({
      code: 413,
      body: { error: "A request may have 64 MB at most." },
    });
    expect(await house.outcomes()).toEqual([]);
  });
});
