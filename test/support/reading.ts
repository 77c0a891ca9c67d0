/** Reads a model's stream to its end, whichever end that is. */
import { type Model, ModelError, type ModelEvent, type ModelRequest } from "../../src/providers/provider.js";

export const ask = (text: string, more: Partial<ModelRequest> = {}): ModelRequest => ({
  messages: [{ role: "user", content: text }],
  tools: [],
  ...more,
});

export async function read(model: Model, request: ModelRequest, signal = new AbortController().signal) {
  const events: ModelEvent[] = [];
  const seen = {
    events,
    texts: [] as string[],
    reply: undefined as Extract<ModelEvent, { kind: "reply" }>["reply"] | undefined,
    error: undefined as unknown,
    /** The kind of the failure, or what else was thrown. */
    failure: undefined as unknown,
  };
  try {
    for await (const event of model.stream(request, signal)) {
      events.push(event);
      if (event.kind === "text") seen.texts.push(event.text);
      if (event.kind === "reply") seen.reply = event.reply;
    }
  } catch (error) {
    seen.error = error;
    seen.failure = error instanceof ModelError ? error.kind : error;
  }
  return seen;
}

/** A promise and the function that keeps it: how a test decides what happens when. */
export function gate(): { readonly passed: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const passed = new Promise<void>((resolve) => (open = resolve));
  return { passed, open };
}
