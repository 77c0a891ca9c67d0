/** What went wrong, and what to do about it, in words for people. */
export class Problem extends Error {
  /** What the reader can do. */
  readonly fix: string;
  /** 0 if nobody answered at all. */
  readonly status: number;

  constructor(message: string, { fix, status = 0, cause }: { fix: string; status?: number; cause?: unknown }) {
    super(message, { cause });
    this.name = "Problem";
    this.fix = fix;
    this.status = status;
  }
}

export const unreachable = (cause: unknown): Problem =>
  new Problem("The gateway does not answer.", {
    fix: "Is it running? `nanogate gateway` starts it, and this page goes on by itself.",
    cause,
  });

export async function refusal(response: Response): Promise<Problem> {
  const { status } = response;
  const said = (await response.json().catch(() => undefined)) as { error?: unknown } | undefined;
  const message = typeof said?.error === "string" ? said.error : `The gateway refused this (${status}).`;
  return new Problem(message, {
    fix: fixes[status] ?? (status >= 500 ? inTheLog : "Reload the page and try again."),
    status,
  });
}

const inTheLog = "The gateway's log says more. Try again in a moment.";

const fixes: Readonly<Record<number, string>> = {
  401: "Enter the access token of this gateway.",
  403: "Open the page under the address that the gateway printed when it started.",
  404: "It may be gone meanwhile, or be switched off in this gateway.",
  409: "Something else changed it meanwhile. Look at it again, then try once more.",
  413: "Send less at once: smaller pictures, or a shorter text.",
  421: "Open the page under the address that the gateway printed when it started.",
  429: "Wait a moment, then try again.",
  501: "This gateway is older than the page. Update it and reload.",
};

export const problemOf = (error: unknown): Problem => (error instanceof Problem ? error : unreachable(error));
