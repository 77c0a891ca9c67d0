/** How the gateway is, every two seconds, and how it was in the last minutes. */
import { useEffect, useState } from "preact/hooks";
import type { Overview } from "../../../../src/http/api.js";
import { follow } from "../../api/follow.js";
import { usePage } from "../../shell/page.js";
import { hopefulWait } from "../../shell/wait.js";

export type Beat = { readonly atMs: number; readonly overview: Overview };
export type Pulse = { readonly beats: readonly Beat[]; readonly isLost: boolean };

/** Ten minutes. */
const mostBeats = 300;

export function usePulse(): Pulse {
  const { api } = usePage();
  const [pulse, setPulse] = useState<Pulse>({ beats: [], isLost: false });
  useEffect(() => {
    const ended = new AbortController();
    void follow<Overview>(
      {
        open: (signal) => api.stream("api/pulse", { signal }),
        connected: () => {},
        heard: (overview) =>
          setPulse(({ beats }) => ({
            beats: [...beats, { atMs: Date.now(), overview }].slice(-mostBeats),
            isLost: false,
          })),
        lost: () => setPulse(({ beats }) => ({ beats, isLost: true })),
        wait: (ms, signal) => hopefulWait(window, ms, signal),
      },
      ended.signal,
    );
    return () => ended.abort();
  }, [api]);
  return pulse;
}
