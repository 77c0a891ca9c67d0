/** Looks for a model server on this machine, for those who have no key. */
import type { World } from "../world.js";

export type LocalModel = { readonly provider: string; readonly baseUrl: string; readonly model: string };

/** In order of preference, at the places where they usually are. */
const servers: readonly { readonly provider: string; readonly port: number }[] = [
  { provider: "ollama", port: 11434 },
  { provider: "lm_studio", port: 1234 },
  { provider: "llama_cpp", port: 8080 },
];

/** They are listed beside the others but cannot talk. */
const mute = /embed|rerank|whisper|\bbge\b|\bclip\b/i;

export type LocalWorld = Pick<World, "fetch" | "listens">;

export async function findLocalModel(
  { fetch, listens = async () => true }: LocalWorld,
  timeoutMs = 300,
): Promise<LocalModel | undefined> {
  const signal = AbortSignal.timeout(timeoutMs);
  const found = await Promise.all(
    servers.map(async ({ provider, port }) => {
      if (!(await listens(port, signal))) return undefined;
      const baseUrl = `http://127.0.0.1:${port}/v1`;
      const model = await firstModel(fetch, `${baseUrl}/models`, signal).catch(() => undefined);
      return model === undefined ? undefined : { provider, baseUrl, model };
    }),
  );
  return found.find((one) => one !== undefined);
}

/** Whatever listens there may be no model server at all. */
async function firstModel(
  fetch: typeof globalThis.fetch,
  url: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const response = await fetch(url, { signal, redirect: "error" });
  if (!response.ok) return undefined;
  const { data } = (await response.json()) as { readonly data?: unknown };
  const ids = Array.isArray(data) ? data.map((entry: { readonly id?: unknown } | null) => entry?.id) : [];
  return ids.find((id): id is string => typeof id === "string" && id !== "" && !mute.test(id));
}
