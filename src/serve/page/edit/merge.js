// Merges two texts that were made of one, by lines; people decide where both have changed the same.

import { h, replace } from "../lib/dom.js";
import { diff } from "/page/vendor/codemirror.js";

/** Characters that stand for lines while they are compared: none is half of a pair. */
const MOST_LINES = 0xd7ff;
const LIMIT = { scanLimit: 2000, timeout: 500 };

/** What was changed between the first and the last lines that are the same: `was[from..to]` became `lines`, up to `end`. */
export function changedLines(was, now) {
  const most = Math.min(was.length, now.length);
  let [from, same] = [0, 0];
  while (from < most && was[from] === now[from]) from += 1;
  while (same < most - from && was.at(-1 - same) === now.at(-1 - same)) same += 1;
  return { from, to: was.length - same, end: now.length - same, lines: now.slice(from, now.length - same) };
}

/** The runs of lines in which `other` is not as `base`. */
function changes(base, other) {
  const { from, to, end } = changedLines(base, other);
  const letters = new Map();
  const lettered = (lines) => lines.map((line) => {
    if (!letters.has(line)) letters.set(line, String.fromCharCode(letters.size + 1));
    return letters.get(line);
  }).join("");
  const [a, b] = [lettered(base.slice(from, to)), lettered(other.slice(from, end))];
  const found = letters.size < MOST_LINES ? diff(a, b, LIMIT) : [{ fromA: 0, toA: to - from, fromB: 0, toB: end - from }];
  return found.map(({ fromA, toA, fromB, toB }) => ({ from: from + fromA, to: from + toA, lines: other.slice(from + fromB, from + toB) }));
}

/** The parts of a merged text: `{lines}`, or `{mine, theirs}` where both have changed lines that are the same or touch. */
export function merge(base, mine, theirs) {
  const left = [changes(base, mine), changes(base, theirs)];
  const parts = [];
  let at = 0;
  while (left[0].length || left[1].length) {
    const from = Math.min(...left.map(([next]) => next?.from ?? Infinity));
    const group = [[], []];
    let to = from;
    for (let side; (side = left.findIndex(([next]) => next && next.from <= to)) !== -1;) {
      const next = left[side].shift();
      group[side].push(next);
      to = Math.max(to, next.to);
    }
    const [a, b] = group.map((ones) => applied(base, from, to, ones));
    parts.push({ lines: base.slice(at, from) });
    if (!group[1].length || a.join("\n") === b.join("\n")) parts.push({ lines: a });
    else if (!group[0].length) parts.push({ lines: b });
    else parts.push({ mine: a, theirs: b });
    at = to;
  }
  return [...parts, { lines: base.slice(at) }];
}

function applied(base, from, to, changes) {
  const lines = [];
  for (const change of changes) {
    lines.push(...base.slice(from, change.from), ...change.lines);
    from = change.to;
  }
  return [...lines, ...base.slice(from, to)];
}

/** Shows both sides of each conflict, with a button for either and for both; gives the lines when all are decided. */
export function decided(place, parts) {
  const open = parts.filter((part) => part.mine);
  return new Promise((resolve) => {
    const ask = () => {
      const [part] = open;
      if (!part) {
        replace(place);
        return resolve(parts.flatMap((one) => one.lines));
      }
      const choice = (name, lines) => h("button", { type: "button", on: { click: () => {
        part.lines = lines;
        open.shift();
        ask();
      } } }, name);
      const side = (name, lines) => h("div", {}, h("h3", {}, name), h("pre", { tabindex: 0, "aria-label": name }, lines.length ? lines.join("\n") : h("em", {}, "Nothing")));
      const number = parts.filter((one) => one.mine).length;
      // Whoever types on does not scroll it away.
      const stay = (event) => event.key === " " && event.preventDefault();
      const title = h("h2", { tabindex: -1, on: { keydown: stay } }, `Changed here and elsewhere${number > 1 ? ` (${number - open.length + 1} of ${number})` : ""}`);
      replace(place, h("section", { class: "conflict", "aria-label": "Conflict" }, title,
        h("p", { class: "hint" }, "Nothing is overwritten before you choose."),
        h("div", { class: "sides" }, side("Mine", part.mine), side("Theirs", part.theirs)),
        h("div", { class: "row" }, choice("Keep mine", part.mine), choice("Take theirs", part.theirs), choice("Keep both", [...part.mine, ...part.theirs]))));
      title.focus();
    };
    ask();
  });
}
