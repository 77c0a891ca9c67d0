/** One job, and what can be done with it. */
import { useState } from "preact/hooks";
import type { Done, JobView } from "../../../../src/http/api.js";
import { Problem } from "../../api/problem.js";
import { usePage } from "../../shell/page.js";
import { ActionButton } from "../../ui/action-button.js";
import { exactTime, fromNow } from "../../ui/format.js";
import { Badge } from "../../ui/parts.js";

export function JobCard({ job, onActed }: { readonly job: JobView; readonly onActed: () => void }) {
  const { api } = usePage();
  const [failed, setFailed] = useState("");
  const path = `api/jobs/${encodeURIComponent(job.id)}`;
  const did = (ask: () => Promise<Done>) => async (): Promise<void> => {
    const { done } = await ask();
    if (!done) throw new Problem("Nothing was changed.", { fix: "The job may be gone, or is running already." });
    setFailed("");
    onActed();
  };
  const next = job.nextRunsMs[0];
  return (
    <li class="card job">
      <div class="job-head">
        <h3>{job.name}</h3>
        {job.enabled ? <Badge tone="good">on</Badge> : <Badge>paused</Badge>}
      </div>
      <p class="job-message">{job.message}</p>
      <p class="job-facts">
        <code>{job.timing}</code>
        {job.to !== undefined && <span>tells {job.to}</span>}
        {job.enabled && next !== undefined && <span title={exactTime(next)}>{fromNow(next)}</span>}
      </p>
      {failed !== "" && (
        <p class="field-problem" role="alert">
          {failed}
        </p>
      )}
      <div class="job-actions">
        <ActionButton icon="play" label="Run now" act={did(() => api.post(`${path}/run`))} onFailed={setFailed} />
        {job.enabled ? (
          <ActionButton icon="pause" label="Pause" act={did(() => api.post(`${path}/disable`))} onFailed={setFailed} />
        ) : (
          <ActionButton icon="play" label="Resume" act={did(() => api.post(`${path}/enable`))} onFailed={setFailed} />
        )}
        <ActionButton
          icon="bin"
          label="Remove"
          sure="Remove it?"
          tone="danger"
          act={did(() => api.remove(path))}
          onFailed={setFailed}
        />
      </div>
    </li>
  );
}
