/** Tokens per day, per conversation and per model. */
import { useMemo, useState } from "preact/hooks";
import type { UsageEntry, UsageList } from "../../../../src/http/api.js";
import { pathOf } from "../../api/client.js";
import { usePage } from "../../shell/page.js";
import { addressOf } from "../../shell/route.js";
import { count, plural, short } from "../../ui/format.js";
import { Empty, ProblemNote, Skeleton } from "../../ui/parts.js";
import { Segmented } from "../../ui/segmented.js";
import { useLoaded } from "../../ui/use-loaded.js";
import { Chart, type Series } from "./chart.js";
import { dailySums, largestFirst, type Sum, sumsBy, tokensOf } from "./usage-sums.js";

type Days = "7" | "30" | "90";
const shownBars = 8;

export function Usage() {
  const { api } = usePage();
  const [days, setDays] = useState<Days>("30");
  const path = pathOf("api/usage", { days });
  const { value, problem, reload } = useLoaded((signal) => api.get<UsageList>(path, signal), path);
  return (
    <section class="health-part" aria-label="Usage">
      <header class="next-head">
        <h2>Tokens</h2>
        <Segmented
          label="Period"
          options={[
            ["7", "7 days"],
            ["30", "30 days"],
            ["90", "90 days"],
          ]}
          value={days}
          choose={setDays}
        />
      </header>
      {problem && <ProblemNote problem={problem} retry={reload} />}
      {!value && !problem && <Skeleton />}
      {value?.usage.length === 0 && (
        <Empty icon="health" title="No tokens used in this time">
          As soon as a model answers, its tokens are counted here.
        </Empty>
      )}
      {value && value.usage.length > 0 && <Charts usage={value.usage} days={Number(days)} />}
    </section>
  );
}

function Charts({ usage, days }: { readonly usage: readonly UsageEntry[]; readonly days: number }) {
  const daily = useMemo(() => dailySums(usage, days, new Date()), [usage, days]);
  const times = useMemo(() => daily.map(({ name }) => Date.parse(`${name}T12:00:00`) / 1000), [daily]);
  const series = useMemo(() => seriesOf(daily), [daily]);
  const whole = daily.reduce((sum, day) => sum + tokensOf(day), 0);
  const turns = daily.reduce((sum, day) => sum + day.turns, 0);
  return (
    <>
      <figure class="card chart-card">
        <figcaption>
          Per day{" "}
          <b class="number">
            {short(whole)} tokens in {plural(turns, "turn")}
          </b>
        </figcaption>
        <Chart
          label={`Tokens per day over ${days} days, ${count(whole)} in all`}
          kind="bars"
          times={times}
          series={series}
          height={200}
        />
        <DayTable daily={daily} />
      </figure>
      <div class="charts">
        <Bars
          title="Per conversation"
          sums={sumsBy(usage, ({ session }) => session)}
          linkOf={(name) => addressOf({ view: "conversations", subject: name })}
        />
        <Bars title="Per model" sums={sumsBy(usage, ({ model }) => model)} />
      </div>
    </>
  );
}

/** One behind the other: all, of that what was new to the model, of that what it wrote. */
function seriesOf(daily: readonly Sum[]): Series[] {
  return [
    { label: "all", colour: "--line-strong", values: daily.map(tokensOf), format: short },
    {
      label: "not cached",
      colour: "--accent-fill",
      values: daily.map((day) => tokensOf(day) - day.cached),
      format: short,
    },
    { label: "written", colour: "--good", values: daily.map(({ output }) => output), format: short },
  ];
}

function DayTable({ daily }: { readonly daily: readonly Sum[] }) {
  return (
    <details class="as-table">
      <summary>As a table</summary>
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col" class="right">
              Turns
            </th>
            <th scope="col" class="right">
              Read
            </th>
            <th scope="col" class="right">
              Of it cached
            </th>
            <th scope="col" class="right">
              Written
            </th>
          </tr>
        </thead>
        <tbody>
          {daily
            .filter(({ turns }) => turns > 0)
            .reverse()
            .map(({ name, turns, input, cached, output }) => (
              <tr key={name} class="number">
                <td>{name}</td>
                <td class="right">{count(turns)}</td>
                <td class="right">{count(input)}</td>
                <td class="right">{count(cached)}</td>
                <td class="right">{count(output)}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </details>
  );
}

type BarsProps = { readonly title: string; readonly sums: readonly Sum[]; readonly linkOf?: (name: string) => string };

function Bars({ title, sums, linkOf }: BarsProps) {
  const shown = largestFirst(sums).slice(0, shownBars);
  const most = Math.max(1, ...shown.map(tokensOf));
  return (
    <figure class="card chart-card">
      <figcaption>{title}</figcaption>
      <ol class="bars">
        {shown.map((sum) => (
          <li
            key={sum.name}
            title={`${count(sum.input)} read, ${count(sum.output)} written, ${plural(sum.turns, "turn")}`}
          >
            <span class="bar-name">{linkOf ? <a href={linkOf(sum.name)}>{sum.name}</a> : sum.name}</span>
            <span class="bar-value number">{short(tokensOf(sum))}</span>
            <span class="bar" aria-hidden="true">
              <i style={{ width: `${(tokensOf(sum) / most) * 100}%` }} />
            </span>
          </li>
        ))}
      </ol>
      {sums.length > shown.length && <p class="next-none">and {plural(sums.length - shown.length, "other")}</p>}
    </figure>
  );
}
