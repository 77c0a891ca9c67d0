/** The licences of what the bundles contain: whoever gets the code gets them too. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** `inputs`: the files that went into a bundle, as esbuild names them. */
export function noticesFor(inputs) {
  const folders = new Set(inputs.flatMap((file) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(file)?.[0] ?? []));
  return [...folders]
    .sort((one, other) => one.localeCompare(other))
    .map(noticeOf)
    .join("\n\n");
}

function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^(?:licen[cs]e|copying)/i.test(entry));
  const text = file === undefined ? "" : readFileSync(join(folder, file), "utf8").trim();
  return `── ${name} ${version} (${license ?? "see below"})\n\n${text}`.trim();
}
