/** Tells whoever cannot see it that an answer has come. */
import { useEffect, useState } from "preact/hooks";
import { plainLine } from "../../ui/format.js";
import type { Conversation } from "../conversations.js";

const longest = 300;

export function Announcer({ conversation }: { readonly conversation: Conversation }) {
  const [words, setWords] = useState("");
  useEffect(
    () =>
      conversation.turns.subscribe((turns) => {
        const phase = turns.findLast((turn) => turn.phase.kind === "ended")?.phase;
        if (phase?.kind === "ended" && phase.reply !== "") setWords(plainLine(phase.reply).slice(0, longest));
      }),
    [conversation],
  );
  return (
    <div class="off-screen" role="status">
      {words === "" ? "" : `Answer: ${words}`}
    </div>
  );
}
