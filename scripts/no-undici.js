/** In the place of undici, of which discord.js itself uses nothing else (scripts/bundle.js). */
export const fetch = (...args) => globalThis.fetch(...args);
