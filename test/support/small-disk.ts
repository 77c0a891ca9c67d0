/** A daemon on a disk of its own, small enough to be filled: real errors of a real file system. Needs Linux and `unshare`. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { program } from "./cli.js";
import { temporaryFolder } from "./workspace.js";

/** May we mount something that nobody else sees? */
export const canMount =
  spawnSync("unshare", ["-rm", "sh", "-c", "mount -t tmpfs -o size=1m tmpfs /mnt"], { stdio: "ignore" }).status === 0;

/** Mounts the disk, starts the program on it, and does what it is told, one word a line; says each when it is done. */
const script = `
home=$1; original=$2; options=$3; shift 3
mount -t tmpfs -o size=8m tmpfs "$home" && cp "$original/config.json" "$home" || exit 99
if [ -n "$options" ]; then mount -o "remount,$options" "$home" || exit 99; fi
"$@" &
pid=$!
while read -r word; do
  case $word in
    fill) dd if=/dev/zero of="$home/ballast" bs=4096 2>/dev/null ;;
    free) rm "$home/ballast" ;;
    end) kill -TERM $pid ;;
    wait) wait $pid; code=$?; cp -a "$home/." "$original"; echo "code $code"; exit 0 ;;
  esac
  echo "$word"
done
kill -KILL $pid
`;

export type SmallDisk = {
  /** Until there is no room for another byte. */
  fill(): Promise<void>;
  free(): Promise<void>;
  /** Waits until the program ends; its code. Its home is then copied back to where its configuration came from. */
  ended(how: "by itself" | "by a signal"): Promise<number>;
  /** What the program has said on stderr. */
  said(): string;
};

/** `home` holds the configuration; `options` are those of a mount, for instance `ro`. */
export async function startOnSmallDisk(home: string, options = ""): Promise<SmallDisk> {
  const disk = join(temporaryFolder(), "disk");
  mkdirSync(disk);
  const command = [process.execPath, program, "gateway", "--home", disk];
  const child: ChildProcess = spawn("unshare", ["-rm", "sh", "-c", script, "sh", disk, home, options, ...command], {
    env: { PATH: process.env["PATH"], HOME: disk },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let out = "";
  let err = "";
  child.stdout?.on("data", (text: Buffer) => void (out += String(text)));
  child.stderr?.on("data", (text: Buffer) => void (err += String(text)));
  const until = async (words: RegExp): Promise<string> => {
    for (;;) {
      const found = words.exec(out);
      if (found) return found[1] ?? "";
      await Promise.race([once(child.stdout as NonNullable<typeof child.stdout>, "data"), once(child, "close")]);
      if (child.exitCode !== null && !words.test(out)) throw new Error(`The disk is gone (${child.exitCode}): ${err}`);
    }
  };
  const tell = async (word: string): Promise<void> => {
    out = "";
    child.stdin?.write(`${word}\n`);
    if (word !== "wait") await until(new RegExp(`^${word}$`, "m"));
  };
  return {
    fill: () => tell("fill"),
    free: () => tell("free"),
    async ended(how) {
      if (how === "by a signal") await tell("end");
      await tell("wait");
      return Number(await until(/^code (\d+)$/m));
    },
    said: () => err,
  };
}
