import { describe, expect, it } from "vitest";
import {
  completeHeader,
  headerFlaw,
  headerLine,
  healthyHeader,
  readHeader,
  salvageHeader,
} from "../../src/session/header.js";
import { parsePythonJson, type PythonObject, pythonJson } from "../../src/session/python-json.js";

const header = {
  key: "telegram:42",
  createdAt: "2026-01-01T00:00:00",
  updatedAt: "2026-01-02T00:00:00.000001",
  metadata: { title: "é", n: 1 },
  lastConsolidated: 3,
};
const line =
  '{"_type": "metadata", "key": "telegram:42", "created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-02T00:00:00.000001", "metadata": {"title": "é", "n": 1}, "last_consolidated": 3}';
const record = (text: string): PythonObject => parsePythonJson(text) as PythonObject;

describe("a header", () => {
  it("is printed as nanobot prints it (004-2)", () => {
    expect(headerLine(header)).toBe(line);
  });

  it("read back is the same", () => {
    expect(completeHeader("telegram:42", readHeader(record(line)), 3, "now")).toEqual(header);
    expect(healthyHeader(Buffer.from(line))).toEqual(readHeader(record(line)));
  });

  it("that is missing gets the values of a new session", () => {
    expect(completeHeader("a:b", {}, 0, "now")).toEqual({
      key: "a:b",
      createdAt: "now",
      updatedAt: "now",
      metadata: {},
      lastConsolidated: 0,
    });
  });

  it("of nanobot before the key and the cursor were in it is healthy", () => {
    const old =
      '{"_type": "metadata", "created_at": "2026-01-01T00:00:00", "updated_at": "2026-01-01T00:00:00", "metadata": {}}';
    expect(headerFlaw(record(old))).toBeUndefined();
  });

  it.each([
    line.replace("metadata", "metadatb"),
    line.replace('"key"', '"kex"'),
    line.replace("2026-01-01", "2026-01-41"),
    line.replace('{"title": "é", "n": 1}', "[1]"),
  ])("%s has something that would be lost by writing it anew", (text) => {
    expect(headerFlaw(record(text))).toBeDefined();
    expect(healthyHeader(Buffer.from(text))).toBeUndefined();
  });

  it("with bytes that are not UTF-8 is not healthy", () => {
    const bytes = Buffer.from(line);
    bytes[bytes.indexOf("é")] = 0xff;
    expect(healthyHeader(bytes)).toBeUndefined();
  });

  it("broken anywhere gives the fields that are still whole", () => {
    for (let at = 0; at < line.length; at++) {
      const broken = `${line.slice(0, at)}\0${line.slice(at + 1)}`;
      const found = salvageHeader(broken);
      expect(found).toBeDefined();
      const complete = completeHeader("telegram:42", found ?? {}, 3, "now");
      const wrong = Object.entries(header).filter(
        ([field, value]) => pythonJson(complete[field as keyof typeof complete]) !== pythonJson(value),
      );
      expect(wrong.length).toBeLessThanOrEqual(1);
    }
  });
});
