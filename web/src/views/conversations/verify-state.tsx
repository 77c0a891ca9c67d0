/** Is the file of a conversation whole? */
import { useState } from "preact/hooks";
import type { Verified } from "../../../../src/http/api.js";
import { usePage } from "../../shell/page.js";
import { plural } from "../../ui/format.js";
import { useLoaded } from "../../ui/use-loaded.js";

export function VerifyState({ session }: { readonly session: string }) {
  const { api } = usePage();
  const [isOpen, setOpen] = useState(false);
  const path = `api/sessions/${encodeURIComponent(session)}/verify`;
  const { value, problem } = useLoaded((signal) => api.get<Verified>(path, signal), session);
  if (problem) return <span class="badge warn">Could not be checked</span>;
  if (!value) return <span class="badge">Checking…</span>;
  if (value.ok) return <span class="badge good">Whole</span>;
  return (
    <span class="verify">
      <button type="button" class="badge bad" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
        {plural(value.problems.length, "problem")}
      </button>
      {isOpen && (
        <span class="verify-list card">
          {value.problems.map((words) => (
            <span key={words}>{words}</span>
          ))}
          <span>
            <code>nanogate sessions verify --repair</code> keeps what is whole and sets the rest aside.
          </span>
        </span>
      )}
    </span>
  );
}
