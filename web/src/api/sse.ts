/** Server-sent events out of a stream of bytes, however it is cut into pieces. */

/** What a stream says: an event, or only that it is still there. */
export type Heard<Event> = { readonly kind: "event"; readonly event: Event } | { readonly kind: "breath" };

/** Takes text piece by piece; gives back what has become complete. */
export function createSseReader<Event>(): (piece: string) => Heard<Event>[] {
  let rest = "";
  let data: string[] = [];
  return (piece) => {
    const heard: Heard<Event>[] = [];
    const lines = (rest + piece).split("\n");
    rest = lines.pop() ?? "";
    for (const raw of lines) {
      const line = raw.endsWith("\r") ? raw.slice(0, -1) : raw;
      if (line.startsWith("data:")) data.push(line.slice(line[5] === " " ? 6 : 5));
      else if (line.startsWith(":")) heard.push({ kind: "breath" });
      else if (line === "" && data.length > 0) {
        heard.push({ kind: "event", event: JSON.parse(data.join("\n")) as Event });
        data = [];
      }
    }
    return heard;
  };
}

export async function* heardFrom<Event>(bytes: ReadableStream<Uint8Array>): AsyncGenerator<Heard<Event>> {
  const reader = bytes.getReader();
  const decoder = new TextDecoder();
  const read = createSseReader<Event>();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield* read(decoder.decode(value, { stream: true }));
    }
  } finally {
    // Whoever has heard enough hangs up.
    await reader.cancel().catch(() => {});
  }
}
