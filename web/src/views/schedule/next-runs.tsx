/** The next runs of all jobs on one line of time. */
import { useState } from "preact/hooks";
import type { JobView } from "../../../../src/http/api.js";
import { exactTime, fromNow } from "../../ui/format.js";
import { Segmented } from "../../ui/segmented.js";
import { useNow } from "../../ui/use-now.js";
import { type Span, spans, ticksOf } from "./time-axis.js";

export function NextRuns({ jobs }: { readonly jobs: readonly JobView[] }) {
  const [span, setSpan] = useState<Span>("day");
  const now = useNow(10_000);
  const length = spans[span];
  const place = (ms: number): string => `${((ms - now) / length) * 100}%`;
  const rows = jobs.filter(({ enabled, nextRunsMs }) => enabled && nextRunsMs.length > 0);
  return (
    <section class="card next-runs" aria-label="Next runs">
      <header class="next-head">
        <h2>Next runs</h2>
        <Segmented
          label="How far ahead"
          options={[
            ["hours", "6 hours"],
            ["day", "24 hours"],
            ["week", "7 days"],
          ]}
          value={span}
          choose={setSpan}
        />
      </header>
      {rows.map((job) => {
        const seen = job.nextRunsMs.filter((ms) => ms >= now && ms - now <= length);
        const next = job.nextRunsMs.find((ms) => ms >= now);
        return (
          <div key={job.id} class="next-row">
            <span class="next-name">{job.name}</span>
            <span class="next-line">
              {seen.map((ms) => (
                <i key={ms} title={exactTime(ms)} style={{ left: place(ms) }} />
              ))}
            </span>
            <span class="next-when">{next === undefined ? "due" : fromNow(next, now)}</span>
          </div>
        );
      })}
      {rows.length === 0 && <p class="next-none">All jobs are paused.</p>}
      <div class="next-row next-axis" aria-hidden="true">
        <span class="next-name" />
        <span class="next-line">
          {ticksOf(now, span).map(({ at, label }) => (
            <b key={at} style={{ left: place(at) }}>
              {label}
            </b>
          ))}
        </span>
        <span class="next-when" />
      </div>
    </section>
  );
}
