/** How much memory is really in use. */
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** After everything that is garbage has been collected. */
export function heapMegabytes(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  for (let round = 0; round < 3; round++) collect();
  return process.memoryUsage().heapUsed / 1024 / 1024;
}
