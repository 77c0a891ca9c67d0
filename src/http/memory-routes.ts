/** What is remembered, for the page: the text, its log, and every change with a way back. */
import type { MemoryFiles } from "../agent/memory-files.js";
import type { MemoryVersion } from "../agent/memory-versions.js";
import type { SessionKey } from "../message.js";
import type { MemoryChange } from "./api.js";
import type { Asked, DoorApp } from "./event-stream.js";

export type MemoryParts = {
  readonly memory: {
    /** `chat`: each chat has a memory of its own, and it has to be said whose is meant. */
    readonly scope: "workspace" | "chat";
    readonly of: (session: SessionKey) => MemoryFiles;
  };
};

const historyBytes = 64 * 1024;

export function addMemoryRoutes(app: DoorApp, { memory }: MemoryParts): void {
  const filesFor = (context: Asked): MemoryFiles | undefined => {
    const session = context.req.query("session");
    return memory.scope === "chat" && !session ? undefined : memory.of(session ?? "");
  };
  const whose = (context: Asked): Response =>
    context.json({ error: "Here each chat has a memory of its own. Say whose: ?session=telegram:42" }, 400);
  const unknown = (context: Asked): Response => context.json({ error: "There is no such change." }, 404);

  app.get("/api/memory", async (context) => {
    const files = filesFor(context);
    if (!files) return whose(context);
    const { text, versions } = await look(files);
    const changes = versions.map((version) => changeOf(version, versions, text));
    return context.json({ memory: text, history: await files.newestEntries(historyBytes), changes });
  });

  app.get("/api/memory/:id", async (context) => {
    const files = filesFor(context);
    if (!files) return whose(context);
    const { text, versions } = await look(files);
    const version = versions.find(({ id }) => String(id) === context.req.param("id"));
    if (!version) return unknown(context);
    const { before, after } = version;
    return context.json({ ...changeOf(version, versions, text), before, after });
  });

  app.post("/api/memory/:id/undo", async (context) => {
    const files = filesFor(context);
    if (!files) return whose(context);
    const { text, versions } = await look(files);
    const version = versions.find(({ id }) => String(id) === context.req.param("id"));
    if (!version) return unknown(context);
    const { before, after } = version;
    const done =
      changeOf(version, versions, text).isUndoable &&
      (await files.commit({ by: { kind: "undo" }, entry: "", memory: { from: after, to: before } }));
    if (!done)
      return context.json({ error: "MEMORY.md has been changed since. Only the last change can be undone." }, 409);
    return context.json({ done });
  });
}

/** The text and all its changes, those made by hand included; the newest first. */
async function look(files: MemoryFiles): Promise<{ text: string; versions: readonly MemoryVersion[] }> {
  await files.noticeEdits();
  return { text: await files.memory(), versions: await files.versions() };
}

const changeOf = (version: MemoryVersion, all: readonly MemoryVersion[], text: string): MemoryChange => ({
  id: String(version.id),
  time: version.time,
  by: version.by,
  // Taking back an older one would take back those after it, too.
  isUndoable: version === all[0] && version.after === text,
});
