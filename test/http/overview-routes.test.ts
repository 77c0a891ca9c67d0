/** How the gateway is, over HTTP. */
import { describe, expect, it } from "vitest";
import type { Overview } from "../../src/http/api.js";
import { checkedClient } from "../support/checked-client.js";
import { says } from "../support/fake-openai.js";
import { openGatewayApp } from "../support/gateway-app.js";

describe("GET /api/overview", () => {
  it("tells version, model, channels, lanes and what is open", async () => {
    const { url, post } = await openGatewayApp({ answers: [says("ok")] });
    const client = await checkedClient(url);
    await (await post("/chat", { message: "hi" })).text();
    const look = (): Promise<Overview> => client.get("GET /api/overview");
    await expect.poll(async () => (await look()).ledger.outcomes).toEqual({ answered: 1 });
    const found = await look();
    expect(found).toMatchObject({ ready: true, channels: [] });
    expect(found.model).toContain("test-model");
    expect(found.residentBytes).toBeGreaterThan(1e6);
  });
});

describe("GET /api/pulse", () => {
  it("tells the same at once, and again and again", async () => {
    const { url } = await openGatewayApp();
    const client = await checkedClient(url);
    const beats: Overview[] = await client.get("GET /api/pulse", {}, { events: 2 });
    expect(beats).toHaveLength(2);
    expect(beats[1]?.uptimeSeconds).toBeGreaterThanOrEqual(beats[0]?.uptimeSeconds ?? 0);
  });
});
