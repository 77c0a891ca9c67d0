/** A gateway that others can reach, and the owner's commands beside it. */
import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { runMain } from "../support/cli.js";
import { says } from "../support/fake-openai.js";
import { openGatewayApp } from "../support/gateway-app.js";

const config = { gateway: { host: "0.0.0.0" } };

describe("a gateway that others can reach", () => {
  it("wants to see its token from everybody", async () => {
    const { url, home, post } = await openGatewayApp({ config, answers: [says("hello")] });
    expect((await fetch(`${url}/status`)).status).toBe(401);
    expect((await fetch(`${url}/metrics`)).status).toBe(401);
    expect((await fetch(`${url}/readyz`)).status).toBe(200);
    expect((await post("/chat", { message: "hi" })).status).toBe(401);
    const token = readFileSync(join(home, "state", "http-token"), "utf8").trim();
    const headers = { authorization: `Bearer ${token}` };
    expect((await fetch(`${url}/metrics`, { headers })).status).toBe(200);
    expect((await post("/chat", { message: "hi" }, { headers })).status).toBe(200);
  });

  it("lets the owner's commands in without being told the token", async () => {
    const { home, warnings } = await openGatewayApp({ config, answers: [says("through the gateway")] });
    const status = await runMain(["status", "--json", "--home", home]);
    expect(JSON.parse(status.out)).toMatchObject({ ready: true });
    expect(status.out).not.toContain("key");
    const chat = await runMain(["chat", "-m", "hi", "--home", home]);
    expect([chat.code, chat.out.trim()]).toEqual([0, "through the gateway"]);
    expect(statSync(join(home, "state", "gateway.json")).mode & 0o777).toBe(0o600);
    expect(warnings).toEqual([]);
  });
});
