/** Keeps small things over a reload, in the browser. A browser that keeps nothing is no reason to fail. */
import type { Shelf } from "../chat/outbox.js";

export const createShelf = <T>(storage: () => Storage, name: string): Shelf<T> => ({
  read() {
    try {
      const text = storage().getItem(name);
      return text === null ? undefined : (JSON.parse(text) as T);
    } catch {
      return undefined;
    }
  },
  write(value) {
    try {
      storage().setItem(name, JSON.stringify(value));
    } catch {
      // Full, or not allowed.
    }
  },
});
