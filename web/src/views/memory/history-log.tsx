/** HISTORY.md: dated entries, the newest first, to be searched. */
import { useMemo, useState } from "preact/hooks";
import { plural } from "../../ui/format.js";
import { Icon } from "../../ui/icon.js";
import { Empty } from "../../ui/parts.js";
import { entriesOf, type HistoryEntry } from "./history-entries.js";

export function HistoryLog({ text }: { readonly text: string }) {
  const [typed, setTyped] = useState("");
  const entries = useMemo(() => entriesOf(text), [text]);
  const sought = typed.trim().toLowerCase();
  const found = entries.filter((entry) => `${entry.time} ${entry.text}`.toLowerCase().includes(sought));
  if (entries.length === 0) {
    return (
      <Empty icon="memory" title="No history yet">
        When a conversation is summarised, one dated paragraph about it is added here.
      </Empty>
    );
  }
  return (
    <div class="sheet-of-paper">
      <label class="search">
        <Icon name="search" size={16} />
        <span class="off-screen">Search the history</span>
        <input
          type="search"
          placeholder="Search"
          value={typed}
          onInput={(event) => setTyped(event.currentTarget.value)}
        />
      </label>
      <p class="history-count" role="status">
        {sought === "" ? `The newest ${plural(entries.length, "entry", "entries")}` : `${found.length} found`}
      </p>
      <ol class="history">
        {found.map((entry, at) => (
          <Entry key={at} entry={entry} />
        ))}
      </ol>
    </div>
  );
}

function Entry({ entry: { time, text } }: { readonly entry: HistoryEntry }) {
  return (
    <li>
      <time class="history-time number">{time}</time>
      <p>{text}</p>
    </li>
  );
}
