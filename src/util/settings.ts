/** Building blocks of the schema: as tolerant as nanobot's reader, and no more. */
import * as z from "zod/mini";

export const snakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/**
 * An object of settings. Each may be written in camelCase or snake_case (the former wins); what is not listed is left
 * alone, for it belongs to another version.
 */
export function section<Shape extends Readonly<Record<string, z.ZodMiniType>>>(shape: Shape) {
  const bothSpellings = (value: unknown): unknown => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    const given = value as Readonly<Record<string, unknown>>;
    const names = Object.keys(shape).filter(
      (name) => given[name] !== undefined || given[snakeCase(name)] !== undefined,
    );
    return Object.fromEntries(names.map((name) => [name, given[name] ?? given[snakeCase(name)]]));
  };
  return z.pipe(z.transform(bothSpellings), z.object(shape, "must be an object"));
}

/** A section that may be missing as a whole: then all of its settings have their defaults. */
export const optionalSection = <Shape extends Readonly<Record<string, z.ZodMiniType>>>(shape: Shape) =>
  z.prefault(section(shape), {});

/** A number; a text that is one counts, as in nanobot. */
const lax = (value: unknown): unknown =>
  typeof value === "string" && value.trim() !== "" && Number.isFinite(Number(value)) ? Number(value) : value;

export const whole = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.pipe(
    z.transform(lax),
    z
      .int(`must be a whole number`)
      .check(z.gte(least, `must be at least ${least}`), z.lte(most, `must be at most ${most}`)),
  );
export const decimal = () => z.pipe(z.transform(lax), z.number("must be a number"));
/** A time in seconds, as nanobot writes them. */
export const seconds = (least: number) => decimal().check(z.gte(least, `must be at least ${least} (seconds)`));
export const text = () => z.string("must be a text in quotes");
/** A text, where null means none. */
export const maybeText = () =>
  z.pipe(
    z.transform((value) => value ?? ""),
    text(),
  );
/** Where a server is, where null and nothing mean the usual one. */
export const maybeAddress = () =>
  maybeText().check(
    z.refine((value) => value.trim() === "" || isAddress(value.trim()), "must be an address like https://host/v1"),
  );
export const isAddress = (value: string): boolean => URL.canParse(value) && /^https?:\/\//i.test(value);
export const flag = () =>
  z.pipe(
    z.transform((value) => (value === "true" ? true : value === "false" ? false : value)),
    z.boolean("must be true or false"),
  );
export const textList = () => z.array(text(), "must be a list of texts");
export const textMap = () =>
  z.pipe(
    z.transform((value) => value ?? {}),
    z.record(z.string(), text(), "must be an object of texts"),
  );
