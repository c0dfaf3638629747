// Below a note: the notes that link to it, and those that are near it.

import { api } from "../lib/api.js";
import { readable } from "../lib/cited.js";
import { h, replace } from "../lib/dom.js";
import { address, route } from "../lib/route.js";

const MARKS = { out: "linked to", in: "links here", both: "linked both ways" };

/** A place for what is near a note, which is filled in when it is known. */
export function near(note) {
  const place = h("section", { class: "near", "aria-label": "Related notes", hidden: true });
  fill(place, note.path);
  return place;
}

async function fill(place, path) {
  try {
    const [{ incoming }, { results, degraded }] = await Promise.all([api.links(path), api.related(path)]);
    replace(place,
      list("Linked from", incoming.map((link) => entry(link.path, `${link.line}-${link.line}`, link.title, undefined, link.text))),
      list("Related notes", results.map((near) =>
        entry(near.path, `${near.line_start}-${near.line_end}`, near.title, MARKS[near.linked], near.snippet)), degraded));
    place.hidden = !place.childElementCount;
  } catch {
    // The note is read without them.
  }
}

function list(name, entries, degraded) {
  if (!entries.length) return [];
  return [h("h3", {}, name), degraded && h("p", { class: "hint" }, degraded), h("ul", {}, entries)];
}

function entry(path, lines, title, mark, text) {
  return h("li", {},
    h("a", { href: address({ ...route(), note: path, lines }), title: path }, title), mark && h("span", { class: "hint" }, ` ${mark}`),
    h("p", { class: "hint" }, readable(text)));
}
