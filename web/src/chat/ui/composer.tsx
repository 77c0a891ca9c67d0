/** Where one writes: text, commands, pictures. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../ui/icon.js";
import { IconButton } from "../../ui/parts.js";
import { type Command, commandsFor } from "../commands.js";
import { dataUrlOf, picturesIn } from "../images.js";
import { optionId, Palette } from "./palette.js";

export type ComposerProps = {
  readonly label: string;
  readonly isBusy: boolean;
  readonly isFocused: boolean;
  /** Pictures that were dropped anywhere on the conversation. */
  readonly dropped: readonly File[];
  readonly send: (text: string, images: readonly string[]) => void;
  readonly stop: () => void;
};

const mostPictures = 8;
/** A model wants words with a picture. */
const pictureWords = "Please look at this.";

export function Composer({ label, isBusy, isFocused, dropped, send, stop }: ComposerProps) {
  const [text, setText] = useState("");
  const [images, setImages] = useState<readonly string[]>([]);
  const [chosen, setChosen] = useState(0);
  const [isClosed, setClosed] = useState(false);
  const [problem, setProblem] = useState("");
  const area = useRef<HTMLTextAreaElement>(null);
  const paletteId = useId();
  const found = isClosed ? [] : commandsFor(text);
  const isEmpty = text.trim() === "" && images.length === 0;

  useEffect(() => {
    if (isFocused && !isTouch()) area.current?.focus({ preventScroll: true });
  }, [isFocused]);

  // As high as its text.
  useLayoutEffect(() => {
    const element = area.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${element.scrollHeight}px`;
  }, [text]);

  const write = (next: string): void => {
    setText(next);
    setChosen(0);
    setClosed(false);
  };

  const submit = (given = text): void => {
    if (given.trim() === "" && images.length === 0) return;
    send(given.trim() === "" ? pictureWords : given, images);
    write("");
    setImages([]);
    setProblem("");
  };

  const choose = ({ name }: Command): void => submit(name);

  const add = async (files: readonly File[]): Promise<void> => {
    try {
      const urls = await Promise.all(files.map(dataUrlOf));
      setImages((before) => [...before, ...urls].slice(0, mostPictures));
    } catch {
      setProblem("This picture cannot be read. PNG, JPEG, WebP and GIF work.");
    }
  };

  useEffect(() => {
    if (dropped.length > 0) void add(dropped);
  }, [dropped]);

  const takeFrom = (data: DataTransfer | null, event: Event): void => {
    const files = picturesIn(data);
    if (files.length === 0) return;
    event.preventDefault();
    void add(files);
  };

  const pressed = (event: KeyboardEvent): void => {
    const command = found[chosen];
    if (command && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      event.preventDefault();
      const step = event.key === "ArrowDown" ? 1 : -1;
      return setChosen((chosen + step + found.length) % found.length);
    }
    if (command && event.key === "Tab" && !event.shiftKey) {
      event.preventDefault();
      return write(command.name);
    }
    if (command && event.key === "Escape") return setClosed(true);
    // While an input method composes a word, Enter ends the word.
    if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
    event.preventDefault();
    if (command) choose(command);
    else submit();
  };

  return (
    <form class="composer" onSubmit={(event) => (event.preventDefault(), submit())}>
      <span class="off-screen" role="status">
        {found.length > 0 && `${found.length} commands, choose with the arrow keys`}
      </span>
      {found.length > 0 && <Palette id={paletteId} commands={found} chosen={chosen} choose={choose} />}
      {images.length > 0 && (
        <div class="composer-pictures">
          {images.map((url, at) => (
            <button
              key={at}
              type="button"
              aria-label={`Remove picture ${at + 1}`}
              title="Remove"
              onClick={() => setImages(images.filter((_, other) => other !== at))}
            >
              <img src={url} alt="" />
              <Icon name="close" size={14} />
            </button>
          ))}
        </div>
      )}
      {problem !== "" && (
        <p class="field-problem" role="alert">
          {problem}
        </p>
      )}
      <div class="composer-line">
        <PictureButton add={(files) => void add(files)} />
        <textarea
          ref={area}
          rows={1}
          value={text}
          placeholder="Write a message, or /"
          aria-label={label}
          aria-controls={paletteId}
          aria-autocomplete="list"
          {...(found.length > 0 && { "aria-activedescendant": optionId(paletteId, chosen) })}
          onInput={(event) => write(event.currentTarget.value)}
          onKeyDown={pressed}
          onPaste={(event) => takeFrom(event.clipboardData, event)}
          onBlur={() => setClosed(true)}
        />
        {isBusy && isEmpty ? (
          <IconButton class="send stop" icon="stop" label="Stop" onClick={stop} />
        ) : (
          <button type="submit" class="icon-button send" aria-label="Send" title="Send" disabled={isEmpty}>
            <Icon name="send" />
          </button>
        )}
      </div>
    </form>
  );
}

function PictureButton({ add }: { readonly add: (files: readonly File[]) => void }) {
  const input = useRef<HTMLInputElement>(null);
  return (
    <>
      <IconButton class="attach" icon="image" label="Add a picture" onClick={() => input.current?.click()} />
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/webp,image/gif"
        multiple
        hidden
        onChange={(event) => {
          add([...(event.currentTarget.files ?? [])]);
          event.currentTarget.value = "";
        }}
      />
    </>
  );
}

/** On a phone, focus brings up the keyboard, which hides half of what one came to read. */
const isTouch = (): boolean => navigator.maxTouchPoints > 0 && matchMedia("(pointer: coarse)").matches;
