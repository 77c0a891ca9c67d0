/** The HTTP door of the program as it is shipped: one bundle, in which our own code sees light stand-ins of web classes. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import OpenAI from "openai";
import { beforeAll, describe, expect, it } from "vitest";
import { buildProgram } from "../support/cli.js";
import { eventsOf } from "../support/door.js";
import { openGateway } from "../support/gateway-process.js";

beforeAll(buildProgram);

describe("nanogate gateway", () => {
  it("answers editors, clients of OpenAI and browsers", async () => {
    const gateway = await openGateway({});
    const { port } = JSON.parse(readFileSync(join(gateway.home, "state", "gateway.json"), "utf8")) as { port: number };
    const url = `http://127.0.0.1:${port}`;
    const post = (path: string, body: object): Promise<Response> =>
      fetch(`${url}${path}`, { method: "POST", body: JSON.stringify(body) });

    const chat = await post("/chat", { message: "what is 17*23", active_file: "a.md" });
    expect(await chat.json()).toMatchObject({ response: expect.stringContaining("391") });
    const events = [];
    for await (const { type } of eventsOf(await post("/chat/stream", { message: "what is 6*7" }))) events.push(type);
    expect(events).toEqual(expect.arrayContaining(["delta", "response", "done"]));

    const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: "none" });
    let text = "";
    const messages = [{ role: "user", content: "what is 6*7" } as const];
    for await (const { choices } of await client.chat.completions.create({
      model: "nanogate",
      messages,
      stream: true,
    })) {
      text += choices[0]?.delta.content ?? "";
    }
    expect(text).toContain("42");

    const page = await fetch(`${url}/`);
    const [, script = ""] = /src="\.(\/assets\/[^"]+\.js)"/.exec(await page.text()) ?? [];
    expect((await fetch(`${url}${script}`)).headers.get("content-type")).toContain("text/javascript");
    for (const path of [
      "openapi.json",
      "api/overview",
      "api/sessions/file%3Aa.md/rows",
      "api/sessions/file%3Aa.md/export",
    ]) {
      expect([path, (await fetch(`${url}/${path}`)).status]).toEqual([path, 200]);
    }
    expect((await gateway.stop()).code).toBe(0);
  });
});
