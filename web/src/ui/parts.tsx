/** Small pieces of every view: what is missing, what failed, what state something is in. */
import type { ComponentChildren } from "preact";
import type { Problem } from "../api/problem.js";
import { Icon, type IconName } from "./icon.js";

export type Tone = "good" | "warn" | "bad" | "calm" | "accent";

export function Badge({ tone = "calm", children }: { readonly tone?: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge ${tone}`}>{children}</span>;
}

export function Empty(props: {
  readonly icon: IconName;
  readonly title: string;
  readonly children?: ComponentChildren;
}) {
  return (
    <div class="empty">
      <span class="empty-icon">
        <Icon name={props.icon} size={26} />
      </span>
      <h2>{props.title}</h2>
      <div class="empty-words">{props.children}</div>
    </div>
  );
}

export function ProblemNote({ problem, retry }: { readonly problem: Problem; readonly retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <strong>{problem.message}</strong> <Words text={problem.fix} />
      </div>
      {retry && (
        <button type="button" class="button small" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  );
}

/** A sentence in which `words like these` are commands. */
export function Words({ text }: { readonly text: string }) {
  return <span>{text.split("`").map((piece, at) => (at % 2 === 1 ? <code key={at}>{piece}</code> : piece))}</span>;
}

/** Something is coming: bars where it will stand. */
export function Skeleton({ lines = 4 }: { readonly lines?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, at) => (
        <span key={at} class="skeleton-line" style={{ width: `${92 - ((at * 29) % 45)}%` }} />
      ))}
    </div>
  );
}

export function IconButton(props: {
  readonly icon: IconName;
  readonly label: string;
  readonly onClick: () => void;
  readonly disabled?: boolean;
  readonly class?: string;
}) {
  return (
    <button
      type="button"
      class={`icon-button ${props.class ?? ""}`}
      aria-label={props.label}
      title={props.label}
      disabled={props.disabled ?? false}
      onClick={props.onClick}
    >
      <Icon name={props.icon} />
    </button>
  );
}

export function ViewHead(props: {
  readonly title: string;
  readonly note?: ComponentChildren;
  readonly children?: ComponentChildren;
}) {
  return (
    <header class="view-head">
      <div>
        <h1 tabIndex={-1}>{props.title}</h1>
        {props.note !== undefined && <p class="view-note">{props.note}</p>}
      </div>
      <div class="view-actions">{props.children}</div>
    </header>
  );
}
