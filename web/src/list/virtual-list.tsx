/**
 * A long list of which only what is seen is drawn. It is read from its end: whoever is there stays there when something
 * is added, and whoever reads further up stays where he is while rows above turn out to be higher than they were thought.
 */
import type { ComponentChildren } from "preact";
import { useCallback, useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { createHeights } from "./heights.js";
import { type Anchor, anchorOf, type Range, rangeOf, topOf, type View } from "./window.js";

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

export function VirtualList(props: VirtualListProps) {
  const { id, count, label, guess, row, onRange, toEnd = 0, onEnd } = props;
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const heights = useRef(createHeights(count, guess));
  const anchor = useRef<Anchor>("end");
  const view = useRef<View>({ top: 0, height: 0 });
  const [, setTick] = useState(0);
  const draw = useCallback(() => setTick((tick) => tick + 1), []);

  const known = useRef({ id, toEnd });
  if (known.current.id !== id) {
    heights.current = createHeights(count, guess);
    anchor.current = "end";
  }
  if (known.current.toEnd !== toEnd) anchor.current = "end";
  known.current = { id, toEnd };
  heights.current.resize(count);

  const top = topOf(heights.current, anchor.current, view.current.height);
  const range = rangeOf(heights.current, { top, height: view.current.height }, beyond);

  /** Measures what is drawn; true if something is not as high as it was thought to be. */
  const measure = useCallback((): boolean => {
    let isOff = false;
    for (const child of inner.current?.children ?? []) {
      const index = Number((child as HTMLElement).dataset["index"]);
      if (heights.current.measure(index, child.getBoundingClientRect().height) !== 0) isOff = true;
    }
    return isOff;
  }, []);

  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    if (view.current.height !== element.clientHeight) {
      view.current = { ...view.current, height: element.clientHeight };
      draw();
    } else if (measure()) draw();
    const wanted = topOf(heights.current, anchor.current, view.current.height);
    if (Math.abs(element.scrollTop - wanted) >= 1) element.scrollTop = wanted;
    view.current = { ...view.current, top: element.scrollTop };
  });

  const isAtEnd = anchor.current === "end";
  useEffect(() => onEnd?.(isAtEnd), [onEnd, isAtEnd]);
  useEffect(() => onRange?.(range), [onRange, range.from, range.to, count]);

  useEffect(() => {
    const [element, content] = [box.current, inner.current];
    if (!element || !content) return undefined;
    const observer = new ResizeObserver(() => {
      view.current = { ...view.current, height: element.clientHeight };
      measure();
      draw();
    });
    observer.observe(element);
    observer.observe(content);
    return () => observer.disconnect();
  }, [draw, measure]);

  const scrolled = (): void => {
    const element = box.current;
    if (!element || Math.abs(element.scrollTop - view.current.top) < 1) return;
    view.current = { top: element.scrollTop, height: element.clientHeight };
    anchor.current = anchorOf(heights.current, view.current);
    draw();
  };

  const rows = Array.from({ length: range.to - range.from }, (_, at) => range.from + at);
  return (
    // A scrolling box has to be reachable by keyboard.
    // oxlint-disable-next-line jsx-a11y/no-noninteractive-tabindex
    <div class="virtual" ref={box} onScroll={scrolled} tabIndex={0} role="feed" aria-label={label}>
      <div class="virtual-space" style={{ height: `${heights.current.total}px` }}>
        <div
          class="virtual-rows"
          ref={inner}
          style={{ transform: `translateY(${heights.current.offset(range.from)}px)` }}
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
