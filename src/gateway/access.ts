/** Who may speak: nobody who is not on the list of their channel. */
import type { Address } from "../message.js";

export type Access = (from: Address, sender: readonly string[]) => boolean;

/** An empty list lets nobody in; a star lets everybody in. A name may be written with the @ that people put in front. */
export function createAccess(allowFrom: ReadonlyMap<string, readonly string[]>): Access {
  return ({ channel }, sender) => {
    const allowed = allowFrom.get(channel) ?? [];
    return allowed.includes("*") || sender.some((name) => allowed.includes(name) || allowed.includes(`@${name}`));
  };
}
