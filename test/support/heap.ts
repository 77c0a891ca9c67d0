/** How much memory is really in use. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** After everything that is garbage has been collected, and whoever waited for that has tidied up. */
export async function heapMegabytes(): Promise<number> {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 5; round++) {
    collect();
    await new Promise((done) => setTimeout(done, 5));
  }
  return process.memoryUsage().heapUsed / 1024 / 1024;
}
