/** The commands that fit to what has been typed, to choose from with the arrow keys. */
import type { Command } from "../commands.js";

export type PaletteProps = {
  readonly id: string;
  readonly commands: readonly Command[];
  readonly chosen: number;
  readonly choose: (command: Command) => void;
};

export const optionId = (id: string, at: number): string => `${id}-${at}`;

export function Palette({ id, commands, chosen, choose }: PaletteProps) {
  return (
    <div class="palette" role="listbox" id={id} aria-label="Commands">
      {commands.map((command, at) => (
        // The keys are handled where one types.
        // oxlint-disable-next-line jsx-a11y/click-events-have-key-events, jsx-a11y/interactive-supports-focus
        <div
          key={command.name}
          id={optionId(id, at)}
          role="option"
          aria-selected={at === chosen}
          class="palette-option"
          onMouseDown={(event) => event.preventDefault()}
          onClick={() => choose(command)}
        >
          <b>{command.name}</b>
          <span>{command.does}</span>
        </div>
      ))}
    </div>
  );
}
