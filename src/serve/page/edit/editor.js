// The editor of a note, in the reader, in place of what is read.

import { api } from "../lib/api.js";
import { append, h, replace, say } from "../lib/dom.js";
import { go, route } from "../lib/route.js";
import { changed, offerUndo, sentence, toast } from "../note/change.js";
import { draftsOf, dropHistory, historyOf, keepHistory } from "../note/drafts.js";
import { editNext } from "../note/edit.js";
import { startEditing } from "../note/note.js";
import { markdown } from "./markdown.js";
import { decided } from "./merge.js";
import { saving, withDrafts } from "./saving.js";
import {
  Decoration, EditorSelection, EditorState, EditorView, StateEffect, StateField, diff, history, historyField, historyKeymap, isolateHistory,
  keymap, standardKeymap,
} from "/page/vendor/codemirror.js";

const FRESH_MS = 2500;
/** How long closing waits for the vault; what it has not taken by then is kept, and sent when it answers. */
const CLOSE_MS = 1500;

const fresh = StateEffect.define();
const freshMarks = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    const effect = transaction.effects.find((one) => one.is(fresh));
    return effect ? effect.value : marks.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

/** Shows a text that came from outside, by the fewest changes, which can be undone and stand out for a moment. */
function bring(view, lines) {
  const [was, text] = [view.state.doc.toString(), lines.join("\n")];
  const found = diff(was, text, { scanLimit: 1000, timeout: 300 });
  if (!found.length) return;
  const marks = found.filter(({ fromB, toB }) => fromB < toB).map(({ fromB, toB }) => Decoration.mark({ class: "cm-fresh" }).range(fromB, toB));
  view.dispatch({
    changes: found.map(({ fromA, toA, fromB, toB }) => ({ from: fromA, to: toA, insert: text.slice(fromB, toB) })),
    effects: fresh.of(Decoration.set(marks)), annotations: isolateHistory.of("full"), userEvent: "merge",
  });
  say("Changed elsewhere");
  setTimeout(() => view.dispatch({ effects: fresh.of(Decoration.none) }), FRESH_MS);
}

/** The state of before a reload, with what could be undone, if the text is still the same. */
function stateOf(text, { path, hash }, extensions) {
  try {
    const kept = JSON.parse(historyOf(path));
    const [draft] = draftsOf(path);
    if (kept.hash === hash && kept.from === draft?.from && kept.length === text.length) {
      return EditorState.fromJSON({ doc: text, selection: kept.selection, history: kept.history }, { extensions }, { history: historyField });
    }
  } catch {
    // There is none, or none of this editor.
  }
  dropHistory(path);
  return EditorState.create({ doc: text, extensions });
}

/** Opens the editor of a text in a place; resolves when it is closed. */
export async function open(place, { path, text, hash, line }) {
  const ended = new AbortController();
  const status = h("p", { class: "hint", role: "status" });
  const decisions = h("div", {});
  const host = h("div", { class: "text" });
  const done = h("button", { type: "button", class: "close", "aria-keyshortcuts": "Escape", on: { click: () => close() } }, "‹ Done");
  append(place, h("div", { class: "bar" }, done, h("span", { class: "cite" }, path), status), decisions, host);

  function tell(said, failed = false, [name, act] = []) {
    // A button that is about to be pressed stays.
    if (status.dataset.said === said) return;
    status.dataset.said = said;
    status.classList.toggle("bad", failed);
    replace(status, said, name && h("button", { type: "button", class: "quiet", on: { click: act } }, name));
  }
  async function decide(parts) {
    host.inert = true;
    const lines = await decided(decisions, parts);
    host.inert = false;
    view?.focus();
    return lines;
  }
  let view;
  const on = (target, event, act) => target.addEventListener(event, act, { signal: ended.signal });
  const finished = new Promise((resolve) => ended.signal.addEventListener("abort", resolve));
  on(place, "leave", () => (view ? close(true) : ended.abort()));
  const drafts = await Promise.race([withDrafts({ path, text, hash }, decide), finished]);
  if (ended.signal.aborted) return finished;
  const saver = saving({ path, hash, ...drafts }, {
    current: () => view.state.doc.toJSON(), bring: (now) => bring(view, now), decide, tell, saved: () => keep(),
  });
  function keep() {
    const draft = saver.draft();
    const { doc, selection, history } = view.state.toJSON({ history: historyField });
    keepHistory(path, JSON.stringify({ hash: saver.hash(), from: draft?.from, length: doc.length, selection, history }));
  }
  const shadow = host.attachShadow({ mode: "open" });
  const extensions = [
    // What ends a line is the vault's; a carriage return within one is a character.
    EditorState.lineSeparator.of("\n"),
    history(), freshMarks, markdown(text), EditorView.lineWrapping,
    keymap.of([{ key: "Mod-s", run: () => Boolean(saver.flush()) }, ...standardKeymap, ...historyKeymap]),
    EditorView.contentAttributes.of({ "aria-label": `Text of ${path}`, spellcheck: "true", autocapitalize: "sentences" }),
    EditorView.updateListener.of((update) => update.docChanged && saver.touch()),
  ];
  view = new EditorView({ state: stateOf(drafts.now.join("\n"), { path, hash }, extensions), parent: shadow, root: shadow });
  if (line) view.dispatch({ selection: EditorSelection.cursor(view.state.doc.line(Math.min(line, view.state.doc.lines)).from) });
  view.dispatch({ effects: EditorView.scrollIntoView(view.state.selection.main.head, { y: "center" }) });
  view.focus();
  // Of drafts that the vault has already, nothing is sent; they are dropped.
  if (saver.dirty() || drafts.keys.length) saver.flush();

  async function close(force = false) {
    if (!force && host.inert) return decisions.querySelector("button").focus();
    saver.draft();
    const settled = Promise.race([saver.flush(), new Promise((resolve) => setTimeout(resolve, CLOSE_MS))]);
    if (!force) await settled;
    if (ended.signal.aborted || (!force && host.inert)) return;
    keep();
    ended.abort();
    view.destroy();
    await settled;
    if (saver.dirty()) toast(`Not saved yet: ${path}. The browser keeps the text until the vault takes it.`, undefined, { failed: true });
    else if (saver.checkpoint()) offerUndo(`Edited ${path}`, saver.checkpoint());
    changed();
  }
  // Keys that are typed here are none of the page's.
  on(place, "keydown", (event) => {
    if (event.key === "Escape" && !event.defaultPrevented) close();
    event.stopPropagation();
  });
  on(place, "check", () => saver.check());
  on(host, "focusout", () => saver.dirty() && saver.flush());
  on(document, "visibilitychange", () => document.hidden && saver.dirty() && saver.flush());
  on(window, "pagehide", keep);
  return finished;
}

/** Makes a note and edits it; one that exists is edited. */
export async function create(path, text = "") {
  try {
    await api.make({ path, text });
    changed();
  } catch (error) {
    if (error.code !== "exists") return toast(`Not made: ${sentence(error)}`, undefined, { failed: true });
  }
  if (route().note === path) return startEditing();
  editNext(path);
  return go({ note: path, lines: undefined });
}
