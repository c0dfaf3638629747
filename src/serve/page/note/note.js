// The reader: one note, with the passage that led there marked.

import { api, right } from "../lib/api.js";
import { append, byId, failure, h, replace, say, when } from "../lib/dom.js";
import { copy, copyButton, focusedHit } from "../lib/list.js";
import { address, go, route } from "../lib/route.js";
import { embeds, lineOfBlock } from "./media.js";
import { elements, footnotes, mark } from "./tree.js";
import { whoSees } from "../views/agent-sees.js";
import { share } from "../views/share.js";
import { annotate, remove } from "./change.js";
import { edit, gone, isWanted, tellEditor } from "./edit.js";
import { near } from "./near.js";
import { ticking } from "./task.js";
import { openIn, outline } from "./outline.js";
import { properties } from "./properties.js";

const place = () => byId("reader");

let open;
let asked = 0;
/** The number of the load that a click started and that is not shown yet; a change of the index waits for it. */
let arriving;
let missed = false;
/** What had the focus when the note was opened. */
let cameFrom;
/** The link that opened it, where that was no passage's. */
let cameBy;
/** The heading or the block that the link just followed names, as its data. */
let wanted;

/** Shows the note of the route, or none. */
export async function show(now, before = {}) {
  if (now.note !== before.note) tellEditor("leave");
  document.body.classList.toggle("reading", Boolean(now.note));
  if (!now.note) {
    place().hidden = true;
    replace(place());
    open = undefined;
    asked += 1;
    if (before.note) giveFocusBack(before);
    return;
  }
  if (open?.note.path === now.note) {
    if (now.lines === before.lines) return;
    select();
    if (document.activeElement?.closest?.("#main")) {
      cameFrom = focusedHit()?.chunk.hash;
      place().focus({ preventScroll: true });
    }
    return;
  }
  cameFrom ??= focusedHit()?.chunk.hash;
  if (!before.note) cameBy = document.activeElement?.closest?.("#main a");
  await load(now.note, true, lineOf(now));
}

/** The first line of the passage that a route names. */
const lineOf = ({ lines }) => Number((lines ?? "").split("-")[0]) || undefined;

function giveFocusBack(before) {
  const hits = [...document.querySelectorAll(".hit")];
  const was = hits.find(({ chunk }) => cameFrom && chunk.hash === cameFrom)
    ?? hits.find(({ chunk }) => chunk.path === before.note && (chunk.line_start === undefined || `${chunk.line_start}-${chunk.line_end}` === before.lines));
  cameFrom = undefined;
  (was?.querySelector(".hit-title") ?? (cameBy?.isConnected ? cameBy : byId("main"))).focus();
  cameBy = undefined;
}

/** Loads a note; of one that is too long to be shown whole, the part around a line. */
async function load(path, first, line) {
  asked += 1;
  const mine = asked;
  if (first) arriving = mine;
  try {
    const note = await api.note(path, line);
    // The editor is not taken away under whoever writes.
    if (mine !== asked || (open?.note.path === path && tellEditor("check"))) return;
    if (!first && open?.note.hash === note.hash && open.note.annotations.length === note.annotations.length) return;
    const scrolled = place().scrollTop;
    const box = document.activeElement?.dataset.line;
    render(note, line);
    if (box) place().querySelector(`input[data-line="${box}"]`)?.focus({ preventScroll: true });
    place().hidden = false;
    // What is too wide is scrolled by keyboard, too.
    for (const table of place().querySelectorAll(".table")) if (table.scrollWidth > table.clientWidth) table.tabIndex = 0;
    select(first);
    if (first) place().focus({ preventScroll: true });
    else place().scrollTop = scrolled;
    if (first && isWanted(path)) startEditing();
  } catch (error) {
    if (mine !== asked || (!first && error.status === 0)) return;
    if (error.status === 404) gone(path, first);
    open = undefined;
    place().hidden = false;
    replace(place(), h("div", { class: "bar" }, closeButton()), failure(error, () => load(path, true, line)));
    if (first) place().focus();
  } finally {
    if (arriving === mine) {
      arriving = undefined;
      if (missed) changed();
    }
  }
}

/** The index has changed: the note may have. */
export function changed() {
  if (tellEditor("check")) return;
  missed = Boolean(route().note) && arriving === asked;
  if (route().note && !missed) load(route().note, false, open?.note.path === route().note ? open.line : lineOf(route()));
}

/** Edits the note that is read, from the passage that is marked. */
export function startEditing() {
  if (!open || right.is === "reader") return false;
  if (tellEditor("check")) return true;
  const { path } = open.note;
  edit(place(), path, lineOf(route())).then(() => {
    if (route().note !== path) return;
    load(path, false, open?.line);
    place().focus({ preventScroll: true });
  });
  return true;
}

function closeButton() {
  return h("button", { type: "button", class: "close", "aria-keyshortcuts": "Escape", on: { click: close } }, "‹ Back");
}

export function close() {
  if (!route().note) return false;
  go({ note: undefined, lines: undefined });
  return true;
}

function render(note, line) {
  const how = { follow: (path) => address({ ...route(), note: path, lines: undefined }), tags: new Set(note.tags.map((tag) => tag.toLowerCase())) };
  const body = h("div", { class: "body" }, elements(note.body, { ...how, embed: embeds(note, how) }));
  // The title above says it already.
  const first = body.firstElementChild;
  if (first?.tagName === "H2" && first.textContent.trim() === note.title) first.classList.add("unseen");
  footnotes(body);
  const tools = h("div", { class: "tools", role: "toolbar", "aria-label": "Passage" });
  const [from, to] = shownLines(note);
  open = { note, body, tools, line, from, to };
  const table = properties(note, how.follow);
  for (const part of [body, table].filter(Boolean)) part.addEventListener("click", chosen);
  if (right.is === "reader") for (const box of body.querySelectorAll("input")) box.disabled = true;
  else ticking(body, note);
  place().setAttribute("aria-label", note.title);
  const tags = note.tags.map((tag) => h("a", { class: "tag", href: address({ view: "search", tag }) }, `#${tag}`));
  replace(place(),
    h("div", { class: "bar" }, closeButton(),
      h("button", { type: "button", class: "quiet edit", "aria-keyshortcuts": "e", on: { click: startEditing } }, "Edit"), tools),
    h("header", {},
      h("h2", {}, note.title),
      h("p", { class: "hit-meta" },
        h("a", { class: "cite", href: note.obsidian_url, title: "Open in Obsidian" }, note.path), when(note.updated_at), tags,
        openIn(note, () => passage()?.line_start ?? 1),
        h("button", { type: "button", class: "quiet", on: { click: () => whoSees(note.path) } }, "Who can see this?"),
        h("button", { type: "button", class: "quiet share", on: { click: () => share(note.path) } }, "Share"),
        h("button", { type: "button", class: "quiet danger", on: { click: () => remove(note.hash, note.path, { note: true }) } }, "Delete note"))),
    table, outline(body),
    elsewhere(note, from - 1, note.chunks.some((chunk) => chunk.line_start < from), "Earlier part"),
    body,
    elsewhere(note, to + 1, note.chunks.some((chunk) => chunk.line_end > to), "Later part"),
    lost(note), near(note));
  annotations(note);
}

/** The lines of the file that are shown: of a very long note, a part. */
function shownLines({ cut, body }) {
  const lines = body.filter((node) => node.line_start);
  if (!cut || !lines.length) return [1, Infinity];
  return [lines[0].line_start, lines.at(-1).line_end];
}

/** Says that there is more of a very long note, and shows it. */
function elsewhere(note, line, more, name) {
  if (!note.cut || !more) return "";
  const turn = () => {
    go({ lines: undefined }, { replace: true });
    load(note.path, true, line);
  };
  return h("p", { class: "part hint" }, "This note is very long; this is a part of it. ",
    h("button", { type: "button", class: "quiet", on: { click: turn } }, name));
}

/** Puts what was written about passages below them. */
function annotations(note) {
  for (const one of note.annotations.filter(({ found }) => found)) {
    const blocks = [...open.body.querySelectorAll("[data-to]")].filter((block) => block.parentElement === open.body || block.parentElement.className === "table");
    const at = blocks.filter((block) => Number(block.dataset.from) <= one.line_end).at(-1);
    const aside = h("aside", { class: "annotation", "aria-label": "Annotation" }, h("p", {}, one.note),
      h("a", { class: "hint", href: address({ ...route(), note: one.path, lines: undefined }) }, one.path));
    if (at) at.after(aside);
    else append(open.body, aside);
  }
}

/** What was written about passages that are gone. */
function lost(note) {
  const gone = note.annotations.filter(({ found }) => !found);
  return gone.length > 0 && h("section", { class: "lost" }, h("h3", {}, "About deleted passages"), gone.map((one) =>
    h("aside", { class: "annotation" }, h("blockquote", {}, one.quote), h("p", {}, one.note),
      h("a", { class: "hint", href: address({ ...route(), note: one.path, lines: undefined }) }, one.path))));
}

/** The passage of the route: of these lines, or the one that they begin in. */
export function passage() {
  if (!open) return undefined;
  const [from, to] = (route().lines ?? "").split("-").map(Number);
  if (!from) return undefined;
  const { chunks } = open.note;
  return chunks.find((chunk) => chunk.line_start === from && chunk.line_end === to)
    ?? chunks.find((chunk) => chunk.line_start <= from && chunk.line_end >= from);
}

function select(scroll = true) {
  const chosen = passage();
  if (chosen && open.line !== chosen.line_start && (chosen.line_start < open.from || chosen.line_end > open.to)) {
    load(open.note.path, true, chosen.line_start);
    return;
  }
  const first = chosen && mark(open.body, chosen.line_start, chosen.line_end);
  if (!chosen) mark(open.body, 0, -1);
  tools(chosen);
  if (!scroll) return;
  first?.closest("details")?.setAttribute("open", "");
  if (first) first.scrollIntoView({ block: place().clientHeight > 500 ? "center" : "start" });
  else if (!toWanted()) top();
}

/** Scrolls to where the note begins; of a part of one, to its line. */
function top() {
  const blocks = open.line ? [...open.body.querySelectorAll("[data-to]")] : [];
  const found = blocks.find((block) => Number(block.dataset.to) >= open.line);
  if (found && open.from > 1) found.scrollIntoView({ block: "start" });
  else place().scrollTop = 0;
}

/** Scrolls to the heading or the block that a link named. */
function toWanted() {
  const { heading, block } = wanted ?? {};
  wanted = undefined;
  if (!heading && !block) return false;
  const name = heading?.split("#").at(-1).trim().toLowerCase();
  const line = block && lineOfBlock(open.note, block);
  const found = block
    ? [...open.body.querySelectorAll("[data-from]")].findLast(({ dataset: { from, to } }) => from <= line && line <= to)
    : [...open.body.querySelectorAll("h2, h3, h4, h5, h6")].find((one) => one.textContent.trim().toLowerCase() === name);
  found?.scrollIntoView({ block: "start" });
  return Boolean(found);
}

function citation(chosen) {
  const { path } = open.note;
  const { line_start: from, line_end: to } = chosen;
  return from === to ? `${path}#L${from}` : `${path}#L${from}-L${to}`;
}

function tools(chosen) {
  if (!chosen) {
    return replace(open.tools, h("span", { class: "hint" }, open.note.chunks.length ? "Click a passage to cite, annotate or delete it" : ""));
  }
  const { line_start: from, line_end: to, hash } = chosen;
  const button = (text, click, kind = "") => h("button", { type: "button", class: `quiet ${kind}`, on: { click } }, text);
  return replace(open.tools,
    h("span", { class: "lines" }, from === to ? `Line ${from}` : `Lines ${from}–${to}`),
    copyButton(citation(chosen)),
    h("a", { class: "quiet", href: open.note.obsidian_url }, "Obsidian"),
    button("Annotate", () => annotate(hash, citation(chosen))),
    button("Delete", () => remove(hash, citation(chosen)), "danger"));
}

/** A click on a passage marks it; one on a link within the vault remembers the heading or block it names. */
function chosen(event) {
  const link = event.target.closest("a[href]");
  if (link) {
    wanted = link.dataset;
    if (link.dataset.path === open.note.path) {
      event.preventDefault();
      if (!toWanted()) place().scrollTop = 0;
    }
    return;
  }
  if (String(getSelection()) || event.target.closest("button, input, summary")) return;
  const line = Number(event.target.closest("[data-from]")?.dataset.from);
  const found = line && open.note.chunks.find((chunk) => chunk.line_start <= line && chunk.line_end >= line);
  if (found) choose(found, false);
}

function choose(chunk, scroll) {
  go({ lines: `${chunk.line_start}-${chunk.line_end}` }, { replace: true });
  if (scroll) open.body.querySelector(".passage")?.scrollIntoView({ block: "nearest" });
}

/** Marks the passage after the marked one, or before it. */
export function step(by) {
  if (!open?.note.chunks.length) return;
  const { chunks } = open.note;
  const at = chunks.indexOf(passage());
  const next = chunks[at === -1 ? (by > 0 ? 0 : chunks.length - 1) : at + by];
  if (!next) return;
  choose(next, true);
  say(citation(next));
}

/** Gives the focus to the task after the one that has it, else to the first of the passage that is marked, or of the note. */
export function toTask() {
  const boxes = [...(open?.body.querySelectorAll("input[data-line]:enabled") ?? [])];
  const at = boxes.indexOf(document.activeElement);
  const from = at === -1 ? passage()?.line_start ?? 0 : Number(boxes[at].dataset.line) + 1;
  const next = boxes.find(({ dataset: { line } }) => Number(line) >= from) ?? boxes[0];
  if (!next) return false;
  next.closest("details")?.setAttribute("open", "");
  next.focus();
  return true;
}

/** What a key acts on: the passage marked in the reader. */
export function target() {
  const found = document.activeElement?.closest?.("#main") ? undefined : passage();
  if (!found) return undefined;
  return { hash: found.hash, citation: citation(found), obsidian: open.note.obsidian_url };
}

export const copyTarget = (chosen) => copy(chosen.citation);
