/**
 * What the claude command does, good and bad, as it was measured. The stub has to do the same; `npm run test:claude` asks
 * the real one.
 */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import type { ClaudeHouse } from "../support/claude-house.js";

export type ClaudeBench = {
  readonly open: () => Promise<ClaudeHouse & { prompts: () => readonly (readonly string[])[] }>;
  /** What is new since 2.1.3xx. */
  readonly isLatest: boolean;
  /** Before 1.0.128 a resumed conversation got a new id. */
  readonly keepsIds: boolean;
};

type Result = Readonly<Record<string, unknown>> & { readonly session_id: string };

const json = ["-p", "--output-format", "json"];
const stream = ["-p", "--output-format", "stream-json", "--verbose", "--include-partial-messages"];
const nobody = "11111111-1111-4111-8111-111111111111";
const resultOf = (stdout: string): Result => JSON.parse(stdout.trim()) as Result;
const eventsOf = (stdout: string): Result[] => stdout.trim().split("\n").map(resultOf);

export function describeClaude(name: string, { open, isLatest, keepsIds }: ClaudeBench): void {
  describe(`the claude command: ${name}`, () => {
    it("prints one object in one line", async () => {
      const { run } = await open();
      const { code, stdout } = await run(json, "hello");
      expect(code).toBe(0);
      expect(stdout.trim().split("\n")).toHaveLength(1);
      const result = resultOf(stdout);
      expect(result).toMatchObject({ type: "result", subtype: "success", is_error: false });
      expect(result["result"]).toContain("The last: hello");
      expect(result.session_id).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
      expect(result["usage"]).toMatchObject({ input_tokens: expect.any(Number), output_tokens: expect.any(Number) });
    });

    it("keeps one file for each conversation, in a folder named after the working directory", async () => {
      const { run, files } = await open();
      const { session_id: id } = resultOf((await run(json, "hello")).stdout);
      expect(files().filter((file) => file.endsWith(".jsonl"))).toEqual([`${id}.jsonl`]);
    });

    it("resumes a conversation and knows what was said", async () => {
      const { run, prompts } = await open();
      const first = resultOf((await run(json, "one")).stdout);
      const { code, stdout } = await run([...json, "--resume", first.session_id], "two");
      const second = resultOf(stdout);
      expect(code).toBe(0);
      expect(second["result"]).toContain("The last: two");
      expect(prompts().at(-1)).toEqual(["one", "two"]);
      expect(second.session_id === first.session_id).toBe(keepsIds);
    });

    it("counts tokens per call, and money per call or over the conversation", async () => {
      const { run } = await open();
      const first = resultOf((await run(json, "one")).stdout);
      const second = resultOf((await run([...json, "--resume", first.session_id], "two")).stdout);
      expect(Number(second["total_cost_usd"]) > Number(first["total_cost_usd"]) * 1.5).toBe(isLatest);
    });

    it.each([
      ["that nobody knows", nobody],
      ["that is not a UUID", "../../etc/passwd"],
    ])("leaves with 1 and prints nothing for a handle %s", async (_, id) => {
      const { run } = await open();
      const { code, stdout, stderr } = await run([...json, "--resume", id], "hello");
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
      expect(stderr).not.toBe("");
    });

    it("says so in a stream", async () => {
      const { run } = await open();
      const { code, stdout, stderr } = await run([...stream, "--resume", nobody], "hello");
      expect(code).toBe(1);
      expect(stderr.includes("No conversation found with session ID")).toBe(isLatest);
      expect(eventsOf(stdout).at(-1)).toMatchObject({ subtype: "error_during_execution", is_error: true });
      expect(JSON.stringify(eventsOf(stdout).at(-1)?.["errors"])).toContain("No conversation found");
    });

    it.each(["removed", "empty", "garbage"])("does not find a conversation whose file is %s", async (what) => {
      const { run, place } = await open();
      const { session_id: id } = resultOf((await run(json, "one")).stdout);
      const file = join(place, `${id}.jsonl`);
      if (what === "removed") rmSync(file);
      else writeFileSync(file, what === "empty" ? "" : "no json\nat all\n");
      const { code, stdout } = await run([...json, "--resume", id], "two");
      expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    });

    it("goes on silently with what is left of a file that was cut", async () => {
      const { run, place } = await open();
      const { session_id: id } = resultOf((await run(json, "one")).stdout);
      const file = join(place, `${id}.jsonl`);
      const bytes = readFileSync(file);
      writeFileSync(file, bytes.subarray(0, bytes.length - 20));
      const { code, stdout } = await run([...json, "--resume", id], "two");
      expect(code).toBe(0);
      expect(resultOf(stdout)).toMatchObject({ is_error: false });
    });

    it("resumes in another working directory", async () => {
      const { run, home, prompts } = await open();
      const { session_id: id } = resultOf((await run(json, "one")).stdout);
      mkdirSync(join(home, "elsewhere"));
      const { code } = await run([...json, "--resume", id], "two", join(home, "elsewhere"));
      if (!isLatest) return;
      expect(code).toBe(0);
      expect(prompts().at(-1)).toEqual(["one", "two"]);
    });

    it.each(["401", "529", "too-long"])("calls an API error (%s) a success that is an error", async (what) => {
      const { run } = await open();
      const { code, stdout } = await run(json, `hello [api ${what}]`);
      expect(code).toBe(1);
      const result = resultOf(stdout);
      expect(result).toMatchObject({ subtype: "success", is_error: true, result: expect.any(String) });
      if (isLatest) expect(result["terminal_reason"]).toBe(what === "too-long" ? "prompt_too_long" : "api_error");
    });

    it("keeps a failed prompt in the conversation", async () => {
      const { run, prompts } = await open();
      const { session_id: id } = resultOf((await run(json, "one")).stdout);
      const failed = resultOf((await run([...json, "--resume", id], "two [api 529]")).stdout);
      expect((await run([...json, "--resume", failed.session_id], "three")).code).toBe(0);
      expect(prompts().at(-1)).toEqual(["one", "two [api 529]", "three"]);
    });

    it("gives no result when its turns are used up; only the latest calls that an error", async () => {
      const { run, folder } = await open();
      writeFileSync(join(folder, "note.txt"), "a note");
      const { code, stdout } = await run([...json, "--max-turns", "1"], "hello [api loop]");
      const result = resultOf(stdout);
      expect(code).toBe(isLatest ? 1 : 0);
      expect(result).toMatchObject({ subtype: "error_max_turns", is_error: isLatest });
      expect(result["result"]).toBeUndefined();
    });

    it("loses one of two branches when it is resumed twice at once", async () => {
      if (!keepsIds) return;
      const { run, prompts } = await open();
      const { session_id: id } = resultOf((await run(json, "one")).stdout);
      const both = ["left", "right"].map((side) => run([...json, "--resume", id], `${side} [api slow]`));
      for (const { code, stdout } of await Promise.all(both)) {
        expect(code).toBe(0);
        expect(resultOf(stdout).session_id).toBe(id);
      }
      await run([...json, "--resume", id], "after");
      const known = prompts().at(-1) ?? [];
      expect(known).toHaveLength(3);
      expect(known[0]).toBe("one");
      expect(known[2]).toBe("after");
    });

    it("keeps nothing with --no-session-persistence", async () => {
      const { run, files } = await open();
      const { code, stdout } = await run([...json, "--no-session-persistence"], "hello");
      expect(code).toBe(0);
      expect(files().filter((file) => file.endsWith(".jsonl"))).toEqual([]);
      expect(await run([...json, "--resume", resultOf(stdout).session_id], "again")).toMatchObject({
        code: 1,
        stdout: "",
      });
    });

    it("refuses an empty prompt, and a stream without --verbose", async () => {
      const { run } = await open();
      expect(await run(json, "")).toMatchObject({ code: 1, stdout: "" });
      expect(await run(["-p", "--output-format", "stream-json"], "hello")).toMatchObject({ code: 1, stdout: "" });
    });

    it("prints a list with --verbose", async () => {
      const { run } = await open();
      const events = JSON.parse((await run([...json, "--verbose"], "hello")).stdout) as Result[];
      expect(events[0]).toMatchObject({ type: "system", subtype: "init" });
      expect(events.at(-1)).toMatchObject({ type: "result" });
    });

    it("streams: init, pieces of the answer, the whole of it, the result", async () => {
      const { run } = await open();
      const events = eventsOf((await run(stream, "hello")).stdout);
      expect(events[0]).toMatchObject({ type: "system", subtype: "init" });
      const pieces = events.flatMap(({ event }) => {
        const { delta } = (event ?? {}) as { delta?: { type?: string; text?: string } };
        return delta?.type === "text_delta" ? [delta.text] : [];
      });
      const result = events.at(-1);
      expect(result).toMatchObject({ type: "result", is_error: false });
      expect(pieces.length).toBeGreaterThan(1);
      expect(pieces.join("")).toBe(result?.["result"]);
      expect(events.filter(({ type }) => type === "assistant")).toHaveLength(1);
    });

    it("streams what its tools are asked and say", async () => {
      const { run, folder } = await open();
      writeFileSync(join(folder, "note.txt"), "a note");
      const events = eventsOf((await run(stream, "hello [api tool]")).stdout);
      const blocks = events.flatMap(({ type, message }) =>
        type === "assistant" || type === "user" ? (message as { content: Record<string, unknown>[] }).content : [],
      );
      expect(blocks.map(({ type }) => type)).toEqual(["text", "tool_use", "tool_result", "text"]);
      expect(blocks[1]).toMatchObject({ name: "Read" });
      expect(JSON.stringify(blocks[2])).toContain("a note");
    });

    it("takes a prompt of 300 KB through stdin", async () => {
      const { run } = await open();
      const { code, stdout } = await run(json, `${"x".repeat(300_000)}\nend`);
      expect(code).toBe(0);
      expect(resultOf(stdout)["result"]).toContain("The last: end");
    });

    it("takes a value behind =, whatever it begins with", async () => {
      const { run } = await open();
      const flags = ["--append-system-prompt=--x", "--allowedTools=Read,Bash(git log:*)", "--disallowedTools=WebFetch"];
      const { code } = await run([...json, ...flags], "hello");
      expect(code).toBe(0);
    });

    it("tells its version, and the latest also who is logged in", async () => {
      const { run, config } = await open();
      expect((await run(["--version"])).stdout).toMatch(/^\d+\.\d+\.\d+ \(Claude Code\)/);
      if (!isLatest) return;
      const { stdout } = await run(["auth", "status"]);
      expect(JSON.parse(stdout)).toMatchObject({ loggedIn: expect.any(Boolean) });
      expect(existsSync(config)).toBe(true);
    });
  });
}
