/** What the agent remembers: facts, the dated log, and every change with what it changed. */
import { useState } from "preact/hooks";
import type { MemoryView as Memory } from "../../../../src/http/api.js";
import { pathOf } from "../../api/client.js";
import { Markdown } from "../../markdown/markdown.js";
import { usePage } from "../../shell/page.js";
import { Empty, ProblemNote, Skeleton, ViewHead } from "../../ui/parts.js";
import { Segmented } from "../../ui/segmented.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { useSettled } from "../../ui/use-settled.js";
import { Changes } from "./changes.js";
import { HistoryLog } from "./history-log.js";
import { WhoseMemory } from "./whose-memory.js";
import "../../styles/memory.css";

type Tab = "facts" | "history" | "changes";

export function MemoryViewPage() {
  const { api, route, conversations } = usePage();
  const session = route.value.query["session"];
  const [tab, setTab] = useState<Tab>("facts");
  const pulse = useSettled(conversations.pulse.value, 1500);
  const path = pathOf("api/memory", { session });
  const { value, problem, reload } = useLoaded((signal) => api.get<Memory>(path, signal), path, pulse);
  return (
    <>
      <ViewHead
        title="Memory"
        note={session === undefined ? "What is known in every conversation." : `What is known in ${session}.`}
      >
        <Segmented
          label="Part of the memory"
          options={[
            ["facts", "MEMORY.md"],
            ["history", "HISTORY.md"],
            ["changes", value ? `Changes (${value.changes.length})` : "Changes"],
          ]}
          value={tab}
          choose={setTab}
        />
      </ViewHead>
      <div class="view-body">
        {problem?.status === 400 && <WhoseMemory />}
        {problem && problem.status !== 400 && <ProblemNote problem={problem} retry={reload} />}
        {!value && !problem && <Skeleton />}
        {value && tab === "facts" && <Facts text={value.memory} />}
        {value && tab === "history" && <HistoryLog text={value.history} />}
        {value && tab === "changes" && <Changes changes={value.changes} session={session} onUndone={reload} />}
      </div>
    </>
  );
}

function Facts({ text }: { readonly text: string }) {
  if (text.trim() === "") {
    return (
      <Empty icon="memory" title="Nothing is remembered yet">
        Say “remember that …” in a chat, or let a conversation grow: what is old is summarised here.{" "}
        <code>/compact</code> does it at once.
      </Empty>
    );
  }
  return (
    <div class="sheet-of-paper">
      <Markdown text={text} />
    </div>
  );
}
