/** Backends under the document driver that a test can look into and break. */
import { join } from "node:path";
import { onTestFinished } from "vitest";
import type { DocumentBackend } from "../../src/session/document-backend.js";
import { openSqliteBackend } from "../../src/session/document-sqlite.js";
import { temporaryFolder } from "./workspace.js";

export function sqliteBackend(file: string = join(temporaryFolder(), "histories.sqlite")): DocumentBackend {
  const backend = openSqliteBackend(file);
  onTestFinished(() => backend.close());
  return backend;
}

/** Passes everything on, writes down every call, and fails those that `breaks` says. */
export function watched(backend: DocumentBackend) {
  const calls: string[] = [];
  const watch = {
    calls,
    /** The call is the `count`th since the test last set this, counted from 1. */
    breaks: (_call: "get" | "put" | "list", _count: number): boolean => false,
    reset() {
      calls.length = 0;
      watch.breaks = () => false;
    },
    get writes() {
      return calls.filter((call) => call.startsWith("put "));
    },
    backend: {
      get: async (key) => {
        note("get", key);
        return backend.get(key);
      },
      put: async (key, entry, expected) => {
        note("put", key);
        return backend.put(key, entry, expected);
      },
      list: (prefix) => {
        note("list", prefix);
        return backend.list(prefix);
      },
      close: () => backend.close(),
    } satisfies DocumentBackend,
  };
  const note = (call: "get" | "put" | "list", what: string): void => {
    calls.push(`${call} ${what}`);
    if (watch.breaks(call, calls.length)) throw new Error(`${call} is out of order`);
  };
  return watch;
}

export async function keysOf(backend: DocumentBackend, prefix = ""): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of backend.list(prefix)) keys.push(key);
  return keys.sort();
}

/** What an entry holds, read with the plainest of JSON readers. */
export async function entryAt(backend: DocumentBackend, key: string): Promise<unknown> {
  const entry = await backend.get(key);
  return entry && (JSON.parse(entry.value) as unknown);
}
