/** A value that changes often, once it has come to rest: what somebody types, what happens all the time. */
import { useEffect, useState } from "preact/hooks";

export function useSettled<T>(value: T, ms: number): T {
  const [settled, setSettled] = useState(value);
  useEffect(() => {
    const timer = setTimeout(() => setSettled(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return settled;
}
