/** Conversations side by side; on a narrow screen one at a time, with tabs. */
import { newChat, usePage } from "../../shell/page.js";
import { IconButton } from "../../ui/parts.js";
import { titleOf } from "../open-chats.js";
import { Column } from "./column.js";
import { RecentSheet } from "./recent.js";
import "../../styles/chat.css";

export function ChatView() {
  const { chats } = usePage();
  const { open, current, titles } = chats.state.value;
  return (
    <div class="chat">
      <h1 class="off-screen">Chat</h1>
      <div class="chat-tabs">
        <RecentSheet />
        <div class="tabs" role="group" aria-label="Open conversations">
          {open.map((session) => (
            <span key={session} class="tab" data-current={session === current}>
              <button
                type="button"
                class="tab-name"
                {...(session === current && { "aria-current": "true" as const })}
                title={session}
                onClick={() => chats.focus(session)}
              >
                {titleOf(session, titles)}
              </button>
              {session === current && open.length > 1 && (
                <IconButton
                  icon="close"
                  label={`Close ${titleOf(session, titles)}`}
                  onClick={() => chats.close(session)}
                />
              )}
            </span>
          ))}
        </div>
        <IconButton icon="plus" label="New chat" onClick={() => chats.beside(newChat())} />
      </div>
      <div class="columns">
        {open.map((session) => (
          <Column key={session} session={session} isCurrent={session === current} isAlone={open.length === 1} />
        ))}
      </div>
    </div>
  );
}
