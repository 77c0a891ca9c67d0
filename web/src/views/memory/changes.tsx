/** Every change of MEMORY.md: by whom, what, and the way back. */
import { useState } from "preact/hooks";
import type { Done, MemoryChange, MemoryDiff } from "../../../../src/http/api.js";
import { lineDiff } from "../../../../src/util/line-diff.js";
import { pathOf } from "../../api/client.js";
import { Problem } from "../../api/problem.js";
import { usePage } from "../../shell/page.js";
import { ActionButton } from "../../ui/action-button.js";
import { exactTime, plural, timeOfDay } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Empty, ProblemNote, Skeleton } from "../../ui/parts.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { foldSame } from "./fold-same.js";

export type ChangesProps = {
  readonly changes: readonly MemoryChange[];
  readonly session: string | undefined;
  readonly onUndone: () => void;
};

export function Changes({ changes, session, onUndone }: ChangesProps) {
  const [open, setOpen] = useState<string | undefined>(changes[0]?.id);
  if (changes.length === 0) {
    return (
      <Empty icon="memory" title="No changes yet">
        Each time MEMORY.md changes, by the agent or by hand, the change is listed here and can be undone.
      </Empty>
    );
  }
  return (
    <ul class="changes">
      {changes.map((change) => (
        <li key={change.id} class="card change">
          <button
            type="button"
            class="change-head"
            aria-expanded={open === change.id}
            onClick={() => setOpen(open === change.id ? undefined : change.id)}
          >
            <span class="step-chevron">
              <Icon name="chevron" size={14} />
            </span>
            <span class="change-by">{change.by}</span>
            <time class="change-time" title={exactTime(Date.parse(change.time))}>
              {timeOfDay(Date.parse(change.time))}
            </time>
          </button>
          {open === change.id && <Change change={change} session={session} onUndone={onUndone} />}
        </li>
      ))}
    </ul>
  );
}

type ChangeProps = {
  readonly change: MemoryChange;
  readonly session: string | undefined;
  readonly onUndone: () => void;
};

function Change({ change: { id, isUndoable }, session, onUndone }: ChangeProps) {
  const { api } = usePage();
  const [failed, setFailed] = useState("");
  const path = `api/memory/${encodeURIComponent(id)}`;
  const { value, problem, reload } = useLoaded((signal) => api.get<MemoryDiff>(pathOf(path, { session }), signal), id);
  if (problem) return <ProblemNote problem={problem} retry={reload} />;
  if (!value) return <Skeleton lines={3} />;
  const undo = async (): Promise<void> => {
    const { done } = await api.post<Done>(pathOf(`${path}/undo`, { session }));
    if (!done)
      throw new Problem("It could not be undone.", {
        fix: "The text was changed again since; undo the later change first.",
      });
    onUndone();
  };
  return (
    <div class="change-body">
      <Diff before={value.before} after={value.after} />
      {failed !== "" && (
        <p class="field-problem" role="alert">
          {failed}
        </p>
      )}
      {isUndoable && (
        <div class="change-actions">
          <ActionButton icon="undo" label="Undo this change" sure="Undo it?" act={undo} onFailed={setFailed} />
        </div>
      )}
    </div>
  );
}

const marks = { same: " ", added: "+", removed: "−" } as const;

function Diff({ before, after }: { readonly before: string; readonly after: string }) {
  const parts = foldSame(lineDiff(before, after));
  if (parts.length === 0) return <p class="diff-none">Both texts are the same.</p>;
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so it has to be reachable
    <pre class="diff" tabIndex={0} aria-label="What was changed">
      {parts.map((part, at) =>
        part.kind === "folded" ? (
          <span key={at} class="diff-line folded">
            {plural(part.count, "line")} as before
          </span>
        ) : (
          <span key={at} class={`diff-line ${part.kind}`}>
            <b aria-hidden="true">{marks[part.kind]}</b>
            {part.kind !== "same" && <span class="off-screen">{part.kind}: </span>}
            {part.text === "" ? "\u00a0" : part.text}
          </span>
        ),
      )}
    </pre>
  );
}
