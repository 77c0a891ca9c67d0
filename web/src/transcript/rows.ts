/** The rows of one session, as far as somebody has looked: loaded in pages from the newest backwards, forgotten again. */
import { type ReadonlySignal, signal } from "@preact/signals";
import type { RowPage } from "../../../src/http/api.js";
import type { Row, SessionKey } from "../../../src/message.js";
import { type Api, pathOf } from "../api/client.js";
import { type Problem, problemOf } from "../api/problem.js";
import type { Range } from "../list/window.js";
import { type PagePlan, pageSize, pagesFor, tooFar } from "./pages.js";

export type Rows = {
  /** How many there are; undefined until the gateway has said so. */
  readonly total: ReadonlySignal<number | undefined>;
  readonly problem: ReadonlySignal<Problem | undefined>;
  /** Changes with every row that comes or goes. */
  readonly version: ReadonlySignal<number>;
  /** Undefined while it is not loaded. */
  row(index: number): Row | undefined;
  /** The line as it stands in the file, where lines were asked for. */
  line(index: number): string | undefined;
  /** The newest that are loaded, in order. */
  newest(): readonly Row[];
  /** Loads what is missing of these. */
  want(range: Range): void;
  /** Looks for new rows. `all`: what is known may be wrong, too. */
  refresh(how?: "all"): Promise<void>;
};

export type RowsParts = { readonly api: Api; readonly session: SessionKey; readonly isRaw?: boolean };

/** While somebody drags the scroll bar, rows that only fly past are not asked for. */
const restMs = 60;

export function createRows({ api, session, isRaw = false }: RowsParts): Rows {
  const total = signal<number | undefined>(undefined);
  const problem = signal<Problem | undefined>(undefined);
  const version = signal(0);
  const rows = new Map<number, { readonly row: Row; readonly line?: string }>();
  const loading = new Set<number>();
  let wanted: Range = { from: 0, to: 0 };
  let resting: ReturnType<typeof setTimeout> | undefined;
  /** Pages that were asked for before everything was forgotten are not wanted any more. */
  let era = 0;

  const ask = async (plan?: PagePlan): Promise<RowPage> => {
    // A conversation in which nothing has been said is no error, here.
    const asked = { before: plan?.before, limit: plan?.limit ?? pageSize, ...(isRaw && { raw: 1 }), empty: 1 };
    return api.get<RowPage>(pathOf(`api/sessions/${encodeURIComponent(session)}/rows`, asked));
  };

  const keep = (page: RowPage): void => {
    // Fewer than before: somebody has begun the conversation anew.
    if (page.total < (total.value ?? 0)) rows.clear();
    page.rows.forEach((row, at) => {
      const line = page.lines?.[at];
      rows.set(page.from + at, line === undefined ? { row } : { row, line });
    });
    for (const index of tooFar(rows.keys(), wanted, page.total)) rows.delete(index);
    total.value = page.total;
    version.value++;
  };

  const load = async (plan: PagePlan): Promise<void> => {
    const asked = era;
    loading.add(plan.page);
    try {
      const page = await ask(plan);
      if (asked === era) keep(page);
      problem.value = undefined;
    } catch (error) {
      problem.value = problemOf(error);
    } finally {
      loading.delete(plan.page);
    }
  };

  const loadWanted = (): void => {
    const missing = pagesFor(wanted, total.value ?? 0, (index) => rows.has(index));
    for (const plan of missing) if (!loading.has(plan.page)) void load(plan);
  };

  return {
    total,
    problem,
    version,
    row: (index) => rows.get(index)?.row,
    line: (index) => rows.get(index)?.line,
    newest() {
      const end = total.value ?? 0;
      const from = Math.max(0, end - pageSize);
      return Array.from({ length: end - from }, (_, at) => rows.get(from + at)?.row).filter((row) => row !== undefined);
    },
    want(range) {
      wanted = range;
      clearTimeout(resting);
      resting = setTimeout(loadWanted, restMs);
    },
    async refresh(how) {
      if (how === "all") era++;
      const asked = era;
      try {
        const page = await ask();
        if (asked !== era) return;
        if (how === "all") rows.clear();
        keep(page);
        problem.value = undefined;
        loadWanted();
      } catch (error) {
        problem.value = problemOf(error);
      }
    },
  };
}
