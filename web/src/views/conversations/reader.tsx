/** One conversation, read from its newest row backwards, as people or as files have it. */
import { useCallback, useEffect, useMemo, useState } from "preact/hooks";
import { VirtualList } from "../../list/virtual-list.js";
import type { Range } from "../../list/window.js";
import { usePage } from "../../shell/page.js";
import { addressOf } from "../../shell/route.js";
import { createRows, type Rows } from "../../transcript/rows.js";
import { RowView } from "../../transcript/row-view.js";
import { plural } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Empty, ProblemNote, Skeleton } from "../../ui/parts.js";
import { Segmented } from "../../ui/segmented.js";
import { useSettled } from "../../ui/use-settled.js";
import { VerifyState } from "./verify-state.js";

export function Reader({ session }: { readonly session: string }) {
  const { api, route, conversations } = usePage();
  const isRaw = route.value.query["raw"] === "1";
  const rows = useMemo(() => createRows({ api, session, isRaw }), [api, session, isRaw]);
  const pulse = useSettled(conversations.pulse.value, 400);
  useEffect(() => void rows.refresh(), [rows, pulse]);
  const total = rows.total.value;
  const file = `api/sessions/${encodeURIComponent(session)}/export`;

  return (
    <section class="split-main reader" aria-label={session}>
      <header class="reader-head">
        <a
          class="icon-button reader-back"
          href="#/conversations"
          aria-label="All conversations"
          title="All conversations"
        >
          <Icon name="back" />
        </a>
        <div class="reader-title">
          <h2>{session}</h2>
          <p>
            {total === undefined ? "…" : plural(total, "row")} <VerifyState session={session} />
          </p>
        </div>
        <Segmented
          label="Show"
          options={[
            ["read", "Read"],
            ["raw", "Raw lines"],
          ]}
          value={isRaw ? "raw" : "read"}
          choose={(how) => {
            location.hash = addressOf({
              view: "conversations",
              subject: session,
              query: how === "raw" ? { raw: "1" } : {},
            });
          }}
        />
        <a class="button small" href={file} download={`${session.replaceAll(/[^\w.-]+/g, "_")}.jsonl`}>
          <Icon name="download" size={15} /> Export
        </a>
        <a class="button small" href={addressOf({ view: "chat", subject: session })}>
          <Icon name="chat" size={15} /> Continue
        </a>
      </header>
      <Body key={isRaw ? "raw" : "read"} rows={rows} isRaw={isRaw} session={session} />
    </section>
  );
}

function Body({ rows, isRaw, session }: { readonly rows: Rows; readonly isRaw: boolean; readonly session: string }) {
  void rows.version.value;
  const total = rows.total.value;
  const problem = rows.problem.value;
  const [toEnd, setToEnd] = useState(0);
  const [isAtEnd, setAtEnd] = useState(true);
  const want = useCallback((range: Range) => rows.want(range), [rows]);
  if (problem && total === undefined) return <ProblemNote problem={problem} retry={() => void rows.refresh("all")} />;
  if (total === undefined) return <Skeleton />;
  if (total === 0) {
    return (
      <Empty icon="conversations" title="This conversation is empty">
        It was begun anew, or nothing has been answered yet. What was summarised is in <a href="#/memory">Memory</a>.
      </Empty>
    );
  }
  return (
    <>
      <VirtualList
        id={`${session} ${isRaw}`}
        count={total}
        label={`Rows of ${session}`}
        guess={isRaw ? 44 : 96}
        toEnd={toEnd}
        onRange={want}
        onEnd={setAtEnd}
        row={(index) => (isRaw ? <RawRow rows={rows} index={index} /> : <RowView rows={rows} index={index} />)}
      />
      {!isAtEnd && (
        <button type="button" class="button small to-end" onClick={() => setToEnd(toEnd + 1)}>
          To the newest
        </button>
      )}
    </>
  );
}

function RawRow({ rows, index }: { readonly rows: Rows; readonly index: number }) {
  const line = rows.line(index);
  return (
    <div class="raw-row">
      <span class="raw-number">{index + 1}</span>
      <code>{line ?? "…"}</code>
    </div>
  );
}
