/** `GET /openapi.json`: what the door does, for machines. Made when it is first asked for. */
import * as z from "zod/mini";
import type { DoorApp } from "./event-stream.js";
import { type Content, type Operation, operations } from "./operations.js";

export type OpenApiParts = { readonly version: string };

export function addOpenApiRoute(app: DoorApp, parts: OpenApiParts): void {
  let text: string | undefined;
  app.get("/openapi.json", (context) => {
    text ??= JSON.stringify(openApi(parts));
    return context.body(text, 200, { "content-type": "application/json" });
  });
}

export function openApi({ version }: OpenApiParts): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const operation of operations) {
    (paths[operation.path.replaceAll(/:(\w+)/g, "{$1}")] ??= {})[operation.method] = operationObject(operation);
  }
  return {
    openapi: "3.1.0",
    info: { title: "nanogate", version, description: "A gateway between people's chats and a language model." },
    components: {
      securitySchemes: {
        token: { type: "http", scheme: "bearer", description: "Needed at any address but this machine's own." },
        cookie: { type: "apiKey", in: "cookie", name: "nanogate", description: "Set by POST /api/login." },
      },
    },
    security: [{}, { token: [] }, { cookie: [] }],
    paths,
  };
}

function operationObject({ path, tag, summary, query = {}, body, answer, refusals = {} }: Operation): object {
  const parameters = [
    ...[...path.matchAll(/:(\w+)/g)].map(([, name]) => ({
      name,
      in: "path",
      required: true,
      schema: { type: "string" },
    })),
    ...Object.entries(query).map(([name, description]) => ({
      name,
      in: "query",
      description,
      schema: { type: "string" },
    })),
  ];
  return {
    tags: [tag],
    summary,
    ...(parameters.length > 0 && { parameters }),
    ...(body && {
      requestBody: { required: true, content: { "application/json": { schema: jsonSchema(body, "input") } } },
    }),
    responses: {
      200: { description: "Done", content: contentOf(answer) },
      ...Object.fromEntries(
        Object.entries(refusals).map(([code, schema]) => [
          code,
          { description: "Refused, with words", content: { "application/json": { schema: jsonSchema(schema) } } },
        ]),
      ),
    },
  };
}

const contentOf = (content: Content): object => ({
  [content.type]: { schema: "schema" in content ? jsonSchema(content.schema) : { type: "string" } },
});

function jsonSchema(schema: z.ZodMiniType, io: "input" | "output" = "output"): object {
  const { $schema: _, ...rest } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return rest;
}
