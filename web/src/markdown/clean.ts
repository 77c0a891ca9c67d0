/** HTML of a model, made harmless: no scripts, no styles, no forms, nothing that loads anything. */
import createDOMPurify from "dompurify";
import { copyText } from "../ui/copy.js";

const purify = createDOMPurify(window);

const tags =
  "a abbr b blockquote br code dd del details div dl dt em h1 h2 h3 h4 h5 h6 hr i ins kbd li mark ol p pre q s samp small span strong sub summary sup table tbody td th thead tr ul var".split(
    " ",
  );

purify.addHook("afterSanitizeAttributes", (node) => {
  if (node.tagName !== "A") return;
  node.setAttribute("target", "_blank");
  node.setAttribute("rel", "noopener noreferrer");
});

export function cleanFragment(html: string): DocumentFragment {
  const fragment = purify.sanitize(html, {
    ALLOWED_TAGS: tags,
    ALLOWED_ATTR: ["href", "title", "align", "start", "class", "colspan", "rowspan"],
    ADD_URI_SAFE_ATTR: ["align", "start", "colspan", "rowspan"],
    ALLOWED_URI_REGEXP: /^(?:https?:|mailto:|tel:|#)/i,
    RETURN_DOM_FRAGMENT: true,
  });
  // A link that leads nowhere any more is only words.
  for (const link of fragment.querySelectorAll("a:not([href])")) link.replaceWith(...link.childNodes);
  for (const pre of fragment.querySelectorAll("pre")) dressCode(pre);
  for (const table of fragment.querySelectorAll("table")) wrap(table, "table-scroll");
  return fragment;
}

/** A head with the language and a button to copy. */
function dressCode(pre: HTMLPreElement): void {
  const language = /language-([\w+#.-]+)/.exec(pre.firstElementChild?.className ?? "")?.[1] ?? "";
  const frame = wrap(pre, "code-block");
  const head = document.createElement("div");
  head.className = "code-head";
  const name = document.createElement("span");
  name.textContent = language;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "code-copy";
  button.textContent = "Copy";
  button.addEventListener("click", () => void copy(button, pre.textContent ?? ""));
  head.append(name, button);
  frame.prepend(head);
  pre.tabIndex = 0;
}

async function copy(button: HTMLButtonElement, text: string): Promise<void> {
  button.textContent = (await copyText(text.replace(/\n$/, ""))) ? "Copied" : "Select it and press Ctrl+C";
  setTimeout(() => void (button.textContent = "Copy"), 1600);
}

function wrap(element: HTMLElement, name: string): HTMLDivElement {
  const frame = document.createElement("div");
  frame.className = name;
  element.replaceWith(frame);
  frame.append(element);
  return frame;
}
