/** Light, dark, or as the system has it. */
import { Icon } from "../ui/icon.js";
import { usePage } from "./page.js";

const names = { auto: "as the system", light: "light", dark: "dark" } as const;

export function ThemeButton({ hasWords = false }: { readonly hasWords?: boolean }) {
  const { theme } = usePage();
  const words = `Colours: ${names[theme.theme.value]}`;
  return (
    <button
      type="button"
      class={hasWords ? "button small" : "icon-button"}
      aria-label={`${words}. Change`}
      title={words}
      onClick={(event) => (event.stopPropagation(), theme.next())}
    >
      <Icon name={theme.theme.value} />
      {hasWords && words}
    </button>
  );
}
