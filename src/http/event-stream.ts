/**
 * Server-sent events, written straight to the connection: a client that only waits costs little, and one that does not
 * read is let go before it costs much.
 */
import type { ServerResponse } from "node:http";
import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import type { Context, Hono } from "hono";

export type DoorEnv = { readonly Bindings: HttpBindings };
export type DoorApp = Hono<DoorEnv>;
export type Asked = Context<DoorEnv>;

export type EventStream = {
  /** One event. */
  readonly send: (data: string) => void;
  readonly end: () => void;
};

/** Answers a request with a stream. `start` returns what is to be done when it is over, whoever ended it. */
export type OpenStream = (context: Asked, start: (stream: EventStream) => () => void) => Response;

/** Something is said so often that no proxy takes the connection for dead. */
const breathMs = 15_000;
/** So much may wait for a client to read it. */
const mostBacklog = 4 * 1024 * 1024;

export function createEventStreams(): OpenStream {
  const open = new Set<ServerResponse>();
  let breath: NodeJS.Timeout | undefined;

  const write = (response: ServerResponse, text: string): void => {
    if (response.writableLength > mostBacklog) response.destroy();
    else if (!response.destroyed && !response.writableEnded) response.write(text);
  };
  const breathe = (): void => {
    for (const response of open) write(response, ": still here\n\n");
  };

  return function openStream(context, start) {
    const response = context.env.outgoing;
    let isOver = false;
    let stop = (): void => {};
    const over = (): void => {
      if (isOver) return;
      isOver = true;
      open.delete(response);
      if (open.size === 0) clearInterval(breath);
      stop();
    };
    response.writeHead(200, {
      "content-type": "text/event-stream",
      "cache-control": "no-store",
      "x-accel-buffering": "no",
    });
    response.flushHeaders();
    response.once("close", over);
    if (open.size === 0) breath = setInterval(breathe, breathMs).unref();
    open.add(response);
    stop = start({
      send: (data) => write(response, `data: ${data}\n\n`),
      end: () => {
        over();
        response.end();
      },
    });
    // It may be over by now, or the client have gone before anybody listened for that.
    if (isOver) stop();
    else if (response.destroyed) over();
    else if (context.req.method === "HEAD") response.end();
    return RESPONSE_ALREADY_SENT;
  };
}
