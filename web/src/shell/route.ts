/** The address within the page: `#/conversations/telegram:42?raw=1`. Everything worth sharing or reloading is in it. */
export type View = "chat" | "conversations" | "messages" | "memory" | "schedule" | "health";

export type Route = {
  readonly view: View;
  /** A conversation, a message, a change. */
  readonly subject?: string;
  readonly query: Readonly<Record<string, string>>;
};

const views: readonly View[] = ["chat", "conversations", "messages", "memory", "schedule", "health"];

export function readRoute(hash: string): Route {
  const [path = "", search = ""] = hash.replace(/^#\/?/, "").split("?", 2);
  const [name, ...rest] = path.split("/");
  const view = views.find((known) => known === name) ?? "chat";
  const subject = decode(rest.join("/"));
  const query = Object.fromEntries(new URLSearchParams(search));
  return view === name && subject !== "" ? { view, subject, query } : { view, query };
}

export function addressOf({ view, subject, query = {} }: Partial<Route> & { readonly view: View }): string {
  const search = new URLSearchParams(query).toString();
  return `#/${view}${subject === undefined ? "" : `/${encodeURIComponent(subject)}`}${search === "" ? "" : `?${search}`}`;
}

/** Somebody may have typed it. */
function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
