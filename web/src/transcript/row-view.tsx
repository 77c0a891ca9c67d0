/** One stored row, as people read it. A tool's result is shown with the call that asked for it. */
import type { Row } from "../../../src/message.js";
import { exactTime, timeOfDay } from "../ui/format.js";
import { callIdOf, callsOf, contentOf, roleOf, timeOf } from "./row.js";
import type { Rows } from "./rows.js";
import { Answered, Asked } from "./said.js";
import { StepView } from "./step-view.js";

/** A pause so long is worth a line with the time. */
const pauseMs = 30 * 60_000;
/** A call and its results are never further apart than a model calls tools at once. */
const farthestResult = 40;

export function RowView({ rows, index }: { readonly rows: Rows; readonly index: number }) {
  const row = rows.row(index);
  if (!row) return <div class="row-unloaded" aria-hidden="true" />;
  const time = timeOf(row);
  const before = index === 0 ? undefined : rows.row(index - 1);
  const isAfterPause = isPause(before && timeOf(before), time, index);
  return (
    <>
      {isAfterPause && time !== undefined && (
        <div class="pause" title={exactTime(time)}>
          {timeOfDay(time)}
        </div>
      )}
      <Body rows={rows} row={row} index={index} />
    </>
  );
}

const isPause = (before: number | undefined, now: number | undefined, index: number): boolean =>
  now !== undefined && (index === 0 || (before !== undefined && now - before > pauseMs));

function Body({ rows, row, index }: { readonly rows: Rows; readonly row: Row; readonly index: number }) {
  const { text, images } = contentOf(row);
  const role = roleOf(row);
  if (role === "user") return <Asked text={text} images={images} />;
  if (role === "tool")
    return isShownAbove(rows, row, index) ? null : (
      <Stray name={typeof row["name"] === "string" ? row["name"] : "tool"} text={text} />
    );
  if (role !== "assistant") return <Stray name={role} text={text} />;
  const calls = callsOf(row);
  return (
    <div class="turn-part">
      {text !== "" && (calls.length > 0 ? <p class="progress">{text}</p> : <Answered text={text} />)}
      {calls.length > 0 && (
        <div class="steps">
          {calls.map((call) => (
            <StepView key={call.id} call={call} result={resultOf(rows, index, call.id)} />
          ))}
        </div>
      )}
    </div>
  );
}

/** A row that stands alone: of a role nobody expects, or a result without its call. */
function Stray({ name, text }: { readonly name: string; readonly text: string }) {
  const call = { id: "", type: "function", function: { name, arguments: "{}" } } as const;
  return (
    <div class="steps">
      <StepView call={call} result={text} />
    </div>
  );
}

function resultOf(rows: Rows, index: number, call: string): string | undefined {
  for (let at = index + 1; at <= index + farthestResult; at++) {
    const row = rows.row(at);
    if (!row || roleOf(row) !== "tool") return undefined;
    if (callIdOf(row) === call) return contentOf(row).text;
  }
  return undefined;
}

function isShownAbove(rows: Rows, row: Row, index: number): boolean {
  const id = callIdOf(row);
  for (let at = index - 1; at >= 0 && at >= index - farthestResult; at--) {
    const earlier = rows.row(at);
    if (!earlier) return true;
    if (roleOf(earlier) !== "tool") return callsOf(earlier).some((call) => call.id === id);
  }
  return false;
}
