/** Ids nobody else chooses. `randomUUID` is not there on pages without TLS, such as those of a home server. */
const letters = "abcdefghjkmnpqrstuvwxyz23456789";

export function randomId(length: number): string {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return [...bytes].map((byte) => letters[byte % letters.length]).join("");
}
