/**
 * Some proofs try every byte. Everyday runs try a sample of it, another one each day; `.ci/run` sets NANOGATE_THOROUGH and
 * tries all.
 */
export const thorough = process.env["NANOGATE_THOROUGH"] !== undefined;

const today = Math.floor(Date.now() / 86_400_000);

/** True for every `n`th number, and for all of them in a thorough run. */
export const isTried = (number: number, n: number): boolean => thorough || (number + today) % n === 0;
