/** Something the owner can put right: `message` says what broke, `fix` what to do about it. */
export class UserError extends Error {
  override readonly name: string = "UserError";
  readonly fix: string;

  constructor(message: string, fix: string, options?: ErrorOptions) {
    super(message, options);
    this.fix = fix;
  }
}

/** The `code` of a Node system error (`ENOENT`, …), or undefined for anything else. */
export function errorCode(error: unknown): string | undefined {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : undefined;
}

/** What went wrong, in words, whatever was thrown. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message || error.name : String(error);
}
