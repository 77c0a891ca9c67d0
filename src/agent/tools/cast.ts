/** Makes of a model's arguments what the schema asks for, as nanobot does: `"5"` is 5 and `"yes"` is true. */

type Property = { readonly type?: unknown; readonly items?: unknown };

/** The schema stays plain JSON Schema, because it is this step that is generous, not the schema. */
export function castArguments(parameters: Readonly<Record<string, unknown>>, raw: unknown): unknown {
  // Some models wrap the arguments in a list.
  const given = Array.isArray(raw) && raw.length === 1 ? (raw[0] as unknown) : raw;
  if (!isObject(given)) return given;
  const properties = isObject(parameters["properties"]) ? parameters["properties"] : {};
  const required = Array.isArray(parameters["required"]) ? parameters["required"] : [];
  const entries = Object.entries(given)
    // Null is how some models say "left out".
    .filter(([name, value]) => value !== null || required.includes(name))
    .map(([name, value]) => [name, cast(properties[name], value)] as const);
  return Object.fromEntries(entries);
}

function cast(property: unknown, value: unknown): unknown {
  const { type, items } = isObject(property) ? (property as Property) : {};
  switch (type) {
    case "integer":
    case "number":
      return typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;
    case "boolean":
      return truth.get(String(value).trim().toLowerCase()) ?? value;
    case "string":
      if (typeof value === "number" || typeof value === "boolean") return String(value);
      return typeof value === "object" && value !== null ? JSON.stringify(value) : value;
    case "array":
      return Array.isArray(value) ? value.map((item: unknown) => cast(items, item)) : value;
    default:
      return value;
  }
}

const truth: ReadonlyMap<string, boolean> = new Map([
  ["true", true],
  ["1", true],
  ["yes", true],
  ["false", false],
  ["0", false],
  ["no", false],
]);

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
