/** Waits, but no longer than there is reason to: the network is back, or somebody looks at the page again. */
export function hopefulWait(browser: Window, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const { document } = browser;
    const done = (): void => {
      clearTimeout(timer);
      browser.removeEventListener("online", done);
      document.removeEventListener("visibilitychange", seen);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const seen = (): void => void (document.visibilityState === "visible" && done());
    const timer = setTimeout(done, ms);
    browser.addEventListener("online", done);
    document.addEventListener("visibilitychange", seen);
    signal?.addEventListener("abort", done);
  });
}
