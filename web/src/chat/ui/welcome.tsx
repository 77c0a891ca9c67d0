/** An empty conversation: what this is, and something to begin with. */
import type { Overview } from "../../../../src/http/api.js";
import { usePage } from "../../shell/page.js";
import { useLoaded } from "../../ui/use-loaded.js";

const beginnings = ["What can you do?", "List the files in the workspace", "Remember that I like short answers"];

export function Welcome({ ask }: { readonly ask: (text: string) => void }) {
  const { api } = usePage();
  const { value } = useLoaded((signal) => api.get<Overview>("api/overview", signal), "overview");
  return (
    <div class="welcome">
      <h2>What shall we do?</h2>
      <p>
        {value === undefined ? (
          "\u00a0"
        ) : (
          <>
            You are talking to <b>{value.model}</b>. Everything is kept on your machine.
          </>
        )}
      </p>
      <ul class="beginnings">
        {beginnings.map((text) => (
          <li key={text}>
            <button type="button" class="beginning" onClick={() => ask(text)}>
              {text}
            </button>
          </li>
        ))}
      </ul>
    </div>
  );
}
