/** One conversation: its head, what was said, and where one writes. */
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { SessionKey } from "../../../../src/message.js";
import { VirtualList } from "../../list/virtual-list.js";
import { newChat, usePage } from "../../shell/page.js";
import { randomId } from "../../shell/random-id.js";
import { addressOf } from "../../shell/route.js";
import { contentOf, roleOf } from "../../transcript/row.js";
import { RowView } from "../../transcript/row-view.js";
import { Icon } from "../../ui/icon.js";
import { IconButton, ProblemNote, Skeleton } from "../../ui/parts.js";
import { type Conversation, stopPrefix } from "../conversations.js";
import { picturesIn } from "../images.js";
import { titleOf } from "../open-chats.js";
import type { Turn } from "../turns.js";
import { Announcer } from "./announcer.js";
import { Composer } from "./composer.js";
import { TurnView } from "./turn-view.js";
import { Welcome } from "./welcome.js";

export type ColumnProps = { readonly session: SessionKey; readonly isCurrent: boolean; readonly isAlone: boolean };

export function Column({ session, isCurrent, isAlone }: ColumnProps) {
  const { conversations, outbox, chats, api } = usePage();
  const conversation = conversations.of(session);
  const [toEnd, setToEnd] = useState(0);
  const [dropped, setDropped] = useState<readonly File[]>([]);
  // At once: nobody may forget the conversation between its being drawn and its being looked at.
  useLayoutEffect(() => conversations.look(session), [conversations, session]);
  useTitle(conversation);
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (isCurrent) element.current?.scrollIntoView({ inline: "nearest", block: "nearest" });
  }, [isCurrent]);
  const title = titleOf(session, chats.state.value.titles);

  const send = (text: string, images: readonly string[]): void => {
    outbox.send({ session, text, images, id: randomId(20) });
    setToEnd((count) => count + 1);
  };
  const stop = (): void => {
    const enough = new AbortController();
    const body = { session, text: "/stop", id: `${stopPrefix}${randomId(20)}` };
    void api.stream("api/turns", { body, signal: enough.signal }).then(({ body: told }) => told?.cancel());
  };
  const actions = {
    again: ({ id, question, images }: Turn) => outbox.send({ session, text: question ?? "", images, id }),
    withdraw: ({ id }: Turn) => conversation.happen({ kind: "withdrawn", id }),
  };

  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- a button takes pictures, too
    <section
      class="column"
      ref={element}
      aria-label={title}
      data-current={isCurrent}
      onFocusIn={() => chats.focus(session)}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        // Otherwise the browser would leave the page to show the file.
        event.preventDefault();
        setDropped(picturesIn(event.dataTransfer));
      }}
    >
      <header class="column-head">
        <h2 title={session}>{title}</h2>
        {title !== session && !session.startsWith("web:") && <span class="column-key">{session}</span>}
        <a
          class="icon-button"
          href={addressOf({ view: "conversations", subject: session })}
          aria-label="Read all of it"
          title="Read all of it"
        >
          <Icon name="conversations" />
        </a>
        <IconButton icon="beside" label="New chat beside this" onClick={() => chats.beside(newChat())} />
        {!isAlone && <IconButton icon="close" label={`Close ${title}`} onClick={() => chats.close(session)} />}
      </header>
      <Body
        conversation={conversation}
        toEnd={toEnd}
        goToEnd={() => setToEnd((count) => count + 1)}
        actions={actions}
        ask={send}
      />
      <Announcer conversation={conversation} />
      <div class="column-foot">
        {!isLocal(session) && (
          <p class="column-note">
            You continue this conversation here. Answers appear here only, not on {session.split(":")[0]}.
          </p>
        )}
        <Composer
          label={`Message to ${title}`}
          isBusy={conversation.isBusy.value}
          isFocused={isCurrent}
          dropped={dropped}
          send={send}
          stop={stop}
        />
      </div>
    </section>
  );
}

/** What is said there is heard by whoever looks; all others are platforms. */
const isLocal = (session: SessionKey): boolean => /^(?:web|cli|api|file):/.test(session);

type BodyProps = {
  readonly conversation: Conversation;
  readonly toEnd: number;
  readonly goToEnd: () => void;
  readonly actions: { readonly again: (turn: Turn) => void; readonly withdraw: (turn: Turn) => void };
  readonly ask: (text: string, images: readonly string[]) => void;
};

function Body({ conversation, toEnd, goToEnd, actions, ask }: BodyProps) {
  const [isAtEnd, setAtEnd] = useState(true);
  const { rows, places, session } = conversation;
  const shown = places.value;
  const { count } = shown;
  // Rows that come are drawn.
  void rows.version.value;
  const total = rows.total.value;
  const want = useCallback((range: { from: number; to: number }) => rows.want(range), [rows]);
  if (rows.problem.value && total === undefined) {
    return <ProblemNote problem={rows.problem.value} retry={() => void rows.refresh("all")} />;
  }
  if (count === 0) return total === undefined ? <Skeleton /> : <Welcome ask={(text) => ask(text, [])} />;
  return (
    <div class="column-body">
      <VirtualList
        id={session}
        count={count}
        label="Conversation"
        guess={96}
        toEnd={toEnd}
        onRange={want}
        onEnd={setAtEnd}
        row={(index) => {
          const place = shown.at(index);
          if (place.kind === "turn") return <TurnView key={place.turn.id} turn={place.turn} actions={actions} />;
          return <RowView rows={rows} index={place.row} />;
        }}
      />
      {!isAtEnd && (
        <button type="button" class="button small to-end" onClick={goToEnd}>
          To the newest
        </button>
      )}
    </div>
  );
}

/** A conversation is called after what was said first. */
function useTitle({ session, rows, turns }: Conversation): void {
  const { chats } = usePage();
  void rows.version.value;
  const first = rows.row(0);
  const question = first && roleOf(first) === "user" ? contentOf(first).text : undefined;
  const asked = rows.total.value === 0 ? turns.value[0]?.question : undefined;
  const title = question ?? asked;
  useEffect(() => {
    if (title !== undefined && session.startsWith("web:") && !title.startsWith("/")) chats.name(session, title);
  }, [chats, session, title]);
}
