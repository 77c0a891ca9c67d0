/** A turn that is not stored, or not yet: the question, the steps so far, the answer as it is written. */
import { Answered, Asked } from "../../transcript/said.js";
import { StepView } from "../../transcript/step-view.js";
import { Icon } from "../../ui/icon.js";
import { Words } from "../../ui/parts.js";
import type { Phase, Step, Turn } from "../turns.js";

export type TurnActions = { readonly again: (turn: Turn) => void; readonly withdraw: (turn: Turn) => void };

export function TurnView({ turn, actions }: { readonly turn: Turn; readonly actions: TurnActions }) {
  const { question, images, steps, draft, phase } = turn;
  const answer = phase.kind === "ended" && phase.reply !== "" ? phase.reply : draft;
  const isRunning = phase.kind === "waiting" || phase.kind === "working";
  return (
    <article class="turn" aria-busy={isRunning}>
      {question !== undefined && <Asked text={question} images={images} note={<Sending phase={phase} />} />}
      <div class="turn-part">
        {steps.length > 0 && (
          <div class="steps">
            {steps.map((step, at) => (
              <StepLine key={at} step={step} isRunning={isRunning} />
            ))}
          </div>
        )}
        {answer !== "" && <Answered text={answer} />}
        {isRunning && draft === "" && <Thinking isWaiting={phase.kind === "waiting"} />}
      </div>
      <Ending phase={phase} turn={turn} actions={actions} />
    </article>
  );
}

function StepLine({ step, isRunning }: { readonly step: Step; readonly isRunning: boolean }) {
  if (step.kind === "progress") return <p class="progress">{step.text}</p>;
  return <StepView call={step.call} result={step.result} isRunning={isRunning && step.result === undefined} />;
}

function Sending({ phase }: { readonly phase: Phase }) {
  return phase.kind === "sending" ? <div class="asked-note">Sending…</div> : null;
}

function Thinking({ isWaiting }: { readonly isWaiting: boolean }) {
  return (
    <div class="thinking" role="status">
      <span class="dots" aria-hidden="true">
        <i />
        <i />
        <i />
      </span>
      <span class="off-screen">{isWaiting ? "Waiting for its turn" : "The agent is working"}</span>
    </div>
  );
}

function Ending({
  phase,
  turn,
  actions,
}: {
  readonly phase: Phase;
  readonly turn: Turn;
  readonly actions: TurnActions;
}) {
  if (phase.kind === "refused") {
    return (
      <div class="turn-end bad" role="alert">
        <Icon name="warning" size={16} />
        <span>
          {phase.problem} <Words text={phase.fix} />
        </span>
        <button type="button" class="button small" onClick={() => actions.again(turn)}>
          Send again
        </button>
        <button type="button" class="button small" onClick={() => actions.withdraw(turn)}>
          Discard
        </button>
      </div>
    );
  }
  if (phase.kind !== "ended") return null;
  const words = endingWords(phase);
  return words === undefined ? null : <div class={`turn-end ${phase.outcome.kind}`}>{words}</div>;
}

function endingWords({ outcome, reply }: Extract<Phase, { kind: "ended" }>): string | undefined {
  if (outcome.kind === "silent")
    return outcome.reason === "stopped" ? "Stopped." : (outcome.reason ?? "Nothing to say.");
  if (outcome.kind === "answered") return undefined;
  const why = outcome.reason === undefined ? "" : ` (${outcome.reason})`;
  return reply === "" ? `It could not be answered${why}. Messages shows what happened.` : `Not answered${why}.`;
}
