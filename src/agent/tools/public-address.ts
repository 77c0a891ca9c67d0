/** Which addresses the web tools may dial: those of the open internet, and what the owner has allowed. */
import { lookup as systemLookup } from "node:dns/promises";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { reasonOf, UserError } from "../../util/errors.js";
import { ToolError } from "./tool.js";

export type Address = { readonly address: string; readonly family: number };
export type Resolver = (host: string) => Promise<readonly Address[]>;

export type PublicAddresses = {
  /** Refuses a URL that names an address we may not dial. A name is looked up only when dialling. */
  check(url: URL): void;
  /** For Node's `lookup` option: what it answers is what is dialled, so a name cannot change its mind in between. */
  lookup: LookupFunction;
  /** Whether a URL, as far as can be told now, leads where we may not go. */
  isRefused(url: string): Promise<boolean>;
};

export type AddressParts = {
  /** Names, addresses or ranges (`nas.lan`, `192.168.1.5`, `100.64.0.0/10`) that may be dialled all the same. */
  readonly allowed?: readonly string[];
  readonly resolve?: Resolver;
};

export function createPublicAddresses({ allowed = [], resolve = allAddresses }: AddressParts = {}): PublicAddresses {
  const { names, ranges } = readAllowed(allowed);
  const mayDial = (host: string, { address, family }: Address): boolean =>
    names.has(nameOf(host)) || ranges.check(address, family === 6 ? "ipv6" : "ipv4") || isPublic(address, family);
  const refusal = (host: string): ToolError =>
    new ToolError(
      `${host} is an internal or private address, and only public ones may be fetched. ` +
        "The owner can allow it with tools.ssrfWhitelist.",
    );

  const addressesOf = async (host: string): Promise<readonly Address[]> => {
    const found = (await resolve(host)).map(({ address, family }) => ({ address: withoutZone(address), family }));
    if (found.length === 0) throw new ToolError(`${host} has no address.`);
    // One bad address among good ones is how a name tries its luck.
    if (!found.every((address) => mayDial(host, address))) throw refusal(host);
    return found;
  };

  const check = (url: URL): void => {
    const host = hostOf(url);
    const family = isIP(host);
    if (family > 0 && !mayDial(host, { address: host, family })) throw refusal(host);
  };

  return {
    check,
    lookup: (host, options, callback) => {
      const answer = (found: readonly Address[]): void =>
        options.all ? callback(null, [...found]) : callback(null, found[0]?.address ?? "", found[0]?.family ?? 4);
      const refuse = (error: unknown): void =>
        callback(error instanceof Error ? error : new Error(reasonOf(error)), "");
      addressesOf(host).then(answer, refuse);
    },
    async isRefused(text) {
      if (!URL.canParse(text)) return false;
      const url = new URL(text);
      try {
        check(url);
        if (isIP(hostOf(url)) === 0) await addressesOf(hostOf(url));
        return false;
      } catch (error) {
        // A name nobody knows leads nowhere.
        return error instanceof ToolError;
      }
    },
  };
}

/** The parser has already turned `2130706433`, `0177.0.0.1` and `0x7f.1` into `127.0.0.1`. */
const hostOf = (url: URL): string => url.hostname.replace(/^\[|\]$/g, "");

const nameOf = (host: string): string => host.toLowerCase().replace(/\.$/, "");
const withoutZone = (address: string): string => address.replace(/%.*$/, "");

const allAddresses: Resolver = (host) => systemLookup(host, { all: true, verbatim: true });

function readAllowed(entries: readonly string[]): { names: ReadonlySet<string>; ranges: BlockList } {
  const names = new Set<string>();
  const ranges = new BlockList();
  for (const entry of entries) {
    const [address = "", bits] = entry
      .trim()
      .replace(/^\[|\]$/g, "")
      .split("/");
    const family = isIPv6(address) ? "ipv6" : "ipv4";
    if (isIP(address) === 0) names.add(nameOf(entry.trim()));
    else if (bits === undefined) ranges.addAddress(address, family);
    else if (Number(bits) <= (family === "ipv6" ? 128 : 32)) ranges.addSubnet(address, Number(bits), family);
    else throw new UserError(`'${entry}' is no range of addresses.`, "Write tools.ssrfWhitelist like 192.168.1.0/24.");
  }
  return { names, ranges };
}

function isPublic(address: string, family: number): boolean {
  if (family !== 6) return !special.check(address, "ipv4");
  // Behind NAT64 the last 32 bits are an IPv4 address, and it is that one which is dialled.
  if (translated.check(address, "ipv6")) return isPublic(lastFourBytes(address), 4);
  return global.check(address, "ipv6") && !special.check(address, "ipv6");
}

const blockList = (family: "ipv4" | "ipv6", ranges: readonly string[], list = new BlockList()): BlockList => {
  for (const range of ranges) {
    const [address = "", bits] = range.split("/");
    list.addSubnet(address, Number(bits), family);
  }
  return list;
};

/** Of IPv6 only this much is in public use; IPv4 in disguise, local, multicast and the rest lie outside. */
const global = blockList("ipv6", ["2000::/3"]);
const translated = blockList("ipv6", ["64:ff9b::/96"]);

/** IANA's registries of special addresses. 2002::/16 and 2001::/32 wrap IPv4 addresses. */
const special = blockList(
  "ipv6",
  ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"],
  blockList("ipv4", [
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.0.0.0/24",
    "192.0.2.0/24",
    "192.31.196.0/24",
    "192.52.193.0/24",
    "192.88.99.0/24",
    "192.168.0.0/16",
    "192.175.48.0/24",
    "198.18.0.0/15",
    "198.51.100.0/24",
    "203.0.113.0/24",
    "224.0.0.0/4",
    "240.0.0.0/4",
  ]),
);

/** Of any spelling of an IPv6 address, as IPv4. */
function lastFourBytes(address: string): string {
  // The parser writes the end in two groups of hexadecimal digits, leaving groups of zeros out.
  const groups = new URL(`http://[${address}]/`).hostname.slice(1, -1).split("::");
  const tail = (groups.at(-1) ?? "").split(":").filter((group) => group !== "");
  const [high, low] = ["0", "0", ...tail].slice(-2).map((group) => Number.parseInt(group, 16));
  return [high ?? 0, low ?? 0].flatMap((group) => [group >> 8, group & 255]).join(".");
}
