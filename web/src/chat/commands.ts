/** The commands every channel knows, and which of them somebody may mean. */
export type Command = { readonly name: string; readonly does: string };

export const commands: readonly Command[] = [
  { name: "/new", does: "Start a new conversation" },
  { name: "/stop", does: "Stop the current task" },
  { name: "/status", does: "Show model, session and use" },
  { name: "/history", does: "Show the last messages" },
  { name: "/compact", does: "Summarise this conversation into memory now" },
  { name: "/help", does: "Show available commands" },
];

/** What fits to the text so far; nothing once it is no command any more. */
export function commandsFor(text: string): readonly Command[] {
  const typed = text.toLowerCase();
  if (!/^\/[a-z]*$/.test(typed)) return [];
  return commands.filter(({ name }) => name.startsWith(typed));
}
