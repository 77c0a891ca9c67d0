/** Finds a conversation by its name or by what was said last. */
import { useState } from "preact/hooks";
import type { SessionList, SessionSummary } from "../../../../src/http/api.js";
import { pathOf } from "../../api/client.js";
import { usePage } from "../../shell/page.js";
import { addressOf } from "../../shell/route.js";
import { count, fromNow, plainLine, plural } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Empty, ProblemNote, Skeleton } from "../../ui/parts.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { useNow } from "../../ui/use-now.js";
import { useSettled } from "../../ui/use-settled.js";

/** The gateway gives no more at once. */
const pageLength = 100;
const typingMs = 180;

export function SessionFinder({ current }: { readonly current: string | undefined }) {
  const { api, conversations } = usePage();
  const [typed, setTyped] = useState("");
  const [pages, setPages] = useState(1);
  const q = useSettled(typed.trim(), typingMs);
  const pulse = useSettled(conversations.pulse.value, 500);
  const load = async (signal: AbortSignal): Promise<SessionList> => {
    const lists = await Promise.all(
      Array.from({ length: pages }, (_, page) =>
        api.get<SessionList>(pathOf("api/sessions", { q, limit: pageLength, offset: page * pageLength }), signal),
      ),
    );
    return { total: lists[0]?.total ?? 0, sessions: lists.flatMap(({ sessions }) => sessions) };
  };
  const { value, problem, reload } = useLoaded(load, "sessions", `${q} ${pages} ${pulse}`);
  return (
    <section class="finder" aria-label="All conversations">
      <header class="finder-head">
        <h1 tabIndex={-1}>Conversations</h1>
        <label class="search">
          <Icon name="search" size={16} />
          <span class="off-screen">Search conversations</span>
          <input
            type="search"
            placeholder="Search names and last words"
            value={typed}
            onInput={(event) => setTyped(event.currentTarget.value)}
          />
        </label>
        <p class="finder-count" role="status">
          {value === undefined
            ? "\u00a0"
            : q === ""
              ? plural(value.total, "conversation")
              : `${count(value.total)} found`}
        </p>
      </header>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!value && !problem && <Skeleton />}
      {value && <Found list={value} q={q} current={current} more={() => setPages(pages + 1)} />}
    </section>
  );
}

type FoundProps = {
  readonly list: SessionList;
  readonly q: string;
  readonly current: string | undefined;
  readonly more: () => void;
};

function Found({ list, q, current, more }: FoundProps) {
  const now = useNow(30_000);
  if (list.total === 0) {
    return q === "" ? (
      <Empty icon="conversations" title="Nothing has been said yet">
        Start in <a href="#/chat">Chat</a>, or connect Telegram or Discord with <code>nanogate init</code>.
      </Empty>
    ) : (
      <Empty icon="search" title="Nothing found">
        Names such as <code>telegram:42</code> and what was said last are searched.
      </Empty>
    );
  }
  return (
    <ul class="finder-list">
      {list.sessions.map((session) => (
        <FoundItem key={session.key} session={session} isCurrent={session.key === current} now={now} />
      ))}
      {list.sessions.length < list.total && (
        <li class="finder-more">
          <button type="button" class="button small" onClick={more}>
            Show more
          </button>
        </li>
      )}
    </ul>
  );
}

type ItemProps = { readonly session: SessionSummary; readonly isCurrent: boolean; readonly now: number };

function FoundItem({ session: { key, updatedAt, last }, isCurrent, now }: ItemProps) {
  return (
    <li>
      <a
        class="finder-item"
        href={addressOf({ view: "conversations", subject: key })}
        {...(isCurrent && { "aria-current": "true" as const })}
      >
        <span class="finder-key">{key}</span>
        <span class="finder-time">{fromNow(Date.parse(updatedAt), now)}</span>
        <span class="finder-last">
          {last ? `${last.role === "user" ? "" : "↳ "}${plainLine(last.text)}` : "Nothing said yet"}
        </span>
      </a>
    </li>
  );
}
