/** Says in words what is wrong with a schedule, for whoever wrote it: a model or a person. */
import { isZone, nearestZone } from "../util/zone.js";
import { nearest } from "../util/nearest.js";
import { aliases, type Field, fields, fieldsOf, numberOf } from "./cron-expression.js";
import type { Schedule } from "./job.js";
import { nextRun } from "./next-run.js";

/** Undefined if it can be kept. Whether it still lies ahead only {@link nextRun} knows. */
export function checkSchedule(schedule: Schedule): string | undefined {
  if (schedule.kind === "at") return Number.isSafeInteger(schedule.atMs) ? undefined : "that is no time";
  if (schedule.kind === "every") {
    return nextRun(schedule, 0) === undefined ? "an interval has to be at least one millisecond long" : undefined;
  }
  const problem = (schedule.tz === undefined ? undefined : checkZone(schedule.tz)) ?? checkExpression(schedule.expr);
  if (problem !== undefined) return problem;
  // Long ago, so that an expression with a year is not refused for being over.
  if (nextRun({ ...schedule, tz: "UTC" }, 0) !== undefined) return undefined;
  return `'${schedule.expr}' never comes: ${daysThatNeverCome(schedule.expr)}`;
}

/** Undefined if there is such a zone. */
export function checkZone(zone: string): string | undefined {
  if (isZone(zone)) return undefined;
  const meant = nearestZone(zone);
  const hint = meant === undefined ? "use a name like Europe/Berlin" : `did you mean ${meant}?`;
  return `unknown timezone '${zone}': ${hint}`;
}

/** A problem that ends with a question needs no full stop. */
export const asSentence = (problem: string): string => (problem.endsWith("?") ? problem : `${problem}.`);

const howMany = "5 fields: minute hour day month weekday; 6 with seconds at the end";

function checkExpression(expr: string): string | undefined {
  const text = expr.trim();
  if (text === "") return `there is nothing; ${howMany}`;
  if (text.startsWith("@") && !aliases[text.toLowerCase()]) {
    return `${text}: use ${nearest(text, Object.keys(aliases)) ?? Object.keys(aliases).join(", ")}`;
  }
  const written = fieldsOf(expr);
  if (written.length < 5 || written.length > fields.length) {
    return `5 fields: minute hour day month weekday; there ${written.length === 1 ? "is 1" : `are ${written.length}`}`;
  }
  for (const [at, field] of fields.entries()) {
    for (const element of written[at]?.split(",") ?? []) {
      const problem = checkElement(element, field);
      if (problem !== undefined) return problem;
    }
  }
  return undefined;
}

function checkElement(element: string, field: Field): string | undefined {
  const { name, first, last } = field;
  if (element === "") return `${name}: there is nothing beside a comma`;
  if (element === "*" || isSpecial(element, field)) return undefined;
  const [, from = "", to, step] = /^([^/-]*)(?:-([^/]*))?(?:\/(.*))?$/.exec(element) ?? [];
  for (const value of [from, ...(to === undefined ? [] : [to])]) {
    const isStar = value === "*" && to === undefined;
    if (!isStar && numberOf(value, field) === undefined) return `${name} ${value || element}: use ${rangeOf(field)}`;
  }
  const size = last - first + 1;
  if (step !== undefined && !(/^\d+$/.test(step) && Number(step) >= 1 && Number(step) <= size)) {
    return `${name} ${element}: use a step of 1–${size}`;
  }
  return undefined;
}

/** What stands for no number: any, the last day, the last or the second Friday. */
function isSpecial(element: string, field: Field): boolean {
  if (field.name === "day") return /^(\?|L)$/i.test(element);
  if (field.name !== "weekday") return false;
  const [, weekday] = /^(\w+)#[1-5]$/.exec(element) ?? /^L([0-7])$/i.exec(element) ?? [];
  return element === "?" || (weekday !== undefined && numberOf(weekday, field) !== undefined);
}

function rangeOf({ first, last, names, name }: Field): string {
  const words = names ? ` or ${names[0]}–${names.at(-1)}` : "";
  return `${first}–${last}${words}${name === "day" ? ", or L for the last day" : ""}`;
}

function daysThatNeverCome(expr: string): string {
  const [, , day = "", month = ""] = fieldsOf(expr);
  return `no month ${month} has a day ${day}`;
}
