// What the program changed: when, who, what and where; it holds no text.

import { api } from "../lib/api.js";
import { restore } from "../note/change.js";
import { failure, h, replace, when } from "../lib/dom.js";
import { address, route } from "../lib/route.js";

const FIRST = 50;
const MOST = 10_000;

const DID = {
  create: "Created", edit: "Changed", append: "Added to", forget: "Forgot some of", trash: "Moved to .trash/", restore: "Restored", purge: "Permanently removed",
};
const WHO = { owner: "You", program: "One of your programs", retention: "Retention" };

/** The log as a section; `refresh` reads it again. */
export function changeLog() {
  const list = h("ol", { class: "changes", "aria-label": "Changes, newest first" });
  const end = h("div", {});
  let limit = FIRST;
  const refresh = async () => {
    try {
      const { changes } = await api.changes(limit);
      replace(list, changes.map(item));
      const more = h("button", { type: "button", class: "more", on: { click: older } }, "Show older");
      const nothing = !changes.length && h("p", {}, "Nothing yet.");
      replace(end, changes.length === limit && limit < MOST ? more : nothing);
    } catch (error) {
      replace(end, failure(error, refresh));
    }
  };
  async function older() {
    limit = Math.min(MOST, limit * 4);
    await refresh();
  }
  const section = h("section", { id: "change-log" }, h("h3", {}, "Log of changes"),
    h("p", { class: "hint" }, "Changes that this program made to your notes, for you or an agent. It contains no text of notes, and no changes made in an editor."),
    list, end);
  return { section, refresh };
}

function item({ at, by, what, path, line_start: first, line_end: last, checkpoint_id: checkpoint }) {
  const lines = first && `${first}-${last}`;
  const place = first === undefined ? path : `${path}#L${first}${last === first ? "" : `-L${last}`}`;
  const shown = path.endsWith("/") || what === "trash" ? h("span", { class: "cite" }, place)
    : h("a", { class: "cite", href: address({ ...route(), note: path, lines }) }, place);
  const undo = checkpoint && h("button", { type: "button", class: "quiet", "aria-label": `Undo: ${DID[what] ?? what} ${path}`, on: { click: () => restore(checkpoint) } }, "Undo");
  return h("li", {}, shown, h("span", { class: "hint" }, `${DID[what] ?? what}, by ${WHO[by] ?? by}`), when(at), undo);
}
