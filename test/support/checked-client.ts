/** A client that holds every answer against the OpenAPI document that the gateway serves. */
import { expect } from "vitest";
import { fromJSONSchema } from "zod";
import { eventsOf } from "./door.js";

type JsonSchema = Parameters<typeof fromJSONSchema>[0];
type Documented = Readonly<Record<string, Readonly<Record<string, DocumentedOperation>>>>;
type DocumentedOperation = {
  readonly responses: Readonly<Record<string, { readonly content: Readonly<Record<string, { schema: JsonSchema }>> }>>;
};
type Asked = {
  readonly query?: Readonly<Record<string, string | number>>;
  readonly body?: unknown;
  /** How many events are waited for; absent: all. */
  readonly events?: number;
};
export type Answered = { readonly status: number; readonly body: unknown };

export async function checkedClient(url: string) {
  const { paths } = (await (await fetch(`${url}/openapi.json`)).json()) as { readonly paths: Documented };

  /** Calls what the document calls `template`, for instance `GET /api/sessions/{key}/rows`. */
  const call = async (template: string, params: Readonly<Record<string, string>> = {}, asked: Asked = {}) => {
    const [method = "", path = ""] = template.split(" ");
    const operation = paths[path]?.[method.toLowerCase()];
    expect(operation, `${template} is documented`).toBeDefined();
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(asked.query ?? {})) query.set(name, String(value));
    const place = path.replaceAll(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(params[name] ?? ""));
    const leaving = new AbortController();
    const response = await fetch(`${url}${place}?${query.toString()}`, {
      method,
      signal: leaving.signal,
      ...(asked.body !== undefined && {
        body: JSON.stringify(asked.body),
        headers: { "content-type": "application/json" },
      }),
    });
    const type = (response.headers.get("content-type") ?? "").split(";")[0] ?? "";
    const content = operation?.responses[response.status]?.content[type];
    expect(content, `${template}: an answer ${response.status} of ${type} is documented`).toBeDefined();
    const schema = fromJSONSchema(content?.schema ?? true);
    if (type !== "text/event-stream") {
      const body: unknown = type === "application/json" ? await response.json() : await response.text();
      expect(schema.parse(body)).toEqual(body);
      return { status: response.status, body } satisfies Answered;
    }
    const events: unknown[] = [];
    for await (const event of eventsOf(response)) {
      expect(schema.parse(event)).toEqual(event);
      if (events.push(event) === asked.events) break;
    }
    leaving.abort();
    return { status: response.status, body: events } satisfies Answered;
  };

  return {
    call,
    /** The body of an answer that must be 200. */
    async get<T>(template: string, params: Readonly<Record<string, string>> = {}, asked: Asked = {}): Promise<T> {
      const { status, body } = await call(template, params, asked);
      expect(status).toBe(200);
      return body as T;
    },
    templates: Object.entries(paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    ),
  };
}
