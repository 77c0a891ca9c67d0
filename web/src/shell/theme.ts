/** Light, dark, or as the system has it. */
import { effect, type ReadonlySignal, signal } from "@preact/signals";
import type { Shelf } from "../chat/outbox.js";

export type Theme = "auto" | "light" | "dark";
export type ThemeChoice = { readonly theme: ReadonlySignal<Theme>; next(): void };

const order: readonly Theme[] = ["auto", "light", "dark"];

export function createTheme(shelf: Shelf<Theme>, root: HTMLElement): ThemeChoice {
  const kept = shelf.read();
  const theme = signal<Theme>(order.find((one) => one === kept) ?? "auto");
  effect(() => {
    root.dataset["theme"] = theme.value;
  });
  return {
    theme,
    next() {
      theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? "auto";
      shelf.write(theme.value);
    },
  };
}
