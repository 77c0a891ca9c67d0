/** Tokens and the cookies they buy. */
import { string, assert, property } from "fast-check";
import { describe, expect, it } from "vitest";
import { createAuth } from "../../src/http/auth.js";

const day = 24 * 3_600_000;
const token = "correct-horse-battery-staple";

function open(tokens: readonly string[] = [token]) {
  const time = { now: Date.UTC(2026, 0, 1) };
  const auth = createAuth({ tokens, now: () => time.now });
  const cookie = (isSecure = false): string => auth.cookie(isSecure).split(";")[0] ?? "";
  return { auth, time, cookie };
}

describe("a token", () => {
  it("is known, and nothing else is", () => {
    const { auth } = open();
    expect(auth.isToken(token)).toBe(true);
    assert(
      property(string(), (text) => {
        expect(auth.isToken(text)).toBe(text === token);
      }),
    );
    expect(auth.entry({ authorization: `Bearer ${token}` })).toBe("token");
    expect(auth.entry({ authorization: token })).toBeUndefined();
  });

  it("that is wrong is not made good by a cookie that is right", () => {
    const { auth, cookie } = open();
    expect(auth.entry({ cookie: cookie() })).toBe("cookie");
    expect(auth.entry({ cookie: cookie(), authorization: "Bearer wrong" })).toBeUndefined();
  });

  it("is not asked for where there is none", () => {
    expect(open([]).auth.entry({})).toBe("open");
  });
});

describe("a cookie", () => {
  it("lasts for a month", () => {
    const { auth, time, cookie } = open();
    const bought = cookie();
    time.now += 29 * day;
    expect(auth.entry({ cookie: bought })).toBe("cookie");
    time.now += 2 * day;
    expect(auth.entry({ cookie: bought })).toBeUndefined();
  });

  it("outlives a restart, and dies with its token", () => {
    const bought = open().cookie();
    expect(open().auth.entry({ cookie: bought })).toBe("cookie");
    expect(open([token, "one more for commands"]).auth.entry({ cookie: bought })).toBe("cookie");
    expect(open(["a-new-token-000000"]).auth.entry({ cookie: bought })).toBeUndefined();
  });

  it("cannot be changed anywhere", () => {
    const { auth, cookie } = open();
    const bought = cookie();
    for (let at = "nanogate=".length; at < bought.length; at++) {
      const other = bought[at] === "1" ? "2" : "1";
      const changed = bought.slice(0, at) + other + bought.slice(at + 1);
      // The last character of a seal has bits that stand for nothing; it is compared all the same.
      expect(auth.entry({ cookie: changed }), changed).toBeUndefined();
    }
  });

  it("is another one each time", () => {
    const { cookie } = open();
    expect(cookie()).not.toBe(cookie());
  });
});
