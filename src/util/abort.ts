/** Waiting that ends when nobody wants the result any more. */

/**
 * What `work` comes to, or the signal's reason as soon as it is aborted. It only ends the waiting: `work` has to listen
 * to the signal itself, and whatever becomes of it later is nobody's business.
 */
export async function orAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  work.catch(() => {});
  signal.throwIfAborted();
  let stop = (): void => {};
  const aborted = new Promise<never>((_, reject) => {
    stop = () => reject(signal.reason as Error);
  });
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
