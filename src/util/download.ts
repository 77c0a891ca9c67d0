/** Fetches a file through an agent of Node's http modules, which the built-in fetch cannot use. */
import { type Agent, get, type IncomingMessage } from "node:http";
import { get as getSecurely } from "node:https";

export type DownloadOptions = {
  readonly agent: Agent;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

/** The answer as it comes in. Errors do not name the address, which may hold a secret. Ends when nothing comes for a while. */
export function openDownload(
  url: URL,
  { agent, timeoutMs, signal }: DownloadOptions,
): Promise<AsyncIterable<Uint8Array>> {
  return new Promise((resolve, reject) => {
    const ask = url.protocol === "https:" ? getSecurely : get;
    const request = ask(url, { agent, signal, timeout: timeoutMs }, (answer: IncomingMessage) => {
      if (answer.statusCode === 200) return resolve(answer as AsyncIterable<Uint8Array>);
      answer.resume();
      reject(new Error(`the server answered ${answer.statusCode}`));
    });
    request.on("timeout", () => request.destroy(new Error(`nothing came for ${timeoutMs / 1000} s`)));
    request.on("error", reject);
  });
}
