// What to take out of a list and what to put in, so that it becomes another: of lines, or of words.

/** Lists that differ in more places than this are told as if all between their ends were different. */
const MOST = 800;

/** The difference of two lists of texts, as `{op, items}`: `=` in both, `-` in the first alone, `+` in the second alone. */
export function diff(a, b) {
  let [from, behind] = [0, 0];
  while (from < a.length && from < b.length && a[from] === b[from]) from += 1;
  const left = Math.min(a.length, b.length) - from;
  while (behind < left && a[a.length - 1 - behind] === b[b.length - 1 - behind]) behind += 1;
  const [one, other] = [a.slice(from, a.length - behind), b.slice(from, b.length - behind)];
  const parts = [];
  const add = (op, items) => {
    if (!items.length) return;
    if (parts.at(-1)?.op === op) parts.at(-1).items = parts.at(-1).items.concat(items);
    else parts.push({ op, items });
  };
  add("=", a.slice(0, from));
  for (const [op, items] of edits(one, other)) add(op, items);
  add("=", a.slice(a.length - behind));
  return parts;
}

/** The shortest way from one list to the other, after Myers. */
function edits(a, b) {
  const far = new Map([[1, 0]]);
  const before = [];
  for (let steps = 0; steps <= Math.min(MOST, a.length + b.length); steps += 1) {
    before.push(new Map(far));
    for (let line = -steps; line <= steps; line += 2) {
      let x = down(far, line, steps) ? far.get(line + 1) : far.get(line - 1) + 1;
      while (x < a.length && x - line < b.length && a[x] === b[x - line]) x += 1;
      far.set(line, x);
      if (x >= a.length && x - line >= b.length) return way(a, b, before);
    }
  }
  return [["-", a], ["+", b]];
}

const down = (far, line, steps) => line === -steps || (line !== steps && far.get(line - 1) < far.get(line + 1));

/** Walks back from the end. */
function way(a, b, before) {
  const found = [];
  let [x, y] = [a.length, b.length];
  for (let steps = before.length - 1; steps >= 0; steps -= 1) {
    const far = before[steps];
    const inserted = down(far, x - y, steps);
    const from = inserted ? far.get(x - y + 1) : far.get(x - y - 1);
    const fromY = from - (x - y) - (inserted ? 1 : -1);
    const [startX, startY] = inserted ? [from, fromY + 1] : [from + 1, fromY];
    if (steps > 0) found.push(["=", a.slice(startX, x)], inserted ? ["+", [b[fromY]]] : ["-", [a[from]]]);
    else found.push(["=", a.slice(0, x)]);
    [x, y] = [from, fromY];
  }
  return found.reverse();
}
