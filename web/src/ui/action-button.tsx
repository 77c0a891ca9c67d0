/** A button that does something at the gateway: shows that it is at it, asks before what cannot be undone, says what failed. */
import { useEffect, useState } from "preact/hooks";
import { problemOf } from "../api/problem.js";
import { Icon, type IconName } from "./icon.js";

export type ActionProps = {
  readonly icon: IconName;
  readonly label: string;
  /** Has to be pressed twice; the second time it says this. */
  readonly sure?: string;
  readonly act: () => Promise<unknown>;
  readonly onFailed: (problem: string) => void;
  readonly tone?: "plain" | "danger" | "primary";
};

/** Whoever hesitates so long did not mean it. */
const hesitationMs = 4000;

export function ActionButton({ icon, label, sure, act, onFailed, tone = "plain" }: ActionProps) {
  const [state, setState] = useState<"idle" | "sure" | "busy">("idle");
  useEffect(() => {
    if (state !== "sure") return undefined;
    const timer = setTimeout(() => setState("idle"), hesitationMs);
    return () => clearTimeout(timer);
  }, [state]);

  const press = async (): Promise<void> => {
    if (sure !== undefined && state === "idle") return setState("sure");
    setState("busy");
    try {
      await act();
    } catch (error) {
      const { message, fix } = problemOf(error);
      onFailed(`${message} ${fix}`);
    } finally {
      setState("idle");
    }
  };

  return (
    <button type="button" class={`button small ${tone}`} disabled={state === "busy"} onClick={() => void press()}>
      <Icon name={icon} size={15} />
      {state === "sure" ? sure : label}
    </button>
  );
}
