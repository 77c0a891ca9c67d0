/**
 * The chat of an editor: one conversation for each file, chosen by the file alone. The id that editors send along is
 * theirs to keep; it is the same for the same file, and decides nothing.
 */
import { randomUUID } from "node:crypto";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod/mini";
import { isCommand } from "../gateway/commands.js";
import type { Inbound, ToolCall } from "../message.js";
import { reasonOf } from "../util/errors.js";
import type { Log } from "../world.js";
import { type Answer, createAnswer, createTextFlow } from "./answer.js";
import { ask, type AskParts, type Told } from "./asking.js";
import { chatId, fileChat } from "./chat-names.js";
import type { Asked, DoorApp, OpenStream } from "./event-stream.js";

export type EditorParts = AskParts & { readonly openStream: OpenStream; readonly log: Log };

const wellFormed = z.refine<string>((text) => text.isWellFormed(), "must be whole characters");

export const chatRequest = z.object({
  message: z.string().check(z.minLength(1), wellFormed),
  session_id: z.optional(z.nullable(z.string())),
  /** The path of the file, as the editor knows it. */
  active_file: z.optional(z.nullable(z.string().check(z.maxLength(4096), wellFormed))),
});
export const chatResponse = z.object({ response: z.string(), session_id: z.uuid() });

/** One event of `POST /chat/stream`. `response` is the whole answer, whatever the pieces were; `done` comes last, always. */
export const chatEvent = z.discriminatedUnion("type", [
  z.object({ type: z.literal("tool_call"), tool: z.string(), arguments: z.unknown() }),
  z.object({ type: z.literal("tool_result"), tool: z.string(), result: z.string() }),
  z.object({ type: z.literal("delta"), text: z.string() }),
  z.object({ type: z.literal("response"), response: z.string() }),
  z.object({ type: z.literal("error"), error: z.string() }),
  z.object({ type: z.literal("done"), session_id: z.uuid() }),
]);
type ChatEvent = z.infer<typeof chatEvent>;

const codes = { failed: 500, busy: 429, postponed: 503 } as const satisfies Record<string, ContentfulStatusCode>;
/** What went wrong stands in the log; paths and keys have no business in an editor. */
const failed = "Something went wrong here, and nothing of it was stored. Please try again.";

export function addEditorRoutes(app: DoorApp, parts: EditorParts): void {
  const { openStream, log } = parts;
  const lost = (error: unknown): void => log.warn(`An editor's message was not taken: ${reasonOf(error)}`, { error });

  app.post("/chat", async (context) => {
    const message = await questionIn(context);
    if (!message) return context.json({ error: "Send {message, active_file}." }, 400);
    const answer = createAnswer();
    await ask(parts, message, (told) => answer.hear(told)).over.catch(lost);
    const { result } = answer;
    if (result.kind === "answered") {
      return context.json({ response: result.text, session_id: chatId(message.from) }, 200);
    }
    return context.json({ error: wordsOf(result) }, codes[result.kind]);
  });

  app.post("/chat/stream", async (context) => {
    const message = await questionIn(context);
    if (!message) return context.json({ error: "Send {message, active_file}." }, 400);
    return openStream(context, ({ send, end }) => {
      const tell = (event: ChatEvent): void => send(JSON.stringify(event));
      const answer = createAnswer();
      const flow = createTextFlow((text) => tell({ type: "delta", text }));
      const { over, leave } = ask(parts, message, (told) => {
        answer.hear(told);
        flow.hear(told);
        const event = toolEvent(told);
        if (event) tell(event);
      });
      const finish = async (): Promise<void> => {
        await over.catch(lost);
        const { result } = answer;
        if (result.kind === "answered") tell({ type: "response", response: result.text });
        else tell({ type: "error", error: wordsOf(result) });
        tell({ type: "done", session_id: chatId(message.from) });
        end();
      };
      void finish();
      return leave;
    });
  });
}

async function questionIn(context: Asked): Promise<Inbound | undefined> {
  const asked = z.safeParse(chatRequest, await context.req.json().catch(() => undefined));
  if (!asked.success) return undefined;
  const { message, active_file: file = null } = asked.data;
  return {
    id: randomUUID(),
    from: fileChat(file),
    sender: ["owner"],
    text: file && !isCommand(message) ? `[The file open in the editor: ${file}]\n\n${message}` : message,
    media: [],
  };
}

const wordsOf = ({ kind, words }: Exclude<Answer, { kind: "answered" }>): string =>
  kind === "failed" ? failed : words;

function toolEvent(told: Told): ChatEvent | undefined {
  if (told.kind === "tool-call") {
    return { type: "tool_call", tool: told.call.function.name, arguments: argumentsOf(told.call) };
  }
  if (told.kind === "tool-result") return { type: "tool_result", tool: told.call.function.name, result: told.result };
  return undefined;
}

/** What the model wrote is meant to be JSON. */
function argumentsOf({ function: { arguments: text } }: ToolCall): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
