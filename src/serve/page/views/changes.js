// What the program changed in the vault, and what can be taken back: conflicts, the last changes, and the log of all.

import { heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { bytes, failure, h, replace, when } from "../lib/dom.js";
import { address, route } from "../lib/route.js";
import { restore } from "../note/change.js";
import { conflictList } from "./conflicts.js";

const FIRST = 50;
const MOST = 10_000;
/** Changes that can be taken back that are shown. */
const LAST = 30;

const DID = {
  create: "Created", edit: "Changed", append: "Added to", forget: "Forgot some of", trash: "Moved to .trash/", restore: "Restored", purge: "Permanently removed",
};
const WHO = { owner: "You", program: "One of your programs", retention: "Retention" };

const conflicts = conflictList();
const undoable = section("checkpoints", "Recent changes", "The vault keeps a file’s old content for a while, so that you can undo a change.", checkpoints);
const log = section("changes", "Log of changes", "Changes that this program made to your notes, for you or an agent. It contains no text of notes, and no changes made in an editor.", changes);
let limit = FIRST;

/** A part of the view; `load` gives what is listed, and what stands below. */
function section(kind, title, hint, load) {
  const list = h("ol", { class: kind, "aria-label": `${title}, newest first` });
  const end = h("div", {});
  const refresh = async () => {
    try {
      const { items, more } = await load();
      replace(list, items);
      replace(end, more || (!items.length && h("p", {}, "Nothing yet.")));
    } catch (error) {
      replace(end, failure(error, refresh));
    }
  };
  return { refresh, part: h("section", { id: kind === "changes" && "change-log" }, h("h3", {}, title), h("p", { class: "hint" }, hint), list, end) };
}

async function checkpoints() {
  const { checkpoints: all } = await api.checkpoints();
  return { items: all.slice(0, LAST).map(({ id, at, path, action, bytes: size }) => h("li", {}, h("span", { class: "cite" }, path),
    h("span", { class: "hint" }, `before: ${action}, ${size === undefined ? "no such file" : bytes(size)}`), when(at),
    h("button", { type: "button", class: "quiet", "aria-label": `Restore ${path}`, on: { click: () => restore(id) } }, "Restore"))) };
}

async function changes() {
  const { changes: all } = await api.changes(limit);
  const older = () => {
    limit = Math.min(MOST, limit * 4);
    log.refresh();
  };
  const more = all.length === limit && limit < MOST && h("button", { type: "button", class: "more", on: { click: older } }, "Show older");
  return { items: all.map(item), more };
}

function item({ at, by, what, path, line_start: first, line_end: last, checkpoint_id: checkpoint }) {
  const lines = first && `${first}-${last}`;
  const place = first === undefined ? path : `${path}#L${first}${last === first ? "" : `-L${last}`}`;
  const shown = path.endsWith("/") || what === "trash" ? h("span", { class: "cite" }, place)
    : h("a", { class: "cite", href: address({ ...route(), note: path, lines }) }, place);
  const undo = checkpoint && h("button", { type: "button", class: "quiet", "aria-label": `Undo: ${DID[what] ?? what} ${path}`, on: { click: () => restore(checkpoint) } }, "Undo");
  return h("li", {}, shown, h("span", { class: "hint" }, `${DID[what] ?? what}, by ${WHO[by] ?? by}`), when(at), undo);
}

export const view = {
  show(main) {
    limit = FIRST;
    replace(main, heading("Changes"), conflicts.section, undoable.part, log.part);
    view.changed();
  },
  update() {},
  changed() {
    for (const part of [conflicts, undoable, log]) part.refresh();
  },
};
