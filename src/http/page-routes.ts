/** The page itself: the files that `vite build web` made, and nothing else of this machine. */
import { readdir, readFile } from "node:fs/promises";
import { extname, join, relative, sep } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Asked, DoorApp } from "./event-stream.js";

export type PageParts = {
  /** Where the built page lies, if it is built. */
  readonly pageFolder: string;
};

const types: Readonly<Record<string, string>> = {
  ".css": "text/css; charset=utf-8",
  ".html": "text/html; charset=utf-8",
  ".ico": "image/x-icon",
  ".js": "text/javascript; charset=utf-8",
  ".png": "image/png",
  ".svg": "image/svg+xml",
  ".webmanifest": "application/manifest+json",
  ".woff2": "font/woff2",
};
const compressible: ReadonlySet<string> = new Set([".css", ".html", ".js", ".svg", ".webmanifest"]);

/** Nothing from elsewhere, nothing that stands in the page itself, and in nobody's frame. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join("; ");

const brotli = promisify(brotliCompress);
const gzipped = promisify(gzip);
/** Half as large as it could be at a hundredth of the time. */
const brotliEffort = { params: { [constants.BROTLI_PARAM_QUALITY]: 6 } };

type Encoding = "br" | "gzip" | "identity";
type PageFile = { readonly path: string; readonly bodies: Map<Encoding, Promise<Uint8Array<ArrayBuffer>>> };

export function addPageRoutes(app: DoorApp, { pageFolder }: PageParts): void {
  let files: ReadonlyMap<string, PageFile> = new Map();

  app.get("*", async (context, next) => {
    const path = context.req.path === "/" ? "/index.html" : context.req.path;
    // Somebody may have built it anew; its pieces have other names then.
    if (path === "/index.html") files = await filesIn(pageFolder);
    const file = files.get(path) ?? (files.size === 0 ? (files = await filesIn(pageFolder)).get(path) : undefined);
    if (file) return answer(context, path, file);
    if (path !== "/index.html") return next();
    return context.text("The page is not built. Run `npm run build`, then reload this.\n", 404);
  });
}

async function answer(context: Asked, path: string, file: PageFile): Promise<Response> {
  const extension = extname(path);
  const encoding = encodingFor(context.req.header("accept-encoding") ?? "", extension);
  const body = file.bodies.get(encoding) ?? encoded(file.path, encoding);
  file.bodies.set(encoding, body);
  return context.body(await body, 200, {
    "content-type": types[extension] ?? "application/octet-stream",
    "cache-control": cacheFor(path),
    vary: "accept-encoding",
    ...(encoding !== "identity" && { "content-encoding": encoding }),
    ...(extension === ".html" && {
      "content-security-policy": policy,
      "cross-origin-opener-policy": "same-origin",
      "permissions-policy": "camera=(), geolocation=(), microphone=()",
    }),
  });
}

/** The names of assets change with what is in them. */
function cacheFor(path: string): string {
  if (path.startsWith("/assets/")) return "public, max-age=31536000, immutable";
  return path === "/index.html" ? "no-store" : "public, max-age=3600";
}

function encodingFor(accepted: string, extension: string): Encoding {
  if (!compressible.has(extension)) return "identity";
  const names = accepted.split(",").map((name) => name.split(";")[0]?.trim());
  return names.includes("br") ? "br" : names.includes("gzip") ? "gzip" : "identity";
}

async function encoded(path: string, encoding: Encoding): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await readFile(path);
  const body =
    encoding === "br" ? await brotli(bytes, brotliEffort) : encoding === "gzip" ? await gzipped(bytes) : bytes;
  return new Uint8Array(body);
}

/** By the path they are asked for: what is not listed here is not there. */
async function filesIn(folder: string): Promise<ReadonlyMap<string, PageFile>> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch(() => []);
  return new Map(
    entries
      .filter((entry) => entry.isFile())
      .map((entry) => {
        const path = join(entry.parentPath, entry.name);
        return [`/${relative(folder, path).split(sep).join("/")}`, { path, bodies: new Map() }];
      }),
  );
}
