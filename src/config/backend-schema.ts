/** Agents that hold conversations themselves: how each is reached, which chats use it, and when a conversation is begun anew. */
import * as z from "zod/mini";
import {
  decimal,
  flag,
  maybeText,
  optionalSection,
  section,
  text,
  textList,
  textMap,
  whole,
} from "../util/settings.js";

/** Who answers: a backend's name, or `model` for the model provider. */
const used = z.pipe(
  z.transform((value) => (typeof value === "string" ? { backend: value } : value)),
  section({
    backend: text(),
    stateless: z._default(flag(), false),
  }),
);

export const backends = optionalSection({
  "claude-cli": optionalSection({
    command: z._default(text(), "claude"),
    /** Where it works; empty: `claude` in the workspace. */
    folder: z._default(text(), ""),
    configDir: z._default(text(), ""),
    model: z._default(text(), ""),
    fallbackModel: z._default(text(), ""),
    permissionMode: z._default(text(), ""),
    allowedTools: z._default(textList(), []),
    disallowedTools: z._default(textList(), []),
    /** 0: as many as it likes. */
    maxTurns: z._default(whole(0), 0),
    args: z._default(textList(), []),
    env: z._default(textMap(), {}),
    timeoutSeconds: z._default(whole(1), 600),
  }),
  "openai-responses": optionalSection({
    model: z._default(text(), ""),
    apiKey: z._default(maybeText(), ""),
    apiBase: z._default(text(), "https://api.openai.com/v1"),
    timeoutSeconds: z._default(whole(1), 600),
  }),
  /** A session, the beginning of one up to a colon, or a channel, and who answers there. */
  use: z._default(z.record(z.string(), used, "must be an object"), {}),
});

export const rotation = optionalSection({
  /** Messages in one conversation of a backend. */
  windowSize: z._default(whole(1), 20),
  /** So many of the last messages begin the next one. */
  bootstrapMessages: z._default(whole(0), 100),
  bootstrapTokens: z._default(whole(1000), 32_000),
  /** A conversation that rested for longer is not taken up again. */
  maxAgeHours: z._default(decimal().check(z.gt(0, "must be more than 0")), 24),
});
