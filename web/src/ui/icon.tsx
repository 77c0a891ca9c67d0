/** Small drawings, in the colour of the text around them. */
const drawings = {
  chat: "M4 5.5A2.5 2.5 0 0 1 6.5 3h7A2.5 2.5 0 0 1 16 5.5v5a2.5 2.5 0 0 1-2.5 2.5H9l-4 3.5V13a2 2 0 0 1-1-1.8z",
  conversations: "M4 4.5h12M4 8.2h12M4 11.8h8M4 15.5h5",
  messages:
    "M3.5 11 5.6 4.6A1.5 1.5 0 0 1 7 3.5h6a1.5 1.5 0 0 1 1.4 1.1L16.5 11v4a1.5 1.5 0 0 1-1.5 1.5H5A1.5 1.5 0 0 1 3.5 15zh3.6l1 2h3.8l1-2h3.6",
  memory: "M6 3.5h8.5v13H6a1.5 1.5 0 0 1-1.5-1.5V5A1.5 1.5 0 0 1 6 3.5zM4.5 14a1.5 1.5 0 0 1 1.5-1.5h8.5M8 6.8h3.5",
  schedule: "M10 3.5a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM10 6.5V10l2.4 1.6",
  health: "M2.5 10.5h3.2l2-5.5 3.6 10 2.2-6 1 1.5h3",
  plus: "M10 4.5v11M4.5 10h11",
  close: "m5.5 5.5 9 9m0-9-9 9",
  send: "M10 16V4.5m-4.6 4.6L10 4.5l4.6 4.6",
  stop: "M6.5 6.5h7v7h-7z",
  copy: "M7.5 7.5h8v8h-8zM12.5 7.5v-3h-8v8h3",
  check: "m4.5 10.5 3.6 3.6 7.4-8",
  chevron: "m7.5 5 5 5-5 5",
  auto: "M10 3.5a6.5 6.5 0 1 0 0 13zm0 0a6.5 6.5 0 0 1 0 13",
  light:
    "M10 6.8a3.2 3.2 0 1 0 0 6.4 3.2 3.2 0 0 0 0-6.4zM10 2.5v1.6m0 11.8v1.6M2.5 10h1.6m11.8 0h1.6M4.7 4.7l1.1 1.1m8.4 8.4 1.1 1.1m0-10.6-1.1 1.1m-8.4 8.4-1.1 1.1",
  dark: "M16 11.8A6.5 6.5 0 0 1 8.2 4a6.5 6.5 0 1 0 7.8 7.8z",
  search: "M8.8 4a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6zm3.5 8.3 3.7 3.7",
  download: "M10 3.5V12m-3.6-3.4L10 12l3.6-3.4M4 16h12",
  image: "M4 4.5h12v11H4zM4 13l3.4-3.4 2.6 2.6 2-2 4 4M12.4 7.4h.01",
  beside: "M3.5 4.5h13v11h-13zM10 4.5v11",
  menu: "M3.5 6h13M3.5 10h13M3.5 14h13",
  again: "M15.5 8.5A6 6 0 1 0 16 11M15.8 4.5v4h-4",
  bin: "M4.5 6h11M8 6V4.3h4V6m-6 0 .7 10h6.6L14 6",
  play: "M7 5v10l8-5z",
  pause: "M7.2 5v10m5.6-10v10",
  undo: "M7.5 4.5 4 8l3.5 3.5M4 8h7a4.5 4.5 0 0 1 0 9H8",
  back: "M12 4.5 6.5 10l5.5 5.5",
  tool: "M12.7 3.8a4 4 0 0 0-4.6 5.6L3.8 13.7l2.5 2.5 4.3-4.3a4 4 0 0 0 5.6-4.6l-2.4 2.4-2.6-.9-.9-2.6z",
  warning: "M10 4 2.8 16.2h14.4zM10 8.5v3.6m0 2.1h.01",
} as const;

export type IconName = keyof typeof drawings;

export function Icon({ name, size = 18 }: { readonly name: IconName; readonly size?: number }) {
  return (
    <svg class="icon" width={size} height={size} viewBox="0 0 20 20" aria-hidden="true" focusable="false">
      <path d={drawings[name]} />
    </svg>
  );
}
