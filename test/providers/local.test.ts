import { describe, expect, it } from "vitest";
import { findLocalModel } from "../../src/providers/local.js";

type Places = Readonly<Record<number, () => Promise<Response>>>;

/** A machine on which something listens at some ports. */
const machine = (places: Places) => {
  const asked: string[] = [];
  const fetch = ((url: string, { signal }: RequestInit) => {
    asked.push(url);
    const place = places[Number(new URL(url).port)];
    if (!place) return Promise.reject(new TypeError("fetch failed"));
    return new Promise((resolve, reject) => {
      signal?.addEventListener("abort", () => reject(signal.reason as Error));
      place().then(resolve, reject);
    });
  }) as typeof globalThis.fetch;
  return { asked, fetch };
};
const lists =
  (...ids: unknown[]) =>
  async () =>
    Response.json({ object: "list", data: ids.map((id) => ({ id })) });

describe("a machine without a key", () => {
  it("is searched at the usual places, on loopback only", async () => {
    const { fetch, asked } = machine({});
    expect(await findLocalModel({ fetch })).toBeUndefined();
    expect(asked).toEqual([11434, 1234, 8080].map((port) => `http://127.0.0.1:${port}/v1/models`));
  });

  it("offers the first model of the first server", async () => {
    const { fetch } = machine({ 8080: lists("gguf"), 1234: lists("qwen", "llama") });
    expect(await findLocalModel({ fetch })).toEqual({
      provider: "lm_studio",
      baseUrl: "http://127.0.0.1:1234/v1",
      model: "qwen",
    });
  });

  it("offers no model that cannot talk", async () => {
    const { fetch } = machine({ 11434: lists("nomic-embed-text:latest"), 8080: lists("bge-reranker", "phi") });
    expect(await findLocalModel({ fetch })).toMatchObject({ provider: "llama_cpp", model: "phi" });
  });

  it("is asked over HTTP only where something listens", async () => {
    const { fetch, asked } = machine({ 1234: lists("qwen") });
    const listens = async (port: number) => port === 1234;
    expect(await findLocalModel({ fetch, listens })).toMatchObject({ provider: "lm_studio" });
    expect(asked).toEqual(["http://127.0.0.1:1234/v1/models"]);
  });

  it("is not fooled by whatever else listens there", async () => {
    const { fetch } = machine({
      11434: async () => new Response("<html>", { headers: { "content-type": "text/html" } }),
      1234: async () => Response.json({ data: [null, { id: 7 }, { id: "" }] }),
      8080: async () => Response.json({ data: [{ id: "x" }] }, { status: 401 }),
    });
    expect(await findLocalModel({ fetch })).toBeUndefined();
  });

  it("is not held up by a server that does not answer", async () => {
    const { fetch } = machine({ 11434: () => new Promise(() => {}), 1234: lists("qwen") });
    expect(await findLocalModel({ fetch }, 20)).toMatchObject({ model: "qwen" });
  });
});
