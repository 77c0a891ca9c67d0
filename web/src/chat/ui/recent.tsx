/** What was talked about lately, to go on with. */
import { useState } from "preact/hooks";
import type { SessionList, SessionSummary } from "../../../../src/http/api.js";
import { pathOf } from "../../api/client.js";
import { newChat, usePage } from "../../shell/page.js";
import { ThemeButton } from "../../shell/theme-button.js";
import { fromNow, plainLine } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { IconButton } from "../../ui/parts.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { useSettled } from "../../ui/use-settled.js";
import { titleOf } from "../open-chats.js";

const shown = 14;

/** Beside the menu. */
export function Recent() {
  const { route, chats } = usePage();
  return (
    <section class="recent" aria-label="Recent conversations">
      <div class="recent-head">
        <h2>Recent</h2>
        <IconButton
          icon="plus"
          label="New chat"
          onClick={() => {
            chats.show(newChat());
            location.hash = "#/chat";
          }}
        />
      </div>
      <RecentList isPlain={route.value.view !== "chat"} />
    </section>
  );
}

/** On a phone: behind a button. */
export function RecentSheet() {
  const [isOpen, setOpen] = useState(false);
  return (
    <div class="recent-sheet">
      <IconButton icon="menu" label="Recent conversations" onClick={() => setOpen(!isOpen)} />
      {isOpen && (
        // Choosing closes it.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/no-static-element-interactions
        <div class="sheet" onClick={() => setOpen(false)}>
          <RecentList isPlain={false} />
          <ThemeButton hasWords />
        </div>
      )}
    </div>
  );
}

function RecentList({ isPlain }: { readonly isPlain: boolean }) {
  const { api, chats, conversations } = usePage();
  const path = pathOf("api/sessions", { limit: shown });
  const pulse = useSettled(conversations.pulse.value, 300);
  const { value } = useLoaded((signal) => api.get<SessionList>(path, signal), "recent", pulse);
  if (value?.sessions.length === 0) return <p class="recent-none">Conversations appear here.</p>;
  const { open, current } = chats.state.value;
  return (
    <ul class="recent-list">
      {value?.sessions.map((session) => (
        <RecentItem
          key={session.key}
          session={session}
          isCurrent={!isPlain && session.key === current}
          isOpen={open.includes(session.key)}
        />
      ))}
    </ul>
  );
}

type ItemProps = { readonly session: SessionSummary; readonly isCurrent: boolean; readonly isOpen: boolean };

function RecentItem({ session: { key, updatedAt, last }, isCurrent, isOpen }: ItemProps) {
  const { chats } = usePage();
  const { titles } = chats.state.value;
  const title = titles[key] ?? (last && plainLine(last.text)) ?? titleOf(key, titles);
  const go = (how: "show" | "beside"): void => {
    chats[how](key);
    location.hash = "#/chat";
  };
  return (
    <li class="recent-item" {...(isCurrent && { "data-current": true })}>
      <button
        type="button"
        class="recent-main"
        title={key}
        onClick={() => go("show")}
        {...(isCurrent && { "aria-current": "true" as const })}
      >
        <span class="recent-title">{title}</span>
        <span class="recent-meta">
          {channelOf(key)} · {fromNow(Date.parse(updatedAt))}
        </span>
      </button>
      {!isOpen && (
        <button
          type="button"
          class="icon-button recent-beside"
          aria-label={`Open ${title} beside`}
          title="Open beside"
          onClick={() => go("beside")}
        >
          <Icon name="beside" size={15} />
        </button>
      )}
    </li>
  );
}

const channelOf = (key: string): string => (key.includes(":") ? (key.split(":")[0] ?? key) : key);
