/** The build fails when the page becomes too heavy to be there at once. */
import { gzipSync } from "node:zlib";
import type { Plugin } from "vite";

type Output = {
  readonly fileName: string;
  readonly bytes: number;
  readonly needs: readonly string[];
  readonly isFirst: boolean;
};

/** What is loaded before anything is seen: the page, its entry, and what that imports. */
export function firstLoad(outputs: readonly Output[]): { readonly files: readonly string[]; readonly bytes: number } {
  const byName = new Map(outputs.map((output) => [output.fileName, output]));
  const files = new Set<string>();
  const add = (name: string): void => {
    const output = byName.get(name);
    if (!output || files.has(name)) return;
    files.add(name);
    output.needs.forEach(add);
  };
  for (const { fileName, isFirst } of outputs) if (isFirst) add(fileName);
  return { files: [...files], bytes: [...files].reduce((sum, name) => sum + (byName.get(name)?.bytes ?? 0), 0) };
}

export const budget = ({ firstLoadKb }: { readonly firstLoadKb: number }): Plugin => ({
  name: "nanogate-budget",
  generateBundle: {
    order: "post",
    handler(_, bundle) {
      const outputs = Object.values(bundle).map((file): Output => {
        const bytes = gzipSync(file.type === "chunk" ? file.code : file.source).length;
        if (file.type === "asset")
          return { fileName: file.fileName, bytes, needs: [], isFirst: file.fileName.endsWith(".html") };
        const styles = [...(file.viteMetadata?.importedCss ?? [])];
        return { fileName: file.fileName, bytes, needs: [...file.imports, ...styles], isFirst: file.isEntry };
      });
      const { files, bytes } = firstLoad(outputs);
      const all = outputs.reduce((sum, output) => sum + output.bytes, 0);
      const kb = (size: number): string => `${(size / 1000).toFixed(1)} kB`;
      const words = `first load ${kb(bytes)} gzipped in ${files.length} files, everything ${kb(all)}`;
      if (bytes > firstLoadKb * 1000) this.error(`The page is too heavy: ${words}; ${firstLoadKb} kB are allowed.`);
      this.info(words);
    },
  },
});
