/** How the gateway is, and what it has cost. */
import type { Overview } from "../../../../src/http/api.js";
import { Problem } from "../../api/problem.js";
import { duration } from "../../ui/format.js";
import { Badge, ProblemNote, Skeleton, ViewHead } from "../../ui/parts.js";
import { Channels } from "./channels.js";
import { Figures } from "./figures.js";
import { Machine } from "./machine.js";
import { Usage } from "./usage.js";
import { usePulse } from "./use-pulse.js";
import "../../styles/schedule.css";
import "../../styles/health.css";

export function HealthView() {
  const { beats, isLost } = usePulse();
  const now = beats.at(-1)?.overview;
  return (
    <>
      <ViewHead title="Health and usage" note={now ? noteOf(now) : "\u00a0"}>
        {now &&
          (isLost ? (
            <Badge tone="bad">does not answer</Badge>
          ) : (
            <Badge tone={now.ready ? "good" : "warn"}>{now.ready ? "ready" : "not ready"}</Badge>
          ))}
      </ViewHead>
      <div class="view-body">
        {isLost && !now && (
          <ProblemNote
            problem={
              new Problem("The gateway does not tell how it is.", {
                fix: "It is asked again all the time. If it stays so, look at its log.",
              })
            }
          />
        )}
        {!now && !isLost && <Skeleton />}
        {now && (
          <>
            <Figures overview={now} />
            <Channels channels={now.channels} />
            <Machine beats={beats} />
          </>
        )}
        <Usage />
      </div>
    </>
  );
}

const noteOf = ({ version, model, uptimeSeconds }: Overview): string =>
  `nanogate ${version} with ${model}, up for ${duration(Math.max(1, uptimeSeconds) * 1000)}`;
