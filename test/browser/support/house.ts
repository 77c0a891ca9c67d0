/** A real gateway with a paced model, and a browser that looks at its page. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { join } from "node:path";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { expect, onTestFinished } from "vitest";
import { openHome, program, servedBy } from "../../support/cli.js";
import { openPacedModel } from "./paced-model.js";

const browsers = [
  process.env["CHROMIUM"] ?? "",
  "/usr/bin/chromium",
  "/usr/bin/chromium-browser",
  "/usr/bin/google-chrome",
];

export type HouseOptions = {
  /** Settings of the gateway besides its port. */
  readonly gateway?: object;
  /** Called before the gateway starts. */
  readonly prepare?: (workspace: string) => Promise<void>;
};

export async function openHouse({ gateway = {}, prepare }: HouseOptions = {}) {
  const model = await openPacedModel();
  const port = await freePort();
  const home = openHome({ ...servedBy(model.url), gateway: { port, graceSeconds: 0, ...gateway } });
  await prepare?.(join(home, "workspace"));
  const url = `http://127.0.0.1:${port}`;
  let child: ChildProcess | undefined;

  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [program, "gateway", "--home", home], {
      env: { PATH: process.env["PATH"], HOME: home, TZ: "UTC" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    let err = "";
    child.stderr?.on("data", (text: Buffer) => void (err += text.toString()));
    await expect.poll(() => err, { timeout: 30_000 }).toContain('"msg":"ready"');
  };
  /** Kills it as a power cut would. */
  const kill = async (): Promise<void> => {
    const gone = new Promise((resolve) => child?.once("exit", resolve));
    child?.kill("SIGKILL");
    await gone;
  };
  onTestFinished(() => void child?.kill("SIGKILL"));
  await start();
  return { model, url, home, start, kill };
}

export type House = Awaited<ReturnType<typeof openHouse>>;

/** A page of the house. Errors on it, and anything it loads from elsewhere, fail the test. */
export async function openPage(house: House, options: BrowserContextOptions = {}): Promise<Page> {
  const browser = await launch();
  const context = await browser.newContext({ viewport: { width: 1280, height: 800 }, ...options });
  const page = await context.newPage();
  page.setDefaultTimeout(15_000);
  const complaints: string[] = [];
  page.on("pageerror", (error) => void complaints.push(String(error)));
  page.on("console", (message) => {
    // A gateway that is away is part of some tests. Asking for what is not there is a mistake.
    const isNetwork = /Failed to load resource(?!.*404)|ERR_|net::/.test(message.text());
    if (message.type() === "error" && !isNetwork) complaints.push(message.text());
  });
  page.on("request", (request) => {
    if (!/^(?:data|blob):/.test(request.url()) && !request.url().startsWith(house.url)) complaints.push(request.url());
  });
  onTestFinished(async () => {
    await browser.close();
    expect(complaints).toEqual([]);
  });
  await page.goto(house.url);
  return page;
}

async function launch(): Promise<Browser> {
  const executablePath = browsers.find((path) => path !== "" && existsSync(path));
  if (executablePath === undefined) throw new Error("There is no Chromium here: apt-get install chromium");
  return chromium.launch({ executablePath, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
}

async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Writes into the conversation that is looked at, and sends it. */
export async function say(page: Page, text: string): Promise<void> {
  await page.getByRole("textbox", { name: /^Message to/ }).fill(text);
  await page.keyboard.press("Enter");
}

/** What stands in the conversation: questions and answers, in order. */
export const spoken = (page: Page): Promise<string[]> =>
  page.locator(".bubble, .answered .markdown").evaluateAll((all) => all.map((one) => (one.textContent ?? "").trim()));
