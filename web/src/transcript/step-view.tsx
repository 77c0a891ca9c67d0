/** A tool that was used: folded to one line, with what went in and what came out inside. */
import { useState } from "preact/hooks";
import type { ToolCall } from "../../../src/message.js";
import { Icon } from "../ui/icon.js";

export type StepProps = {
  readonly call: ToolCall;
  /** Undefined while it runs, or where it is not known. */
  readonly result?: string | undefined;
  readonly isRunning?: boolean;
};

export function StepView({ call, result, isRunning = false }: StepProps) {
  const [isOpen, setOpen] = useState(false);
  const { name, arguments: given } = call.function;
  return (
    <details class="step" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        {isRunning ? <span class="spinner" aria-label="running" role="img" /> : <Icon name="tool" size={15} />}
        <span class="step-name">{name}</span>
        <span class="step-hint">{hintOf(given)}</span>
        <span class="step-chevron">
          <Icon name="chevron" size={14} />
        </span>
      </summary>
      {isOpen && (
        <div class="step-body">
          <Field label="Given" text={pretty(given)} />
          {result !== undefined && <Field label="Result" text={result} />}
        </div>
      )}
    </details>
  );
}

function Field({ label, text }: { readonly label: string; readonly text: string }) {
  return (
    <>
      <div class="step-label">{label}</div>
      {/* A scrolling box has to be reachable by keyboard. */}
      {/* oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex */}
      <pre class="step-text" tabIndex={0}>
        {text === "" ? "(nothing)" : text}
      </pre>
    </>
  );
}

/** The first thing it was given that can be said in a few words. */
export function hintOf(given: string): string {
  const values = Object.values(parsed(given) ?? {}).filter(
    (value) => typeof value === "string" || typeof value === "number",
  );
  return String(values[0] ?? "").split("\n")[0] ?? "";
}

const pretty = (given: string): string => {
  const value = parsed(given);
  return value === undefined ? given : JSON.stringify(value, null, 2);
};

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
