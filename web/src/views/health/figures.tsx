/** The numbers one looks at first. */
import type { ComponentChildren } from "preact";
import type { Overview } from "../../../../src/http/api.js";
import { count, fromNow } from "../../ui/format.js";

export function Figures({ overview: { lanes, ledger } }: { readonly overview: Overview }) {
  const { answered = 0, failed = 0 } = ledger.outcomes;
  return (
    <dl class="figures">
      <Figure
        name="Conversations at work"
        value={count(lanes.lanes)}
        note={lanes.queued === 0 ? "nobody waits" : `${count(lanes.queued)} waiting`}
      />
      <Figure
        name="Messages open"
        value={count(ledger.open)}
        note={ledger.oldestOpenAt === undefined ? "all have an outcome" : `oldest ${fromNow(ledger.oldestOpenAt)}`}
      />
      <Figure
        name="To be sent"
        value={count(ledger.unsent)}
        note={ledger.unsent === 0 ? "nothing waits" : "tried again until it works"}
      />
      <Figure
        name="Answered"
        value={count(answered)}
        note={failed === 0 ? "none failed" : <a href="#/messages?show=problems">{count(failed)} failed</a>}
      />
      <Figure
        name="Put aside"
        value={count(ledger.dead)}
        note={ledger.dead === 0 ? "none" : <a href="#/messages?show=problems">Look at them</a>}
        isBad={ledger.dead > 0}
      />
    </dl>
  );
}

type FigureProps = {
  readonly name: string;
  readonly value: string;
  readonly note: ComponentChildren;
  readonly isBad?: boolean;
};

function Figure({ name, value, note, isBad = false }: FigureProps) {
  return (
    <div class="card figure" data-bad={isBad}>
      <dt>{name}</dt>
      <dd class="figure-value number">{value}</dd>
      <dd class="figure-note">{note}</dd>
    </div>
  );
}
