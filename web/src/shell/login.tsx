/** A gateway that can be reached from elsewhere wants its token first. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { Done, Login as LoginRequest } from "../../../src/http/api.js";
import { problemOf } from "../api/problem.js";
import { usePage } from "./page.js";

export function Login() {
  const page = usePage();
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.focus(), []);

  const enter = async (): Promise<void> => {
    try {
      const login: LoginRequest = { token: token.trim() };
      await page.api.post<Done>("api/login", login);
      location.reload();
    } catch (error) {
      const { message, fix } = problemOf(error);
      setProblem(`${message} ${fix}`);
    }
  };

  return (
    <main class="login">
      <form class="card login-card" onSubmit={(event) => (event.preventDefault(), void enter())}>
        <h1>This gateway is locked</h1>
        <p>
          Enter its access token: <code>gateway.token</code> of its configuration or, if there is none, what stands in
          the file <code>state/http-token</code> in its home.
        </p>
        <label class="field">
          Access token
          <input
            ref={field}
            type="password"
            autocomplete="current-password"
            required
            value={token}
            onInput={(event) => setToken(event.currentTarget.value)}
          />
        </label>
        {problem !== undefined && (
          <p class="field-problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="button primary">
          Open
        </button>
      </form>
    </main>
  );
}
