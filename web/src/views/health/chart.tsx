/** A chart in the colours of the page, as wide as its place. */
import { useEffect, useRef } from "preact/hooks";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { usePage } from "../../shell/page.js";

export type Series = {
  readonly label: string;
  readonly colour: Colour;
  readonly values: readonly number[];
  readonly format: (value: number) => string;
  /** How far apart the lines of the scale may be. */
  readonly steps?: readonly number[];
};
export type Colour = "--accent-fill" | "--good" | "--warn" | "--line-strong";

export type ChartProps = {
  readonly label: string;
  readonly kind: "line" | "bars";
  /** Seconds since 1970. */
  readonly times: readonly number[];
  /** Drawn one behind the other: the largest first. */
  readonly series: readonly Series[];
  readonly height: number;
};

export function Chart({ label, kind, times, series, height }: ChartProps) {
  const place = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const { theme } = usePage();
  const shape = `${kind} ${height} ${theme.theme.value} ${series.map((one) => one.label).join()}`;
  const data = [[...times], ...series.map(({ values }) => [...values])] as uPlot.AlignedData;
  const latest = useRef(data);
  latest.current = data;

  useEffect(() => {
    const element = place.current;
    if (!element) return undefined;
    const build = (): void => {
      chart.current?.destroy();
      chart.current = new uPlot(optionsOf(element, { kind, series, height }), latest.current, element);
    };
    build();
    const observer = new ResizeObserver(() => chart.current?.setSize({ width: element.clientWidth, height }));
    observer.observe(element);
    const scheme = matchMedia("(prefers-color-scheme: dark)");
    scheme.addEventListener("change", build);
    return () => {
      observer.disconnect();
      scheme.removeEventListener("change", build);
      chart.current?.destroy();
      chart.current = undefined;
    };
  }, [shape]);

  useEffect(() => chart.current?.setData(latest.current), [times, series]);

  return <div class="chart" ref={place} role="img" aria-label={label} />;
}

function optionsOf(
  element: HTMLElement,
  { kind, series, height }: Pick<ChartProps, "kind" | "series" | "height">,
): uPlot.Options {
  const colour = (name: string): string => resolved(element, name);
  const faint = colour("--ink-faint");
  const font = `11.5px ${getComputedStyle(element).fontFamily}`;
  const axis = { stroke: faint, font, ticks: { show: false }, grid: { stroke: colour("--line"), width: 1 } };
  const [first] = series;
  const format = first?.format ?? String;
  const isBars = kind === "bars";
  return {
    width: element.clientWidth,
    height,
    padding: [8, 20, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { show: !isBars } },
    legend: { show: isBars, live: true },
    scales: {
      x: { time: true, range: isBars ? aroundDays : lastMinute },
      y: { range: (_, __, most) => [0, Math.max(most * 1.1, 1e-6)] },
    },
    axes: [
      { ...axis, grid: { show: false }, size: 34, gap: 8, space: 90, values: isBars ? dayLabels : clockLabels },
      {
        ...axis,
        size: 58,
        space: 34,
        values: (_, values) => values.map((value) => format(value)),
        ...(first?.steps && { incrs: [...first.steps] }),
      },
    ],
    series: [
      { label: "Day", value: (_, time) => (time === null ? "" : day.format(time * 1000)) },
      ...series.map((one) => ({
        label: one.label,
        value: (_: uPlot, value: number | null) => (value === null ? "" : one.format(value)),
        points: { show: false },
        ...(isBars
          ? { paths: bars(), fill: colour(one.colour), width: 0 }
          : {
              stroke: colour(one.colour),
              width: 1.75,
              fill: `color-mix(in srgb, ${colour(one.colour)} 10%, transparent)`,
            }),
      })),
    ],
  };
}

/** Half a day to both sides, or the first and the last bar would be cut. */
const aroundDays: uPlot.Range.Function = (_, least, most) => [least - 43_200, most + 43_200];
/** At least a minute. uPlot says that a single moment lasts a day, so the times themselves are asked. */
const lastMinute: uPlot.Range.Function = ({ data: [times] }) => {
  const most = times.at(-1) ?? 0;
  return [Math.min(times[0] ?? 0, most - 60), most];
};

const bars = (): uPlot.Series.PathBuilder =>
  uPlot.paths.bars?.({ size: [0.7, 26], radius: 0.15 }) as uPlot.Series.PathBuilder;
const day = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const clock = new Intl.DateTimeFormat(undefined, { timeStyle: "medium" });
const clockLabels = (_: uPlot, values: readonly number[]): string[] =>
  values.map((value) => clock.format(value * 1000));
const dayLabels = (_: uPlot, values: readonly number[]): string[] => values.map((value) => day.format(value * 1000));

/** A colour of the page as a canvas understands it. */
function resolved(element: HTMLElement, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  element.append(probe);
  const { color } = getComputedStyle(probe);
  probe.remove();
  return color;
}
