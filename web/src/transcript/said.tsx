/** Something that was said: by a person in a bubble, by the agent as text. */
import type { ComponentChildren } from "preact";
import { Markdown } from "../markdown/markdown.js";
import { Icon } from "../ui/icon.js";
import { withoutPictures } from "./row.js";

export type AskedProps = {
  readonly text: string;
  readonly images: readonly string[];
  readonly note?: ComponentChildren;
};

export function Asked({ text, images, note }: AskedProps) {
  const { words, pictures } = withoutPictures(text);
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
      {images.length === 0 && pictures.length > 0 && (
        <div class="pictures">
          {pictures.map((name, at) => (
            <span key={at} class="picture-name" title={name}>
              <Icon name="image" size={15} /> Picture
            </span>
          ))}
        </div>
      )}
      {words !== "" && <div class="bubble">{words}</div>}
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
