/** The bundled program on Discord: it runs with stand-ins for parts of discord.js that the sources do not have. */
import { beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { startFakeDiscord } from "../lab/fake-discord.js";
import { buildProgram, openHome, runProgram } from "../support/cli.js";
import { demo, openGateway } from "../support/gateway-process.js";

beforeAll(buildProgram);

describe("nanogate gateway on Discord", () => {
  it("answers before and after each break of its connection, and leaves nothing behind", async () => {
    const fake = await startFakeDiscord();
    onTestFinished(() => fake.close());
    const ann = fake.person("ann");
    const dm = fake.addPrivateChat(ann);
    const { token, apiRoot } = fake;
    const gateway = await openGateway({ discord: { enabled: true, token, apiRoot, allowFrom: [ann.id] } });
    const breaks = [() => {}, () => fake.dropGateway(), () => fake.dropGateway(4000), () => fake.requestReconnect()];
    for (const [at, cut] of breaks.entries()) {
      const logins = fake.logins.length;
      cut();
      if (at > 0) await fake.until(() => fake.logins.length > logins, "the way back");
      fake.say(dm, ann, `what is ${at}*7+1`);
      await fake.until(() => fake.posts.length > at, "the answer");
    }
    const answers = fake.standing().map((text) => /\d+(?=\D*$)/.exec(text)?.[0]);
    expect(answers).toEqual(["1", "8", "15", "22"]);
    expect([fake.logins, fake.violations]).toEqual([["identify", "resume", "resume", "resume"], []]);
    expect((await gateway.stop()).code).toBe(0);
    await fake.until(() => fake.connections() === 0, "the end of all connections");
  });

  it("that does not let it in says why, and so does a machine without a sandbox", async () => {
    const fake = await startFakeDiscord();
    onTestFinished(() => fake.close());
    const discord = { enabled: true, token: "wrong", apiRoot: fake.apiRoot, allowFrom: ["1"] };
    const home = openHome({ agents: demo, channels: { discord }, gateway: { port: 0 } });
    const wanted = ["Discord refused the bot token.", "Commands run without a sandbox"];
    let heard = "";
    const isAllHeard = (): boolean => wanted.every((words) => heard.includes(words));
    const { code } = await runProgram(["gateway"], {
      home,
      env: { PATH: home },
      onStart(child) {
        onTestFinished(() => void child.kill("SIGKILL"));
        child.stderr?.on("data", (text: string) => {
          if (isAllHeard()) return;
          heard += text;
          if (isAllHeard()) child.kill("SIGTERM");
        });
      },
    });
    expect(code).toBe(0);
  });
});
