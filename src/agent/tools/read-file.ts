/** The tool that reads a text file of the workspace, whole or in portions of lines. */
import type { FileHandle } from "node:fs/promises";
import * as z from "zod/mini";
import type { Fence } from "./fence.js";
import { chunksOf, createTextDecoder, decodeText, readBytes, withSeparators } from "./text-lines.js";
import { defineTool, type Tool, ToolError } from "./tool.js";

/** nanobot's limits. */
const wholeBytes = 512_000;
const shownChars = 128_000;
const portionLines = 2000;
/** So far into a file a portion may be looked for. */
const searchedBytes = 64 * 1024 * 1024;

export const readFileTool = (fence: Fence): Tool =>
  defineTool({
    name: "read_file",
    description:
      "Read a text file of the workspace. Large files are read in portions: give offset (the first line) and limit.",
    input: z.object({
      path: z.string().check(z.describe("The file path to read")),
      offset: z.optional(
        z.int().check(z.gte(1), z.lte(100_000_000), z.describe("Line to start at, counting from 1 (default 1)")),
      ),
      limit: z.optional(
        z.int().check(z.gte(1), z.lte(100_000), z.describe(`How many lines (default ${portionLines})`)),
      ),
    }),
    run: ({ path, offset, limit }, { signal }) =>
      fence.read(path, (file) =>
        offset === undefined && limit === undefined
          ? readWhole(file, path, signal)
          : readPortion(file, path, { from: offset ?? 1, lines: limit ?? portionLines, signal }),
      ),
  });

async function readWhole(file: FileHandle, path: string, signal: AbortSignal): Promise<string> {
  const bytes = await readBytes(file, wholeBytes + 1, signal);
  if (bytes.includes(0)) decodeText(path, bytes);
  if (bytes.length > wholeBytes) {
    const { size } = await file.stat();
    throw new ToolError(
      `File too large (${withSeparators(Math.max(size, bytes.length))} bytes). ` +
        `Read it in portions with offset and limit, or use exec with head, tail or grep.`,
    );
  }
  const text = decodeText(path, bytes);
  if (text.length <= shownChars) return text;
  const shown = text.slice(0, shownChars).toWellFormed();
  const next = shown.split("\n").length;
  return (
    `${shown}\n\n... (truncated — file is ${withSeparators(text.length)} chars, ` +
    `limit ${withSeparators(shownChars)}; read on with offset=${next})`
  );
}

type Portion = { readonly from: number; readonly lines: number; readonly signal: AbortSignal };

/** Walks through the file without keeping it; what lies before and behind the portion is never in memory. */
async function readPortion(file: FileHandle, path: string, { from, lines, signal }: Portion): Promise<string> {
  const decode = createTextDecoder(path);
  let line = 1;
  let shown = "";
  let read = 0;
  /** Takes what belongs to the portion. False: there is more, but the portion is full. */
  const take = (text: string): boolean => {
    for (let at = 0; at < text.length;) {
      if (line >= from + lines || shown.length >= shownChars) return false;
      const end = text.indexOf("\n", at);
      const next = end === -1 ? text.length : end + 1;
      if (line >= from) shown += text.slice(at, next);
      if (end !== -1) line++;
      at = next;
    }
    return true;
  };
  for await (const chunk of chunksOf(file, signal)) {
    read += chunk.length;
    if (!take(decode(chunk, { last: false }))) return full(shown, from, line);
    if (read >= searchedBytes) {
      throw new ToolError(`Line ${from} lies too far into ${path}. Use exec with sed, tail or grep to read there.`);
    }
  }
  if (!take(decode(Buffer.alloc(0), { last: true }))) return full(shown, from, line);
  const last = shown.endsWith("\n") || shown === "" ? line - 1 : line;
  if (shown === "" && from > 1) return `(${path} has ${Math.max(last, 0)} lines, none from line ${from} on)`;
  return `${shown}\n(lines ${from}-${last}, end of file)`;
}

function full(shown: string, from: number, next: number): string {
  if (shown.length <= shownChars && shown.endsWith("\n")) {
    return `${shown}\n(lines ${from}-${next - 1}; read on with offset=${next})`;
  }
  const cut = shown.slice(0, shownChars).toWellFormed();
  const line = from + cut.split("\n").length - 1;
  return `${cut}\n\n(cut at ${withSeparators(shownChars)} characters, in line ${line}; read on with offset=${line})`;
}
