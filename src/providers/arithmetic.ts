/** Works out `2 * (3 + 4)`: numbers, the four operations, powers and brackets; nothing else is ever run. */

/** The value, or undefined if the text is not such an expression. */
export function evaluate(text: string): number | undefined {
  const tokens = text
    .replaceAll(/[×·]/g, "*")
    .replaceAll("÷", "/")
    .replaceAll("−", "-")
    .replaceAll("**", "^")
    .match(/\d+(?:\.\d+)?|\.\d+|[-+*/^%()]|\S/g);
  if (!tokens || tokens.length > 200) return undefined;
  let at = 0;
  const take = (...wanted: string[]): string | undefined =>
    wanted.includes(tokens[at] ?? "") ? tokens[at++] : undefined;

  const sum = (): number => {
    let value = product();
    for (let sign = take("+", "-"); sign; sign = take("+", "-"))
      value = sign === "+" ? value + product() : value - product();
    return value;
  };
  const product = (): number => {
    let value = signed();
    for (let sign = take("*", "/", "%"); sign; sign = take("*", "/", "%")) {
      const right = signed();
      value = sign === "*" ? value * right : sign === "/" ? value / right : value % right;
    }
    return value;
  };
  const signed = (): number => (take("-") ? -signed() : take("+") ? signed() : power());
  const power = (): number => {
    const base = atom();
    return take("^") ? base ** signed() : base; // to the right first: 2^3^2 is 2^9
  };
  const atom = (): number => {
    if (!take("(")) return Number(tokens[at++] ?? "end");
    const value = sum();
    return take(")") ? value : Number.NaN;
  };

  const value = sum();
  return at === tokens.length && !Number.isNaN(value) ? value : undefined;
}
