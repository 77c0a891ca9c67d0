/** The command line: one file per command; this one only hands over. */
export async function main(_args: readonly string[]): Promise<number> {
  return 0;
}
