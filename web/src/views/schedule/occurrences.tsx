/** What became of each time a job was due. */
import type { JobView, OccurrenceView } from "../../../../src/http/api.js";
import { duration, exactTime, timeOfDay } from "../../ui/format.js";
import { Badge, type Tone } from "../../ui/parts.js";

export type OccurrencesProps = {
  readonly occurrences: readonly OccurrenceView[];
  readonly jobs: readonly JobView[];
  readonly job: string | undefined;
  readonly choose: (job: string | undefined) => void;
};

export function Occurrences({ occurrences, jobs, job, choose }: OccurrencesProps) {
  const nameOf = (id: string): string => jobs.find((one) => one.id === id)?.name ?? id;
  return (
    <section class="occurrences" aria-label="History">
      <header class="next-head">
        <h2>History</h2>
        <label>
          <span class="off-screen">Job</span>
          <select
            class="button small"
            value={job ?? ""}
            onChange={({ currentTarget: { value } }) => choose(value === "" ? undefined : value)}
          >
            <option value="">All jobs</option>
            {jobs.map(({ id, name }) => (
              <option key={id} value={id}>
                {name}
              </option>
            ))}
          </select>
        </label>
      </header>
      {occurrences.length === 0 ? (
        <p class="next-none">Nothing has been due yet.</p>
      ) : (
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Due</th>
              <th scope="col">Job</th>
              <th scope="col">Outcome</th>
              <th scope="col">Took</th>
              <th scope="col">Reason</th>
            </tr>
          </thead>
          <tbody>
            {occurrences.map((one) => (
              <tr key={`${one.jobId} ${one.dueAtMs}`}>
                <td class="number" title={exactTime(one.dueAtMs)}>
                  {timeOfDay(one.dueAtMs)}
                </td>
                <td>{nameOf(one.jobId)}</td>
                <td>
                  <Badge tone={toneOf(one)}>{one.outcome ?? "running"}</Badge>
                </td>
                <td class="number">{tookOf(one)}</td>
                <td class="table-reason">{one.reason ?? ""}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function toneOf({ outcome }: OccurrenceView): Tone {
  if (outcome === undefined) return "accent";
  if (/fail|dead|error/.test(outcome)) return "bad";
  return /skip|miss/.test(outcome) ? "warn" : "good";
}

const tookOf = ({ startedAtMs, finishedAtMs }: OccurrenceView): string =>
  startedAtMs === undefined || finishedAtMs === undefined ? "" : duration(finishedAtMs - startedAtMs);
