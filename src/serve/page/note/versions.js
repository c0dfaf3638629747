// What a note was before: each earlier text with what it changes, by lines, and a button that brings it back.

import { api } from "../lib/api.js";
import { diff } from "../lib/diff.js";
import { failure, h, replace, when } from "../lib/dom.js";
import { restore } from "./change.js";

/** Lines around a change, and those that are shown in all. */
const [AROUND, MOST] = [2, 400];

/** The versions of a note as items of a list. */
export async function versions(note) {
  const found = await api.versions(note.path);
  return found.versions.map((version) => {
    const place = h("div", {});
    const made = h("details", { on: { toggle: () => made.open && !place.hasChildNodes() && show(place, version, note) } },
      h("summary", {}, "Before: ", [version.action, version.by && `by ${version.by}`].filter(Boolean).join(", "), " ", when(version.at)), place);
    return h("li", {}, made);
  });
}

async function show(place, { id }, note) {
  try {
    const { text } = await api.version(id);
    const lines = (all) => all.split(/\r\n?|\n/);
    replace(place,
      text === null ? h("p", { class: "hint" }, "There was no such note.") : difference(diff(lines(note.text), lines(text))),
      h("button", { type: "button", on: { click: () => restore(id) } }, "Bring this back"));
  } catch (error) {
    replace(place, failure(error, () => show(place, { id }, note)));
  }
}

/** A difference of lines as text, with a few lines around each change. */
export function difference(parts) {
  if (parts.every(({ op }) => op === "=")) return h("p", { class: "hint" }, "The note is the same now.");
  let room = MOST;
  return h("pre", { class: "diff", tabindex: 0, "aria-label": "What bringing it back changes" }, parts.flatMap(({ op, items }, at) => {
    const [before, after] = [at > 0 ? AROUND : 0, at < parts.length - 1 ? AROUND : 0];
    const shown = op === "=" && items.length > before + after
      ? [...items.slice(0, before), "…", ...items.slice(items.length - after)] : items.slice(0, Math.max(0, room));
    room -= shown.length;
    const name = { "=": "span", "-": "del", "+": "ins" }[op];
    return [...shown, ...(shown.length < items.length && op !== "=" ? ["…"] : [])].map((line) => h(name, {}, `${op === "=" ? " " : op} ${line}\n`));
  }));
}
