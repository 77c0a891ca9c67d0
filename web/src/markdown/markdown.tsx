/** Markdown, drawn. While it grows, only its last block changes. */
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { type Block, type Blocks, blocksOf, htmlOf } from "./blocks.js";
import { cleanFragment } from "./clean.js";
import "../styles/markdown.css";

export function Markdown({ text }: { readonly text: string }) {
  const known = useRef<Blocks>(undefined);
  const { blocks } = useMemo(() => (known.current = blocksOf(text, known.current)), [text]);
  return (
    <div class="markdown">
      {blocks.map((block, at) => (
        <BlockView key={at} block={block} />
      ))}
    </div>
  );
}

function BlockView({ block }: { readonly block: Block }) {
  const place = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    place.current?.replaceChildren(cleanFragment(htmlOf(block)));
    // The same text is the same block.
  }, [block.raw]);
  return <div class="markdown-block" ref={place} />;
}
