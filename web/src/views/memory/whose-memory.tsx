/** Where each chat has a memory of its own, one has to say whose. */
import type { SessionList } from "../../../../src/http/api.js";
import { usePage } from "../../shell/page.js";
import { addressOf } from "../../shell/route.js";
import { Empty, Skeleton } from "../../ui/parts.js";
import { useLoaded } from "../../ui/use-loaded.js";

export function WhoseMemory() {
  const { api } = usePage();
  const { value } = useLoaded((signal) => api.get<SessionList>("api/sessions?limit=200", signal), "sessions");
  if (!value) return <Skeleton />;
  return (
    <Empty icon="memory" title="Whose memory?">
      Here each conversation has a memory of its own.
      <ul class="whose">
        {value.sessions.map(({ key }) => (
          <li key={key}>
            <a href={addressOf({ view: "memory", query: { session: key } })}>{key}</a>
          </li>
        ))}
      </ul>
    </Empty>
  );
}
