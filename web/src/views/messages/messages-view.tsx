/** The ledger, live: each message with its outcome, and its whole life beside it. */
import { useState } from "preact/hooks";
import type { LedgerEntry } from "../../../../src/gateway/ledger.js";
import type { MessageList } from "../../../../src/http/api.js";
import { pathOf } from "../../api/client.js";
import { usePage } from "../../shell/page.js";
import { addressOf } from "../../shell/route.js";
import { exactTime, fromNow } from "../../ui/format.js";
import { Badge, Empty, ProblemNote, Skeleton } from "../../ui/parts.js";
import { Segmented } from "../../ui/segmented.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { useNow } from "../../ui/use-now.js";
import { useSettled } from "../../ui/use-settled.js";
import { outcomeTone, outcomeWord } from "./outcome.js";
import { TracePanel } from "./trace-panel.js";
import "../../styles/conversations.css";
import "../../styles/messages.css";

type Filter = "all" | "problems";
const pageLength = 100;
/** The gateway gives no more at once. */
const most = 1000;

export function MessagesView() {
  const { api, route, conversations } = usePage();
  const { subject, query } = route.value;
  const filter: Filter = query["show"] === "problems" ? "problems" : "all";
  const [limit, setLimit] = useState(pageLength);
  const [acted, setActed] = useState(0);
  const pulse = useSettled(conversations.pulse.value, 250);
  const path = pathOf("api/messages", { filter, limit });
  const { value, problem, reload } = useLoaded(
    (signal) => api.get<MessageList>(path, signal),
    filter,
    `${limit} ${pulse} ${acted}`,
  );
  return (
    <div class="split messages" data-reading={subject !== undefined}>
      <section class="finder" aria-label="All messages">
        <header class="finder-head">
          <h1 tabIndex={-1}>Messages</h1>
          <Segmented
            label="Which messages"
            options={[
              ["all", "All"],
              ["problems", "Open and failed"],
            ]}
            value={filter}
            choose={(show) =>
              void (location.hash = addressOf({ view: "messages", query: show === "all" ? {} : { show } }))
            }
          />
        </header>
        {problem && <ProblemNote problem={problem} retry={reload} />}
        {!value && !problem && <Skeleton />}
        {value && <List messages={value.messages} filter={filter} current={subject} />}
        {value && value.messages.length >= limit && limit < most && (
          <div class="finder-more">
            <button type="button" class="button small" onClick={() => setLimit(Math.min(most, limit * 3))}>
              Show more
            </button>
          </div>
        )}
      </section>
      {subject === undefined ? (
        <section class="split-main">
          <Empty icon="messages" title="Choose a message">
            Each message that was accepted ends in exactly one outcome. Its trace shows how it got there.
          </Empty>
        </section>
      ) : (
        <TracePanel key={subject} trace={subject} pulse={pulse} onActed={() => setActed(acted + 1)} />
      )}
    </div>
  );
}

type ListProps = {
  readonly messages: readonly LedgerEntry[];
  readonly filter: Filter;
  readonly current: string | undefined;
};

function List({ messages, filter, current }: ListProps) {
  const now = useNow(10_000);
  if (messages.length === 0) {
    return filter === "problems" ? (
      <Empty icon="check" title="Nothing is open or failed">
        Every message has been answered.
      </Empty>
    ) : (
      <Empty icon="messages" title="No messages yet">
        Say something in <a href="#/chat">Chat</a>; it appears here at once.
      </Empty>
    );
  }
  return (
    <ul class="finder-list" aria-live="polite" aria-relevant="additions">
      {messages.map((entry) => (
        <li key={entry.trace}>
          <a
            class="finder-item"
            href={addressOf({
              view: "messages",
              subject: entry.trace,
              query: filter === "problems" ? { show: filter } : {},
            })}
            {...(entry.trace === current && { "aria-current": "true" as const })}
          >
            <span class="finder-key">{entry.text === "" ? "(no text)" : entry.text}</span>
            <Badge tone={outcomeTone(entry.outcome)}>{outcomeWord(entry.outcome)}</Badge>
            <span class="finder-last" title={exactTime(entry.receivedAt)}>
              {entry.channel}:{entry.chat} · {fromNow(entry.receivedAt, now)}
              {entry.attempts > 1 && ` · ${entry.attempts} attempts`}
            </span>
          </a>
        </li>
      ))}
    </ul>
  );
}
