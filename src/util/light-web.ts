/**
 * As much of Headers, Response and FormData as model clients use. Node's own come with all of undici, a quarter of the
 * time to a first answer; the bundle (scripts/bundle.js) puts these in their place, here and in the openai package.
 */

type Pairs = Iterable<readonly [string, string]>;

class LightHeaders {
  readonly #values = new Map<string, string>();

  constructor(from: Pairs | Readonly<Record<string, string>> = []) {
    const pairs = Symbol.iterator in from ? from : Object.entries(from);
    for (const [name, value] of pairs) this.append(name, value);
  }

  append(name: string, value: string): void {
    const before = this.get(name);
    this.set(name, before === null ? value : `${before}, ${value}`);
  }

  set(name: string, value: string): void {
    this.#values.set(name.toLowerCase(), value.trim());
  }

  get(name: string): string | null {
    return this.#values.get(name.toLowerCase()) ?? null;
  }

  has(name: string): boolean {
    return this.#values.has(name.toLowerCase());
  }

  delete(name: string): void {
    this.#values.delete(name.toLowerCase());
  }

  entries(): MapIterator<[string, string]> {
    return this.#values.entries();
  }

  forEach(visit: (value: string, name: string) => void): void {
    this.#values.forEach(visit);
  }

  [Symbol.iterator](): MapIterator<[string, string]> {
    return this.entries();
  }
}

type Answer = { readonly status: number; readonly statusText: string; readonly headers: LightHeaders };

class LightResponse {
  readonly url = "";
  readonly status: number;
  readonly statusText: string;
  readonly headers: LightHeaders;
  readonly body: AsyncIterable<Uint8Array> | null;

  constructor(body: AsyncIterable<Uint8Array> | null, { status, statusText, headers }: Answer) {
    this.body = body;
    this.status = status;
    this.statusText = statusText;
    this.headers = headers;
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  async text(): Promise<string> {
    return (await this.#bytes()).toString("utf8").replace(/^\ufeff/, "");
  }

  async json(): Promise<unknown> {
    return JSON.parse(await this.text());
  }

  async arrayBuffer(): Promise<ArrayBuffer> {
    return new Uint8Array(await this.#bytes()).buffer;
  }

  async #bytes(): Promise<Buffer> {
    const parts: Uint8Array[] = [];
    for await (const part of this.body ?? []) parts.push(part);
    return Buffer.concat(parts);
  }
}

/** Nobody here sends forms; the openai package only asks whether something is one. */
class LightFormData {
  readonly isForm = true;
}

export { LightFormData as FormData, LightHeaders as Headers, LightResponse as Response };
