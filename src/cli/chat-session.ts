/** Which chat a `-s` value means: nanobot splits it at the first colon; without one it is a chat of the terminal. */
import type { Address } from "../message.js";

export function addressOf(session: string): Address {
  const at = session.indexOf(":");
  return at < 0 ? { channel: "cli", chat: session } : { channel: session.slice(0, at), chat: session.slice(at + 1) };
}
