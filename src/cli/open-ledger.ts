/** The ledger of a home, beside a gateway that may be running. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { findHome } from "../config/home.js";
import { openSqliteLedger } from "../gateway/ledger-sqlite.js";
import type { Ledger } from "../gateway/ledger.js";

/** Undefined: no gateway has ever run there. Looking changes nothing; what is changed a running gateway sees by itself. */
export async function openLedger(
  options: { readonly home?: string },
  mode: "look" | "change",
): Promise<Ledger | undefined> {
  const file = join(findHome(options.home, process.env), "state", "ledger.sqlite");
  if (!existsSync(file)) return undefined;
  return openSqliteLedger({ file, now: () => Date.now(), reach: () => {}, readOnly: mode === "look" });
}
