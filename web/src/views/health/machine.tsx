/** Memory and the delay of the event loop, as they go. */
import { useMemo } from "preact/hooks";
import { bytes } from "../../ui/format.js";
import { Chart } from "./chart.js";
import type { Beat } from "./use-pulse.js";

const megabytes = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000].map((size) => size * 1024 * 1024);
const ms = (value: number): string => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

export function Machine({ beats }: { readonly beats: readonly Beat[] }) {
  const times = useMemo(() => beats.map(({ atMs }) => atMs / 1000), [beats]);
  const memory = useMemo(
    () => [
      {
        label: "memory",
        colour: "--accent-fill",
        values: beats.map(({ overview }) => overview.residentBytes),
        format: bytes,
        steps: megabytes,
      } as const,
    ],
    [beats],
  );
  const delay = useMemo(
    () => [
      {
        label: "delay",
        colour: "--warn",
        values: beats.map(({ overview }) => overview.eventLoopDelayMs),
        format: ms,
      } as const,
    ],
    [beats],
  );
  const last = beats.at(-1)?.overview;
  return (
    <section class="health-part" aria-label="Machine">
      <h2>Machine, since you opened this view</h2>
      <div class="charts">
        <figure class="card chart-card">
          <figcaption>
            Memory <b class="number">{bytes(last?.residentBytes ?? 0)}</b>
          </figcaption>
          <Chart label="Resident memory over time" kind="line" times={times} series={memory} height={130} />
        </figure>
        <figure class="card chart-card">
          <figcaption>
            Event-loop delay <b class="number">{ms(last?.eventLoopDelayMs ?? 0)}</b>
          </figcaption>
          <Chart label="Delay of the event loop over time" kind="line" times={times} series={delay} height={130} />
        </figure>
      </div>
    </section>
  );
}
