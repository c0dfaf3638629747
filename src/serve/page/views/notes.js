// Notes: the folders as a tree, and the notes of one as a list, sorted.

import { answerView, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { append, bytes, count, debounced, h, replace, when } from "../lib/dom.js";
import { folderTree } from "../lib/folders.js";
import { keepingFocus, markOpen } from "../lib/list.js";
import { address, go, route } from "../lib/route.js";
import { save } from "../note/change.js";

const PAGE = 100;
/** As many as the API gives at once. */
const MOST = 1000;
const ORDERS = [["", "Last changed"], ["name", "Name"], ["size", "Size"]];
const ASKED = ["folder", "tag", "sort"];

const tree = folderTree((folder) => go({ folder }, { replace: true }));
const summary = h("p", { class: "summary", role: "status" });
const list = h("ol", { class: "hits note-list", "aria-label": "Notes" });
const end = h("div", {});
let folders = [];

const those = () => Object.fromEntries(ASKED.map((name) => [name, route()[name]]));

const answer = answerView({
  title: "Notes",
  kind: "notes",
  params: ASKED,
  frame,
  form: () => null,
  async ask() {
    const wanted = Math.max(PAGE, list.childElementCount);
    const pages = Array.from({ length: Math.ceil(wanted / MOST) }, (_, at) => api.notes({ ...those(), limit: Math.min(MOST, wanted - at * MOST), offset: at * MOST }));
    const [{ folders: found }, ...answers] = await Promise.all([api.folders(), ...pages]);
    return { notes: answers.flatMap(({ notes }) => notes), total: answers[0].total, found };
  },
  draw({ notes, total, found }) {
    folders = found;
    tree.fill(folders, route().folder);
    keepingFocus(() => replace(list, notes.map(item)));
    more(total);
  },
  moved() {
    replace(list);
    tree.fill(folders, route().folder);
    answer.load();
  },
});

/** A note opened in the reader changes the address as well. */
export const view = {
  ...answer,
  show(main) {
    replace(list);
    answer.show(main);
  },
  update(now, before) {
    answer.update(now, before);
    markOpen();
  },
};

function frame() {
  const { tag = "", sort = "" } = route();
  const order = h("select", { id: "notes-sort", "aria-label": "Sorted by", on: { change: () => go({ sort: order.value }, { replace: true }) } },
    ORDERS.map(([value, name]) => h("option", { value, selected: value === sort }, name)));
  const typed = debounced(200, () => go({ tag: tags.value.trim().replace(/^#/, "") }, { replace: true }));
  const known = h("datalist", { id: "notes-tags" });
  const tags = h("input", { id: "notes-tag", type: "search", class: "tag", placeholder: "#tag", "aria-label": "Tag", autocomplete: "off", list: "notes-tags", value: tag,
    on: { input: typed, focus: () => known.firstChild || api.tags().then((all) => replace(known, all.tags.slice(0, 500).map((one) => h("option", { value: one.tag }))), () => {}) } });
  return [heading("Notes"),
    h("details", { class: "folders", open: innerWidth >= 1000 }, h("summary", {}, "Folders"), tree.place),
    h("div", { class: "list" }, h("div", { class: "filters" }, order, tags, known), summary, list, end)];
}

function item({ path, title, bytes: size, updated_at: at }) {
  const made = h("li", { class: "hit" },
    h("a", { class: "hit-title", href: address({ ...route(), note: path, lines: undefined }) }, h("span", { class: "title" }, title)),
    h("p", { class: "hit-meta" }, h("span", { class: "cite" }, path), when(at), h("span", {}, bytes(size)),
      h("a", { class: "quiet", href: address({ view: "graph", name: path }), "aria-label": `Around it: ${title}` }, "Around it")));
  // What keys and the reader ask of a passage.
  made.chunk = { path, hash: path };
  made.addEventListener("click", (event) => event.target.closest("a") || String(getSelection()) || made.querySelector("a").click());
  return made;
}

/** Says how many there are, and adds more as one comes to the end. */
function more(total) {
  const { folder, tag } = route();
  const shown = list.childElementCount;
  summary.textContent = [total ? count(total, "note") : "No notes", folder && `in ${folder}`, tag && `with #${tag}`].filter(Boolean).join(" ");
  replace(end,
    shown < total && shown > 0 && h("button", { type: "button", class: "more", on: { click: add } }, `Show more (${count(total - shown, "note")} left)`),
    !total && !folder && !tag && [
      h("p", { class: "hint" }, "A note is a Markdown file in the vault’s folder, like “notes/loans.md”. Write them here or in any editor; they are found as soon as they are saved."),
      h("p", {}, h("button", { type: "button", class: "primary", on: { click: save } }, "Save the first note"))]);
  if (end.firstChild?.className === "more") reached.observe(end.firstChild);
  markOpen();
}

const reached = new IntersectionObserver((seen) => {
  for (const { isIntersecting, target } of seen) {
    if (!target.isConnected || isIntersecting) reached.unobserve(target);
    if (target.isConnected && isIntersecting) target.click();
  }
}, { rootMargin: "400px" });

async function add() {
  const asked = JSON.stringify(those());
  const offset = list.childElementCount;
  const { notes, total } = await api.notes({ ...those(), limit: PAGE, offset });
  if (asked !== JSON.stringify(those()) || offset !== list.childElementCount) return;
  append(list, notes.map(item));
  more(total);
}
