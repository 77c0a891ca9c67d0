/** One piece of work within a longer life. */

/**
 * Gives the work a signal of its own, aborted with the longer one or after so long. Nothing of it stays behind on a
 * signal that lives as long as the program: `AbortSignal.any`, and libraries that only ever add listeners, leave something.
 */
export async function withOwnSignal<Result>(
  signal: AbortSignal,
  timeoutMs: number,
  work: (own: AbortSignal) => Promise<Result>,
): Promise<Result> {
  signal.throwIfAborted();
  const own = new AbortController();
  const stop = (): void => own.abort(signal.reason);
  const tooLate = (): void => own.abort(new DOMException(`no answer within ${timeoutMs / 1000} s`, "TimeoutError"));
  const timer = setTimeout(tooLate, timeoutMs);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await work(own.signal);
  } finally {
    clearTimeout(timer);
    signal.removeEventListener("abort", stop);
  }
}
