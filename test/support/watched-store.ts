/** A store that tells what is asked of it, and fails when told to. */
import { type SessionLog, type SessionStore } from "../../src/session/store.js";

export type Watched = SessionStore & {
  /** What was asked for so far, in order: `open`, `isCurrent`, `read`, `append`, `replace`. */
  readonly calls: string[];
  /** Called before each of them; whatever it throws is what the caller gets. */
  before: (call: string) => void | Promise<void>;
};

export function watched(store: SessionStore): Watched {
  const calls: string[] = [];
  const told = async <T>(call: string, work: () => Promise<T>): Promise<T> => {
    calls.push(call);
    await result.before(call);
    return work();
  };
  const watchedLog = (log: SessionLog): SessionLog => ({
    get header() {
      return log.header;
    },
    get length() {
      return log.length;
    },
    get isStored() {
      return log.isStored;
    },
    path: log.path,
    isCurrent: () => told("isCurrent", () => log.isCurrent()),
    read: (from, to) => {
      calls.push("read");
      return log.read(from, to);
    },
    ...(log.lines && { lines: (from: number, to: number) => log.lines?.(from, to) ?? [] }),
    append: (header, rows) => told("append", () => log.append(header, rows)),
    replace: (header, rows) => told("replace", () => log.replace(header, rows)),
  });
  const result: Watched = {
    ...store,
    calls,
    before: () => {},
    open: (key) => told("open", async () => watchedLog(await store.open(key))),
  };
  return result;
}
