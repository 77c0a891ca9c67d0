/** The tool that sends a message in the middle of a turn, to this chat or to another. */
import * as z from "zod/mini";
import type { Address } from "../../message.js";
import { reasonOf } from "../../util/errors.js";
import type { Fence } from "./fence.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

export type ToolMessage = {
  readonly to: Address;
  readonly text: string;
  /**
   * Real paths of ordinary files inside the fence, at this moment. Whoever reads them later opens them through the
   * fence again: by then a path may lead elsewhere.
   */
  readonly media: readonly string[];
};

/** Resolves once the message is safely queued. Throws if that chat cannot or may not be spoken to from here. */
export type Send = (message: ToolMessage, from: Address, signal: AbortSignal) => Promise<void>;

const mostMedia = 10;

export const messageTool = (fence: Fence, send: Send): Tool =>
  defineTool({
    name: "message",
    description:
      "Send a message to the user right away, before your final answer, or to another chat. Use it to attach files. " +
      "To simply answer, answer: without this tool.",
    input: z.object({
      content: z.string().check(z.describe("The message content to send")),
      channel: z.optional(z.string().check(z.describe("Target channel, such as telegram (default: this one)"))),
      chat_id: z.optional(z.string().check(z.describe("Target chat id (default: this one)"))),
      media: z.optional(
        z.array(z.string()).check(z.maxLength(mostMedia), z.describe("Files of the workspace to attach")),
      ),
    }),
    async run({ content, channel, chat_id: chat, media: paths = [] }, { from, signal, said }) {
      const to = { channel: channel || from.channel, chat: chat || from.chat };
      if (to.channel === "" || to.chat === "") throw new ToolError("No target channel/chat specified");
      if (content.trim() === "" && paths.length === 0)
        throw new ToolError("The message is empty. Give content or media.");
      const media: string[] = [];
      for (const path of paths) media.push(await fence.read(path, (_, real) => Promise.resolve(real)));
      try {
        await send({ to, text: content, media }, from, signal);
      } catch (error) {
        signal.throwIfAborted();
        return `Error sending message: ${reasonOf(error)}`;
      }
      said?.(to);
      return `Message sent to ${to.channel}:${to.chat}${media.length > 0 ? ` with ${media.length} attachments` : ""}`;
    },
  });
