/** What a request asks for behind its question mark. */
import type { Asked } from "./event-stream.js";

/** A whole number, as near to what was asked for as is allowed. */
export function numberIn(
  context: Asked,
  name: string,
  { otherwise, most }: { otherwise: number; most: number },
): number {
  const asked = Number(context.req.query(name) ?? otherwise);
  return Number.isFinite(asked) ? Math.min(most, Math.max(0, Math.trunc(asked))) : otherwise;
}
