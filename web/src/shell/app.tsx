/** The frame of the page: the menu, the view, and whether the gateway is there. */
import { useEffect, useRef } from "preact/hooks";
import { Login } from "./login.js";
import { usePage } from "./page.js";
import { Sidebar } from "./sidebar.js";
import { views } from "./views.js";

export function App() {
  const page = usePage();
  const { view } = page.route.value;
  const main = useRef<HTMLElement>(null);
  const first = useRef(true);
  const entry = views.find((one) => one.view === view);

  useEffect(() => {
    document.title = view === "chat" ? "nanogate" : `${entry?.name ?? ""} · nanogate`;
    // Whoever goes to a view by keyboard goes on reading there.
    if (!first.current) main.current?.focus({ preventScroll: true });
    first.current = false;
  }, [view, entry]);

  if (page.connection.value === "locked") return <Login />;
  const Body = entry?.Body;
  return (
    <div class="app">
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), main.current?.focus())}>
        Skip to content
      </a>
      <Sidebar />
      <main class={`main view-${view}`} id="main" ref={main} tabIndex={-1} aria-label={entry?.name}>
        {page.connection.value === "lost" && (
          <div class="lost-notice" role="status">
            <span class="spinner" aria-hidden="true" /> The gateway does not answer. Reconnecting…
          </div>
        )}
        {Body && <Body key={view} />}
      </main>
    </div>
  );
}
