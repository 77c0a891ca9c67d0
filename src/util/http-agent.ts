/** Connections for libraries that take an agent of Node's http modules: kept for a moment, through a proxy if there is one. */
import { Agent, type AgentOptions, request } from "node:http";
import { Agent as SecureAgent } from "node:https";
import type { Socket } from "node:net";
import { connect as secure } from "node:tls";
import { UserError } from "./errors.js";

/**
 * Servers close a connection that is idle, Node's after five seconds. One that is used in that moment breaks, and nobody
 * knows whether the request arrived; so ours is closed before.
 */
const idleMs = 4000;

/** `proxy` may be empty. `setting` is its path in the configuration, for the error if it is no such address. */
export function createAgent(target: URL, proxy: string, setting: string): Agent {
  const isSecure = target.protocol === "https:";
  const options = { keepAlive: true, timeout: idleMs };
  const agent: Agent = isSecure ? new SecureAgent(options) : new Agent(options);
  if (proxy === "") return agent;
  const address = URL.canParse(proxy) ? new URL(proxy) : undefined;
  if (address?.protocol !== "http:") {
    throw new UserError(
      `${setting}: only HTTP proxies are supported, and this is none.`,
      'Write it as "http://host:port" or "http://user:password@host:port".',
    );
  }
  const createConnection = (
    options: AgentOptions & { readonly host?: string; readonly port?: number | string },
    done: (error: Error | null, socket?: Socket) => void,
  ): void => {
    const place = `${options.host}:${options.port ?? (isSecure ? 443 : 80)}`;
    tunnel(address, place).then(
      (socket) => done(null, isSecure ? secure({ ...options, socket, servername: options.host ?? "" }) : socket),
      (error: unknown) => done(error instanceof Error ? error : new Error(String(error))),
    );
  };
  return Object.assign(agent, { createConnection });
}

/** Nothing has been said to the target when this fails: the code tells it from a connection that broke later. */
class ProxyError extends Error {
  override readonly name = "ProxyError";
  readonly code = "EPROXY";
}

function tunnel(proxy: URL, place: string): Promise<Socket> {
  const { username, password } = proxy;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString("base64");
  return new Promise((resolve, reject) => {
    const asked = request({
      host: proxy.hostname,
      port: proxy.port || 80,
      method: "CONNECT",
      path: place,
      headers: { host: place, ...(username !== "" && { "proxy-authorization": `Basic ${login}` }) },
      timeout: 30_000,
    });
    asked.on("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) return resolve(socket);
      socket.destroy();
      reject(new ProxyError(`the proxy answered ${statusCode}`));
    });
    asked.on("timeout", () => asked.destroy(new Error("the proxy does not answer")));
    asked.on("error", (cause) => reject(new ProxyError(`the proxy cannot be used: ${cause.message}`, { cause })));
    asked.end();
  });
}
