/** Something the gateway is asked for: while it loads, when it is there, when it fails. What was there stays meanwhile. */
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { type Problem, problemOf } from "../api/problem.js";

export type Loaded<T> = {
  readonly value: T | undefined;
  readonly problem: Problem | undefined;
  readonly isLoading: boolean;
  readonly reload: () => void;
};

/** Loads anew whenever `about` changes; forgets the old when `of` does. */
export function useLoaded<T>(load: (signal: AbortSignal) => Promise<T>, of: string, about: unknown = 0): Loaded<T> {
  const [state, setState] = useState<{ of: string; value?: T; problem?: Problem; isLoading: boolean }>({
    of,
    isLoading: true,
  });
  const [again, setAgain] = useState(0);
  const latest = useRef(load);
  latest.current = load;

  useEffect(() => {
    const ended = new AbortController();
    setState((before) => (before.of === of ? { ...before, isLoading: true } : { of, isLoading: true }));
    latest.current(ended.signal).then(
      (value) => void (ended.signal.aborted || setState({ of, value, isLoading: false })),
      (error: unknown) =>
        void (
          ended.signal.aborted || setState((before) => ({ ...before, of, problem: problemOf(error), isLoading: false }))
        ),
    );
    return () => ended.abort();
  }, [of, about, again]);

  const reload = useCallback(() => setAgain((count) => count + 1), []);
  const isCurrent = state.of === of;
  return {
    value: isCurrent ? state.value : undefined,
    problem: isCurrent ? state.problem : undefined,
    isLoading: !isCurrent || state.isLoading,
    reload,
  };
}
