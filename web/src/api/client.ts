/** Asks the gateway. Paths are relative, so that the page also works behind a proxy that puts it into a folder. */
import { Problem, refusal, unreachable } from "./problem.js";

export type Api = {
  get<T>(path: string, signal?: AbortSignal): Promise<T>;
  post<T>(path: string, body?: unknown): Promise<T>;
  remove<T>(path: string): Promise<T>;
  /** An answer that goes on: a stream of events. */
  stream(path: string, request: { readonly body?: unknown; readonly signal: AbortSignal }): Promise<Response>;
};

export type ApiParts = {
  readonly fetch: typeof fetch;
  /** The gateway wants to know who this is. */
  readonly onLocked: () => void;
};

export function createApi({ fetch, onLocked }: ApiParts): Api {
  const ask = async (path: string, init: RequestInit): Promise<Response> => {
    const response = await fetch(path, { credentials: "same-origin", ...init }).catch((error: unknown) => {
      throw unreachable(error);
    });
    if (response.ok) return response;
    if (response.status === 401) onLocked();
    throw await refusal(response);
  };

  const read = async <T>(response: Response): Promise<T> => {
    try {
      return (await response.json()) as T;
    } catch (cause) {
      throw new Problem("The gateway's answer broke off.", { fix: "Try again.", cause });
    }
  };

  return {
    get: async (path, signal) => read(await ask(path, signal ? { signal } : {})),
    post: async (path, body) => read(await ask(path, withBody("POST", body))),
    remove: async (path) => read(await ask(path, withBody("DELETE", {}))),
    stream: (path, { body, signal }) => ask(path, { ...(body !== undefined && withBody("POST", body)), signal }),
  };
}

/** JSON even where there is nothing to say: no form of another site can send that. */
const withBody = (method: string, body: unknown = {}): RequestInit => ({
  method,
  headers: { "content-type": "application/json" },
  body: JSON.stringify(body),
});

/** `api/sessions` and what to ask for; what is undefined or empty is left out. */
export function pathOf(path: string, asked: Readonly<Record<string, string | number | undefined>>): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(asked)) {
    if (value !== undefined && value !== "") query.set(name, String(value));
  }
  return query.size === 0 ? path : `${path}?${query}`;
}
