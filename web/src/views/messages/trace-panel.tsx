/** The whole life of one message, as stages and as a timeline. */
import { useState } from "preact/hooks";
import type { LedgerEntry } from "../../../../src/gateway/ledger.js";
import type { Done, MessageTrace } from "../../../../src/http/api.js";
import { Problem } from "../../api/problem.js";
import { usePage } from "../../shell/page.js";
import { ActionButton } from "../../ui/action-button.js";
import { duration, exactTime } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Badge, ProblemNote, Skeleton } from "../../ui/parts.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { outcomeTone, outcomeWord } from "./outcome.js";
import { spansOf, type Stage, stagesOf, stageOf, wordsOf } from "./stages.js";

export type TraceProps = { readonly trace: string; readonly pulse: number; readonly onActed: () => void };

export function TracePanel({ trace, pulse, onActed }: TraceProps) {
  const { api } = usePage();
  const path = `api/messages/${encodeURIComponent(trace)}`;
  const { value, problem, reload } = useLoaded((signal) => api.get<MessageTrace>(path, signal), trace, pulse);
  const [failed, setFailed] = useState("");
  const act = (what: "retry" | "discard") => async (): Promise<void> => {
    const { done } = await api.post<Done>(`${path}/${what}`);
    if (!done) throw new Problem("Nothing was changed.", { fix: "It may have ended meanwhile; look at its trace." });
    setFailed("");
    reload();
    onActed();
  };
  if (problem && !value) {
    return (
      <section class="split-main">
        <ProblemNote problem={problem} retry={reload} />
      </section>
    );
  }
  if (!value) {
    return (
      <section class="split-main">
        <Skeleton />
      </section>
    );
  }
  const { entry, events } = value;
  return (
    <section class="split-main trace" aria-label="Trace of the message">
      <header class="reader-head">
        <a class="icon-button reader-back" href="#/messages" aria-label="All messages" title="All messages">
          <Icon name="back" />
        </a>
        <div class="reader-title">
          <h2>
            {entry.channel}:{entry.chat} <Badge tone={outcomeTone(entry.outcome)}>{outcomeWord(entry.outcome)}</Badge>
          </h2>
          <p>
            {exactTime(entry.receivedAt)} · <code>{entry.trace}</code>
          </p>
        </div>
        <Actions entry={entry} act={act} onFailed={setFailed} />
      </header>
      <div class="trace-body">
        {failed !== "" && (
          <p class="field-problem" role="alert">
            {failed}
          </p>
        )}
        <blockquote class="trace-text">{entry.text}</blockquote>
        {entry.reason !== undefined && <p class="trace-reason">Reason: {entry.reason}</p>}
        <Stages stages={stagesOf(entry, events)} />
        <h3>Timeline</h3>
        <ol class="timeline">
          {spansOf(events).map(({ event, since, start, share }, at) => (
            <li key={at} class={`timeline-event ${stageOf(event) ?? ""}`}>
              <span class="timeline-time number">+{duration(since)}</span>
              <span class="timeline-bar" aria-hidden="true">
                <i style={{ left: `${start * 100}%`, width: `${share * 100}%` }} />
              </span>
              <span class="timeline-what">{wordsOf(event).what}</span>
              <span class="timeline-detail">{wordsOf(event).detail}</span>
            </li>
          ))}
        </ol>
      </div>
    </section>
  );
}

type ActionsProps = {
  readonly entry: LedgerEntry;
  readonly act: (what: "retry" | "discard") => () => Promise<void>;
  readonly onFailed: (problem: string) => void;
};

function Actions({ entry: { outcome }, act, onFailed }: ActionsProps) {
  const isStuck = outcome === "failed" || outcome === "dead";
  return (
    <>
      {isStuck && <ActionButton icon="again" label="Retry" tone="primary" act={act("retry")} onFailed={onFailed} />}
      {(isStuck || outcome === undefined) && (
        <ActionButton
          icon="bin"
          label="Discard"
          sure="Discard for good?"
          tone="danger"
          act={act("discard")}
          onFailed={onFailed}
        />
      )}
    </>
  );
}

const stateWords = { done: "", open: "not yet", skipped: "not needed", failed: "failed here" } as const;

function Stages({ stages }: { readonly stages: readonly Stage[] }) {
  return (
    <ol class="stages" aria-label="Stages">
      {stages.map(({ name, state, times }) => (
        <li key={name} class={`stage ${state}`}>
          <span class="stage-dot" aria-hidden="true">
            {state === "done" ? (
              <Icon name="check" size={13} />
            ) : state === "failed" ? (
              <Icon name="close" size={13} />
            ) : null}
          </span>
          <span class="stage-name">{name}</span>
          <span class="stage-note">{times > 1 ? `${times}×` : stateWords[state]}</span>
        </li>
      ))}
    </ol>
  );
}
