// What changes the vault: saving, annotating, deleting, and taking that back.

import { api } from "../lib/api.js";
import { append, byId, h, say } from "../lib/dom.js";
import { keepingFocus } from "../lib/list.js";
import { address, go, route } from "../lib/route.js";

const TOAST_MS = 12_000;

/** Tells the views that something was changed by the person. */
export function changed() {
  document.dispatchEvent(new CustomEvent("vault-changed"));
}

/** What can be taken back last. */
let undoable;

export function undoLast() {
  undoable?.();
}

/** Says something for a while; `action` is a button or a link beside it. */
export function toast(text, action, { failed = false } = {}) {
  const shown = h("div", { class: failed ? "toast failed" : "toast" }, h("span", {}, text), action,
    h("button", { type: "button", class: "quiet", "aria-label": "Dismiss", on: { click: () => shown.remove() } }, "×"));
  append(byId("toasts"), shown);
  while (byId("toasts").children.length > 3) byId("toasts").firstElementChild.remove();
  let timer;
  const leave = () => (timer = setTimeout(() => shown.remove(), TOAST_MS));
  // Whoever is about to press a button gets the time for it.
  for (const event of ["mouseenter", "focusin"]) shown.addEventListener(event, () => clearTimeout(timer));
  for (const event of ["mouseleave", "focusout"]) shown.addEventListener(event, leave);
  leave();
  return shown;
}

export const sentence = (error) => [error.message.replace(/\.$/, ""), error.hint].filter(Boolean).join(". ");

/** Deletes a passage or a note, and offers to take it back. */
export async function remove(hash, citation, { note = false } = {}) {
  try {
    const removed = await api.remove(hash);
    const { path, checkpoint_id: checkpoint } = removed;
    keepingFocus(() => {
      for (const item of document.querySelectorAll(".hit")) {
        if (note ? item.chunk.path === path : item.chunk.hash === hash) item.remove();
      }
    });
    if (route().note === path) go({ note: note ? undefined : path, lines: undefined }, { replace: true });
    changed();
    offerUndo(done(`Deleted ${citation}`, removed), checkpoint);
  } catch (error) {
    toast(`Not deleted: ${sentence(error)}`, undefined, { failed: true });
  }
}

/** What was done, and whether searches know it yet. */
function done(text, { searchable }) {
  return searchable === false ? `${text}; searches do not show it yet; see the status for why` : text;
}

/** Says what was done, with a button that takes it back, and perhaps a link beside it. */
export function offerUndo(text, checkpoint, beside) {
  if (!checkpoint?.length) return toast(text, beside);
  const undo = async () => {
    undoable = undefined;
    shown.remove();
    // Of several the last change is named first, and undone first.
    for (const one of [checkpoint].flat()) await restore(one);
  };
  const shown = toast(text, [beside, h("button", { type: "button", class: "undo", on: { click: undo } }, "Undo")]);
  undoable = undo;
  return shown;
}

/** Brings a file back as it was. */
export async function restore(checkpoint, force = false) {
  try {
    const restored = await api.restore(checkpoint, force);
    toast(done(`Restored ${restored.path}`, restored), link(restored.path));
    changed();
  } catch (error) {
    const again = error.code === "conflict" && !force
      ? h("button", { type: "button", class: "undo", on: { click: (event) => {
        event.currentTarget.closest(".toast").remove();
        restore(checkpoint, true);
      } } }, "Restore anyway")
      : undefined;
    toast(`Not restored: ${sentence(error)}`, again, { failed: true });
  }
}

function link(path, lines) {
  return h("a", { href: address({ ...route(), note: path, lines }) }, "Open");
}

/** A dialog with a form; `send` gets its fields, may throw what the person is told, and may give what comes after. Gives the form. */
export function dialog(title, fields, verb, send) {
  const said = h("p", { class: "failure", role: "alert", hidden: true });
  const submit = h("button", { class: "primary" }, verb);
  const form = h("form", { on: { submit: async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const then = await send(Object.fromEntries(new FormData(form)), form);
      made.close();
      then?.();
    } catch (error) {
      said.textContent = sentence(error);
      said.hidden = false;
    } finally {
      submit.disabled = false;
    }
  } } },
  h("h2", { id: "dialog-title" }, title), fields, said,
  h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => made.close() } }, "Cancel"), submit));
  form.addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
  });
  const made = show(h("dialog", { "aria-labelledby": "dialog-title" }, form));
  return form;
}

/** Shows a dialog, which is gone when it is closed; the focus goes back to where it was. */
export function show(made) {
  const before = document.activeElement;
  document.querySelector("dialog")?.close();
  append(document.body, made);
  made.addEventListener("close", () => {
    made.remove();
    // What is behind may have been made anew meanwhile.
    const there = before?.isConnected ? before : before?.id && byId(before.id);
    if (there && !document.querySelector("dialog[open]")) there.focus();
  });
  made.showModal();
  return made;
}

/** Asks for a snippet and saves it. */
export function save() {
  const collections = h("datalist", { id: "collections" });
  api.collections().then(({ collections: names }) => append(collections, names.map((name) => h("option", { value: name }))), () => {});
  dialog("Save a snippet", [
    h("label", { for: "save-content" }, "Text"),
    h("textarea", { id: "save-content", name: "content", rows: 7, required: true, autofocus: true, placeholder: "Markdown or plain text" }),
    h("div", { class: "two" },
      h("div", {}, h("label", { for: "save-title" }, "Title"), h("input", { id: "save-title", name: "title", placeholder: "optional", autocomplete: "off" })),
      h("div", {}, h("label", { for: "save-collection" }, "Collection"),
        h("input", { id: "save-collection", name: "collection", list: "collections", placeholder: "snippets", autocomplete: "off" }))),
    collections,
    h("label", { for: "save-tags" }, "Tags"),
    h("input", { id: "save-tags", name: "tags", placeholder: "optional, separated by spaces", autocomplete: "off" }),
  ], "Save", async ({ content, title, collection, tags }) => {
    const body = { content };
    if (title.trim()) body.title = title.trim();
    if (collection.trim()) body.collection = collection.trim();
    const listed = tags.split(/[\s,]+/).map((tag) => tag.replace(/^#/, "")).filter(Boolean);
    if (listed.length) body.tags = listed;
    const saved = await api.save(body);
    const text = saved.existing ? `Already saved: ${saved.path}` : `Saved to ${saved.path}`;
    offerUndo(done(text, saved), saved.checkpoint_id, link(saved.path));
    changed();
  });
}

/** Asks for a note about a passage. */
export function annotate(hash, citation) {
  dialog("Annotate", [
    h("p", { class: "hint" }, citation),
    h("label", { for: "annotation" }, "Note"),
    h("textarea", { id: "annotation", name: "note", rows: 4, required: true, autofocus: true }),
  ], "Annotate", async ({ note }) => {
    const annotated = await api.annotate(hash, note);
    say("Annotated");
    offerUndo(done(`Annotated ${citation}`, annotated), annotated.checkpoint_id, link(annotated.path));
    changed();
  });
}
