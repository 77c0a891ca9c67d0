/**
 * A long list of which only what is seen is drawn. It is read from its end: whoever is there stays there when something
 * is added, and whoever reads further up stays where he is while rows above turn out to be higher than they were thought.
 */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { createHeights } from "./heights.js";
import { type Anchor, anchorOf, type Range, rangeOf, topOf } from "./window.js";

export type VirtualListProps = {
  /** Another list begins at its end again. */
  readonly id: string;
  readonly count: number;
  readonly label: string;
  /** How high a row is that nobody has seen. */
  readonly guess: number;
  readonly row: (index: number) => ComponentChildren;
  readonly onRange?: (range: Range) => void;
  /** Changes when the reader wants to be at the end. */
  readonly toEnd?: number;
  readonly onEnd?: (isAtEnd: boolean) => void;
};

/** So far beyond the screen rows are drawn already. */
const beyond = 600;
/** So a movement announces itself before the box has moved. */
const signs = ["wheel", "touchmove", "keydown"] as const;
/** After such a pause nobody is scrolling any more. */
const restMs = 120;

export function VirtualList(props: VirtualListProps) {
  const { id, count, label, guess, row, onRange, toEnd = 0, onEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const heights = useRef(createHeights(count, guess));
  const anchor = useRef<Anchor>("end");
  /** Where the box has been scrolled to, and how high it is. */
  const view = useRef({ top: 0, height: 0 });
  /** Set while somebody scrolls: to move the box then would stop it in the middle of its movement. */
  const scrolling = useRef<ReturnType<typeof setTimeout> | undefined>(undefined);
  const [, setTick] = useState(0);
  const draw = useCallback(() => setTick((tick) => tick + 1), []);

  const known = useRef({ id, toEnd });
  if (known.current.id !== id) heights.current = createHeights(count, guess);
  if (known.current.id !== id || known.current.toEnd !== toEnd) anchor.current = "end";
  known.current = { id, toEnd };
  heights.current.resize(count);

  const top = topOf(heights.current, anchor.current, view.current.height);
  const range = rangeOf(heights.current, { top, height: view.current.height }, beyond);
  // While somebody scrolls, the rows are laid where the box is, not where they belong.
  const drift = scrolling.current === undefined ? 0 : view.current.top - top;

  /** Measures what is drawn; true if something is not as high as it was thought to be. */
  const measure = useCallback((): boolean => {
    let isOff = false;
    // What is not shown has no height at all.
    if (!box.current?.clientHeight) return isOff;
    for (const child of inner.current?.children ?? []) {
      const index = Number((child as HTMLElement).dataset["index"]);
      if (heights.current.measure(index, child.getBoundingClientRect().height) !== 0) isOff = true;
    }
    return isOff;
  }, []);

  const rest = useCallback((): void => {
    clearTimeout(scrolling.current);
    scrolling.current = undefined;
    draw();
  }, [draw]);

  /** Somebody has begun to scroll, or goes on. */
  const moving = useCallback((): void => {
    clearTimeout(scrolling.current);
    scrolling.current = setTimeout(rest, restMs);
  }, [rest]);

  const scrolled = (): void => {
    const element = box.current;
    if (!element || Math.abs(element.scrollTop - view.current.top) < 1) return;
    const before = topOf(heights.current, anchor.current, view.current.height);
    const past = scrolling.current === undefined ? 0 : view.current.top - before;
    moving();
    view.current = { top: element.scrollTop, height: element.clientHeight };
    anchor.current = anchorOf(heights.current, { ...view.current, top: Math.max(0, element.scrollTop - past) });
    draw();
  };

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    // It was moved, and has not said so yet.
    scrolled();
    if (view.current.height !== element.clientHeight) {
      view.current.height = element.clientHeight;
      draw();
    } else if (measure()) draw();
    if (scrolling.current !== undefined) return;
    const wanted = topOf(heights.current, anchor.current, view.current.height);
    if (Math.abs(element.scrollTop - wanted) >= 1) element.scrollTop = wanted;
    view.current.top = element.scrollTop;
  });

  const isAtEnd = anchor.current === "end";
  useEffect(() => onEnd?.(isAtEnd), [onEnd, isAtEnd]);
  useEffect(() => onRange?.(range), [onRange, range.from, range.to, count]);

  useEffect(() => {
    const [element, content] = [box.current, inner.current];
    if (!element || !content) return undefined;
    const observer = new ResizeObserver(() => {
      view.current.height = element.clientHeight;
      measure();
      draw();
    });
    observer.observe(element);
    observer.observe(content);
    for (const sign of signs) element.addEventListener(sign, moving, { passive: true });
    return () => {
      observer.disconnect();
      for (const sign of signs) element.removeEventListener(sign, moving);
      clearTimeout(scrolling.current);
    };
  }, [draw, measure, moving]);

  /** To both ends at once: a long way would otherwise be scrolled, and measured, bit by bit. */
  const pressed = (event: KeyboardEvent): void => {
    if (event.target !== box.current || (event.key !== "Home" && event.key !== "End")) return;
    event.preventDefault();
    anchor.current = event.key === "End" ? "end" : { row: 0, past: 0 };
    rest();
  };

  const rows = Array.from({ length: range.to - range.from }, (_, at) => range.from + at);
  return (
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-element-interactions -- two keys more than any box that scrolls
    <div
      class="virtual"
      ref={box}
      onScroll={scrolled}
      onKeyDown={pressed}
      // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex -- it scrolls, so it has to be reachable
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      <div class="virtual-space" style={{ height: `${heights.current.total}px` }}>
        <div
          class="virtual-rows"
          ref={inner}
          style={{ transform: `translateY(${heights.current.offset(range.from) + drift}px)` }}
        >
          {rows.map((index) => (
            <div key={index} data-index={index} class="virtual-row">
              {row(index)}
            </div>
          ))}
        </div>
      </div>
    </div>
  );
}
