import { execFile, type ExecFileOptions } from "node:child_process";
import { promisify } from "node:util";

/** Runs a program to its end. Put together when it is called: Node loads what it takes only then. */
export const runFile = (
  program: string,
  args: readonly string[],
  options: Pick<ExecFileOptions, "env" | "timeout">,
): Promise<{ readonly stdout: string }> => promisify(execFile)(program, args, options);
