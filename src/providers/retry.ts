/** A model that is asked again when the server was busy or the line broke. */
import type { Log } from "../world.js";
import { SilenceFailure } from "./failures.js";
import { type Model, type ModelEvent, ModelError, type ModelFailure, type ModelRequest } from "./provider.js";

export type RetryOptions = {
  /** Resolves after `ms`, or rejects with the signal's reason as soon as it aborts. */
  readonly sleep: (ms: number, signal: AbortSignal) => Promise<void>;
  /** How often it is asked again: three times, after 1, 2 and 4 seconds. */
  readonly retries?: number;
  readonly firstWaitMs?: number;
  /** A server that asks for more patience than this is not waited for: the chat is told instead. */
  readonly longestWaitMs?: number;
  readonly random?: () => number;
  readonly log?: Log;
};

const passing: ReadonlySet<ModelFailure> = new Set(["overload", "network"]);

export function withRetry(model: Model, options: RetryOptions): Model {
  const { sleep, retries = 3, firstWaitMs = 1000, longestWaitMs = 60_000, random = Math.random, log } = options;

  /** How long to wait before the next try, or undefined if there is none. */
  const waitBefore = (attempt: number, error: ModelError): number | undefined => {
    // Minutes of silence are asked for once more, not three times.
    const most = error.cause instanceof SilenceFailure ? Math.min(1, retries) : retries;
    if (attempt >= most || !passing.has(error.kind)) return undefined;
    const backoff = firstWaitMs * 2 ** attempt;
    const wait = error.retryAfterMs ?? backoff;
    // Up to a quarter more at random, so that many chats do not come back in the same instant.
    return wait > longestWaitMs ? undefined : Math.round(wait + backoff * 0.25 * random());
  };

  return {
    name: model.name,
    contextTokens: model.contextTokens,
    async *stream(request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      for (let attempt = 0; ; attempt++) {
        let shown = false;
        try {
          for await (const event of model.stream(request, signal)) {
            yield event;
            if (event.kind === "reply") return;
            shown = event.kind === "text" || (event.kind !== "restart" && shown);
          }
          throw new ModelError("network", `The answer of ${model.name} broke off.`, "Look at the network.");
        } catch (error) {
          signal.throwIfAborted();
          const wait = error instanceof ModelError ? waitBefore(attempt, error) : undefined;
          if (wait === undefined || !(error instanceof ModelError)) throw error;
          const seconds = (wait / 1000).toFixed(1);
          log?.warn(`${error.message} (asking again in ${seconds} s)`, { kind: error.kind, attempt });
          if (shown) yield { kind: "restart" };
          await sleep(wait, signal);
          signal.throwIfAborted();
        }
      }
    },
  };
}
