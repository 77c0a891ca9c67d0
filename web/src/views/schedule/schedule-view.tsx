/** Jobs: when they run next, what they are, what came of them. */
import { useState } from "preact/hooks";
import type { JobList, OccurrenceList } from "../../../../src/http/api.js";
import { pathOf } from "../../api/client.js";
import { usePage } from "../../shell/page.js";
import { Empty, ProblemNote, Skeleton, ViewHead } from "../../ui/parts.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { useNow } from "../../ui/use-now.js";
import { useSettled } from "../../ui/use-settled.js";
import { JobCard } from "./job-card.js";
import { NextRuns } from "./next-runs.js";
import { Occurrences } from "./occurrences.js";
import "../../styles/schedule.css";

const shownOccurrences = 100;

export function ScheduleView() {
  const { api, conversations } = usePage();
  const [job, setJob] = useState<string | undefined>(undefined);
  const [acted, setActed] = useState(0);
  const pulse = useSettled(conversations.pulse.value, 500);
  const minute = Math.floor(useNow(10_000) / 30_000);
  const when = `${pulse} ${acted} ${minute}`;
  const jobs = useLoaded((signal) => api.get<JobList>("api/jobs", signal), "jobs", when);
  const path = pathOf("api/occurrences", { job, limit: shownOccurrences });
  const past = useLoaded((signal) => api.get<OccurrenceList>(path, signal), path, when);
  const list = jobs.value?.jobs;
  if (jobs.problem?.status === 404) {
    return (
      <>
        <ViewHead title="Schedule" />
        <Empty icon="schedule" title="No clock is running in this gateway">
          Jobs and reminders need one. Its settings say why it is off.
        </Empty>
      </>
    );
  }
  return (
    <>
      <ViewHead title="Schedule" note="What the agent does without being asked." />
      <div class="view-body">
        {jobs.problem && <ProblemNote problem={jobs.problem} retry={jobs.reload} />}
        {!list && !jobs.problem && <Skeleton />}
        {list?.length === 0 && (
          <Empty icon="schedule" title="Nothing is scheduled">
            Say “remind me every morning at 8 to …” in a chat, or use <code>nanogate cron add</code>.
          </Empty>
        )}
        {list && list.length > 0 && (
          <>
            <NextRuns jobs={list} />
            <ul class="jobs">
              {list.map((one) => (
                <JobCard key={one.id} job={one} onActed={() => setActed(acted + 1)} />
              ))}
            </ul>
          </>
        )}
        {past.problem && !jobs.problem && <ProblemNote problem={past.problem} retry={past.reload} />}
        {list && past.value && (list.length > 0 || past.value.occurrences.length > 0) && (
          <Occurrences occurrences={past.value.occurrences} jobs={list} job={job} choose={setJob} />
        )}
      </div>
    </>
  );
}
