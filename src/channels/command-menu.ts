/** The commands there are, as the menus of the platforms and `/help` show them: the same everywhere. */

export type MenuCommand = {
  readonly name: string;
  readonly description: string;
  /** A number that may follow. */
  readonly number?: { readonly name: string; readonly description: string; readonly most: number };
};

export const commandMenu: readonly MenuCommand[] = [
  { name: "new", description: "Start a new conversation" },
  { name: "stop", description: "Stop the current task" },
  { name: "status", description: "Show model, session and use" },
  {
    name: "history",
    description: "Show the last messages",
    number: { name: "count", description: "How many", most: 50 },
  },
  { name: "compact", description: "Summarise this conversation into memory now" },
  { name: "help", description: "Show available commands" },
];
