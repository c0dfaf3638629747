// Below a note: the notes that link to it, name it or are near it, and what it was before.

import { api, isGuest } from "../lib/api.js";
import { readable } from "../lib/cited.js";
import { failure, h, replace } from "../lib/dom.js";
import { address, route } from "../lib/route.js";
import { linking } from "./mention.js";
import { versions } from "./versions.js";

const MARKS = { out: "linked to", in: "links here", both: "linked both ways" };

/** Which lists are open; they stay so from note to note. */
const opened = new Set(["Linked from", "Related notes"]);

/** Places for what is about a note, each filled in when it is known, or when it is opened. */
export function near(note) {
  return h("section", { class: "near", "aria-label": "About this note" },
    list("Linked from", async () => (await api.links(note.path)).incoming.map(placed), true),
    !isGuest() && list("Unlinked mentions", async () => (await api.mentions(note.path)).mentions.map((one) => linking(placed(one), note, one)), true),
    list("Related notes", async () => {
      const { results, degraded } = await api.related(note.path);
      return [...(degraded && results.length ? [h("li", { class: "hint" }, degraded)] : []),
        ...results.map((one) => entry(one.path, `${one.line_start}-${one.line_end}`, one.title, MARKS[one.linked], one.snippet))];
    }),
    list("Versions", () => versions(note)));
}

/**
 * A list that asks when it is opened, and again when the person has changed something, if that may be `ofLinks`. One that is open from the start and
 * is empty is only in the way.
 */
function list(name, ask, ofLinks) {
  const place = h("div", {}, h("p", { class: "hint" }, "…"));
  const quiet = opened.has(name);
  let asked = quiet;
  const load = async () => {
    try {
      const entries = await ask();
      const hadFocus = place.contains(document.activeElement);
      replace(place, entries.length ? h("ul", {}, entries) : h("p", { class: "hint" }, "None."));
      made.hidden = quiet && !entries.length;
      if (hadFocus) made.firstElementChild.focus();
    } catch (error) {
      replace(place, failure(error, load));
      made.hidden = quiet;
    }
  };
  const made = h("details", { open: quiet, on: { toggle: () => {
    opened[made.open ? "add" : "delete"](name);
    if (made.open && !asked) load();
    asked ||= made.open;
  } } }, h("summary", {}, h("h3", {}, name)), place);
  if (quiet) load();
  const again = () => {
    if (!made.isConnected) document.removeEventListener("vault-changed", again);
    else if (asked) load();
  };
  if (ofLinks) document.addEventListener("vault-changed", again);
  return made;
}

const placed = ({ path, line, title, text }) => entry(path, `${line}-${line}`, title, undefined, text);

function entry(path, lines, title, mark, text) {
  return h("li", {},
    h("a", { href: address({ ...route(), note: path, lines }), title: path }, title), mark && h("span", { class: "hint" }, ` ${mark}`),
    h("p", { class: "hint" }, readable(text)));
}
