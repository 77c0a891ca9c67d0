/** A view that is loaded when it is first looked at. */
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import { Problem } from "../api/problem.js";
import { ProblemNote, Skeleton } from "../ui/parts.js";

export function lazy(load: () => Promise<ComponentType>): ComponentType {
  let known: ComponentType | undefined;
  return function Lazy() {
    const [View, setView] = useState(() => known);
    const [hasFailed, setFailed] = useState(false);
    useEffect(() => {
      if (View) return;
      const show = async (): Promise<void> => {
        const view = await load();
        known = view;
        setView(() => view);
      };
      show().catch(() => setFailed(true));
    }, [View]);
    if (View) return <View />;
    if (!hasFailed) return <Skeleton lines={6} />;
    const fix = "The gateway may have been updated or stopped. Reload the page.";
    return (
      <ProblemNote problem={new Problem("This view could not be loaded.", { fix })} retry={() => location.reload()} />
    );
  };
}
