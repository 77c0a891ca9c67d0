/** The menu: beside the view on a desk, below it on a phone. */
import { Recent } from "../chat/ui/recent.js";
import { Icon } from "../ui/icon.js";
import { usePage } from "./page.js";
import { addressOf } from "./route.js";
import { ThemeButton } from "./theme-button.js";
import { views } from "./views.js";

export function Sidebar() {
  const { route, connection } = usePage();
  const { view } = route.value;
  return (
    <div class="sidebar">
      <div class="brand">
        <Logo /> nanogate
      </div>
      <nav class="menu" aria-label="Views">
        {views.map((entry) => (
          <a
            key={entry.view}
            class="menu-item"
            href={addressOf({ view: entry.view })}
            {...(entry.view === view && { "aria-current": "page" as const })}
          >
            <Icon name={entry.icon} />
            <span class="menu-name">{entry.name}</span>
            <span class="menu-short" aria-hidden="true">
              {entry.short ?? entry.name}
            </span>
          </a>
        ))}
      </nav>
      <Recent />
      <div class="sidebar-foot">
        <span class={`link-state ${connection.value}`} role="status">
          {connection.value === "open" ? "Connected" : connection.value === "lost" ? "Reconnecting" : "Connecting"}
        </span>
        <ThemeButton />
      </div>
    </div>
  );
}

function Logo() {
  return (
    <svg class="logo" width="22" height="22" viewBox="0 0 32 32" aria-hidden="true">
      <rect width="32" height="32" rx="9" class="logo-ground" />
      <path d="M9 24V14a7 7 0 0 1 14 0v10M16 24V13" class="logo-line" />
    </svg>
  );
}
