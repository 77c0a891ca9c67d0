/** Keeps a stream of events open: through restarts of the gateway, lost networks and sleeping laptops. */
import { Problem } from "./problem.js";
import { heardFrom } from "./sse.js";

export type FollowParts<Event> = {
  readonly open: (signal: AbortSignal) => Promise<Response>;
  readonly connected: () => void;
  readonly heard: (event: Event) => void;
  readonly lost: (problem: unknown) => void;
  /** May end early when there is reason to hope: the network is back, somebody looks at the page again. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
};

/** The gateway says something every fifteen seconds; so long a silence is a dead connection. */
const silenceMs = 45_000;
const longestWaitMs = 4000;

export async function follow<Event>(parts: FollowParts<Event>, signal: AbortSignal): Promise<void> {
  for (let failures = 0; !signal.aborted; failures++) {
    const line = new AbortController();
    const hangUp = (): void => line.abort();
    signal.addEventListener("abort", hangUp, { once: true });
    let silence = setTimeout(hangUp, silenceMs);
    try {
      const response = await parts.open(line.signal);
      parts.connected();
      failures = 0;
      for await (const heard of heardFrom<Event>(response.body ?? new ReadableStream())) {
        clearTimeout(silence);
        silence = setTimeout(hangUp, silenceMs);
        if (heard.kind === "event") parts.heard(heard.event);
      }
      if (!signal.aborted) parts.lost(undefined);
    } catch (error) {
      if (!signal.aborted) parts.lost(error);
      // Asking again does not help: somebody has to enter the token.
      if (error instanceof Problem && error.status === 401) return;
    } finally {
      clearTimeout(silence);
      signal.removeEventListener("abort", hangUp);
    }
    if (!signal.aborted) await parts.wait(Math.min(longestWaitMs, 250 * 2 ** Math.min(failures, 6)), signal);
  }
}
