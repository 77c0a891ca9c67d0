/** All conversations of all channels: found on the left, read on the right; on a phone one after the other. */
import { usePage } from "../../shell/page.js";
import { Empty } from "../../ui/parts.js";
import { Reader } from "./reader.js";
import { SessionFinder } from "./session-finder.js";
import "../../styles/conversations.css";

export function ConversationsView() {
  const { route } = usePage();
  const { subject } = route.value;
  return (
    <div class="split" data-reading={subject !== undefined}>
      <SessionFinder current={subject} />
      {subject === undefined ? (
        <section class="split-main">
          <Empty icon="conversations" title="Choose a conversation">
            Every chat of every channel is here, from its newest message backwards.
          </Empty>
        </section>
      ) : (
        <Reader key={subject} session={subject} />
      )}
    </div>
  );
}
