// The way from the reader to the editor and back.

import { api } from "../lib/api.js";
import { append, h } from "../lib/dom.js";
import { route } from "../lib/route.js";
import { sentence, toast } from "./change.js";
import { draftsOf, dropDraft, dropHistory, unsaved } from "./drafts.js";

let editing = false;
/** The note that is edited as soon as it is shown. */
let wanted;

/** Has a note edited when it is shown next. */
export function editNext(path) {
  wanted = path;
}

/** Whether a note that was just shown is to be edited: asked for, or left with text that is not saved. */
export function isWanted(path) {
  const is = wanted === path || draftsOf(path).length > 0;
  wanted = undefined;
  return is;
}

/** Says that there is text which was not saved, where the page begins. */
export function announceDrafts() {
  unsaved().filter((path) => path !== route().note).forEach(announce);
}

function announce(path) {
  const button = (name, act) => h("button", { type: "button", class: "undo", on: { click: () => {
    shown.remove();
    act();
  } } }, name);
  const shown = toast(`Not saved yet: ${path}`, [
    // One that is gone is made anew.
    button("Go on editing", () => import("/page/edit/editor.js").then(({ create }) => create(path))),
    button("Discard", () => draftsOf(path).forEach(({ key }) => dropDraft(key))),
  ]);
}

/** The note is gone: what could be undone in it goes too, as it may have been forgotten for good; of what was not saved, the person decides. */
export function gone(path, first) {
  dropHistory(path);
  if (first && draftsOf(path).length) announce(path);
}

/** Edits a note in the reader; resolves when that is over. */
export async function edit(reader, path, line) {
  if (editing) return;
  editing = true;
  const place = h("section", { class: "editor", "aria-label": `Editing ${path}` });
  try {
    const [editor, text] = await Promise.all([import("/page/edit/editor.js"), api.text(path)]);
    if (route().note !== path) return;
    reader.classList.add("editing");
    append(reader, place);
    await editor.open(place, { ...text, line });
  } catch (error) {
    toast(`Cannot be edited: ${sentence(error)}`, undefined, { failed: true });
  } finally {
    editing = false;
    reader.classList.remove("editing");
    place.remove();
  }
}

/** Tells the editor that is open, if one is, that its file may have changed, or that it has to end. */
export function tellEditor(what) {
  document.querySelector("#reader > .editor")?.dispatchEvent(new Event(what));
  return editing;
}
