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
        <div class="tabs" role="tablist" aria-label="Open conversations">
          {open.map((session) => (
            <button
              key={session}
              type="button"
              role="tab"
              class="tab"
              aria-selected={session === current}
              title={session}
              onClick={() => chats.focus(session)}
            >
              {titleOf(session, titles)}
            </button>
          ))}
        </div>
        <IconButton icon="beside" label="New chat beside this" onClick={() => chats.beside(newChat())} />
        <IconButton icon="plus" label="New chat" onClick={() => chats.show(newChat())} />
      </div>
      <div class="columns">
        {open.map((session) => (
          <Column key={session} session={session} isCurrent={session === current} isAlone={open.length === 1} />
        ))}
      </div>
    </div>
  );
}
