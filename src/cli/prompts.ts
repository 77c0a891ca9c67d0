/** Questions in the terminal. */
import { exit } from "./terminal.js";

export type Choice = { readonly value: string; readonly label: string; readonly hint?: string };

export type Prompts = {
  choose(question: string, choices: readonly Choice[]): Promise<string>;
  /** An empty answer is one. */
  text(question: string, hint?: string): Promise<string>;
  secret(question: string): Promise<string>;
  confirm(question: string): Promise<boolean>;
  /** Says something good, or something bad. */
  tell(kind: "good" | "bad" | "plain", text: string): void;
  /** Shows that something is being waited for. */
  during<T>(what: string, work: Promise<T>): Promise<T>;
};

/** The person has had enough. */
export class Cancelled extends Error {}

export async function openPrompts(): Promise<Prompts> {
  const clack = await import("@clack/prompts");
  const answered = async <T>(asked: Promise<T>): Promise<Exclude<T, symbol>> => {
    const answer = await asked;
    if (clack.isCancel(answer)) throw new Cancelled();
    return answer as Exclude<T, symbol>;
  };
  return {
    choose: (message, choices) =>
      answered(
        clack.select({
          message,
          options: choices.map(({ value, label, hint }) => ({ value, label, ...(hint !== undefined && { hint }) })),
        }),
      ),
    text: async (message, placeholder) =>
      ((await answered(clack.text({ message, ...(placeholder !== undefined && { placeholder }) }))) ?? "").trim(),
    secret: async (message) => ((await answered(clack.password({ message }))) ?? "").trim(),
    confirm: (message) => answered(clack.confirm({ message })),
    tell(kind, text) {
      if (kind === "good") clack.log.success(text);
      else if (kind === "bad") clack.log.error(text);
      else clack.log.message(text);
    },
    async during(what, work) {
      const spinner = clack.spinner();
      // On Ctrl-C the spinner ends the process by itself, and calls that a success.
      const brokenOff = (): void => void (process.exitCode = exit.failed);
      process.once("exit", brokenOff);
      spinner.start(what);
      try {
        return await work;
      } finally {
        spinner.stop(what);
        process.off("exit", brokenOff);
      }
    },
  };
}
