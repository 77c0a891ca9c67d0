/** Who answers where: for one session, all sessions that begin like it up to a colon, a channel, or everybody. */
import { UserError } from "../util/errors.js";
import { nearest } from "../util/nearest.js";
import type { SessionKey } from "../message.js";

export type Use = { readonly backend: string; readonly stateless: boolean };

/** The model provider, by the name it has in these settings. */
export const theModel = "model";

export type ChoiceSettings = {
  readonly use: Readonly<Record<string, Use>>;
  /** Who answers where nothing else is said; empty: the model. */
  readonly fallback: string;
};

/** The closest word wins: `telegram:-100:topic:5`, then `telegram:-100:topic`, then `telegram:-100`, then `telegram`. */
export function createChoice({ use, fallback }: ChoiceSettings): (session: SessionKey) => Use {
  const everywhere: Use = { backend: fallback || theModel, stateless: false };
  return (session) => {
    for (let key = session; ; key = key.slice(0, key.lastIndexOf(":"))) {
      if (Object.hasOwn(use, key)) return use[key] ?? everywhere;
      if (!key.includes(":")) return everywhere;
    }
  };
}

/** The backends that somebody is to use. A name that there is no backend for is surely a typo. */
export function usedBackends({ use, fallback }: ChoiceSettings, known: readonly string[]): string[] {
  const places = [
    ...(fallback === "" ? [] : [["agents.defaults.backend", fallback] as const]),
    ...Object.entries(use).map(([key, { backend }]) => [`backends.use.${key}`, backend] as const),
  ];
  for (const [place, name] of places) {
    if (name === theModel || known.includes(name)) continue;
    const meant = nearest(name, [...known, theModel]);
    throw new UserError(
      `${place} names the backend ${name}, and there is none.`,
      meant === undefined ? `Use one of ${[...known, theModel].join(", ")}.` : `Did you mean ${meant}?`,
    );
  }
  return [...new Set(places.map(([, name]) => name))].filter((name) => name !== theModel);
}
