/** Something that was said: by a person in a bubble, by the agent as text. */
import type { ComponentChildren } from "preact";
import { Markdown } from "../markdown/markdown.js";

export function Asked({
  text,
  images,
  note,
}: {
  readonly text: string;
  readonly images: readonly string[];
  readonly note?: ComponentChildren;
}) {
  return (
    <div class="asked">
      <h3 class="off-screen">You said</h3>
      {images.length > 0 && (
        <div class="pictures">
          {images.map((url, at) => (
            <img key={at} src={url} alt={`Attachment ${at + 1}`} />
          ))}
        </div>
      )}
      {text !== "" && <div class="bubble">{text}</div>}
      {note}
    </div>
  );
}

export function Answered({ text }: { readonly text: string }) {
  return (
    <div class="answered">
      <h3 class="off-screen">The agent said</h3>
      <Markdown text={text} />
    </div>
  );
}
