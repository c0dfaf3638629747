// What an agent asked, and which places it was given.

import { api } from "../lib/api.js";
import { cite } from "../lib/cited.js";
import { count, failure, h, replace, say, secondOf } from "../lib/dom.js";

const FIRST = 50;
const MOST = 10_000;
/** Places of an answer that are shown at once. */
const PLACES = 5;

const WHAT = {
  search: "Searched", browse: "Browsed", collections: "Listed collections", list: "Listed notes", notes: "Listed notes", tags: "Listed tags",
  complete: "Completed a name", passage: "Read a passage", note: "Read a note", links: "Looked at links", related: "Looked for related notes",
  graph: "Looked at the graph", stats: "Read the statistics", facts: "Looked up facts", entries: "Listed entries",
  summaries: "Listed summaries", digest: "Read a digest", context: "Got context", page: "Got new rules",
  memory_search: "Searched its own memory", memory_get: "Read its own memory", memory_list: "Listed its own memory", memory_save: "Wrote to its own memory",
  memory_delete: "Deleted from its own memory", memory_forget: "Forgot some of its own memory", checkpoint_restore: "Undid a change to its own memory",
  fact_set: "Set one of its own facts",
};
/** Of these the vault logs the file that they changed. */
const WRITES = ["memory_save", "memory_delete", "memory_forget", "checkpoint_restore", "fact_set"];

/** The log of an agent as a section, the newest first. */
export function readLog({ slug, name }) {
  const list = h("ol", { class: "log", "aria-label": `What ${name} asked, newest first` });
  const end = h("div", {});
  let limit = FIRST;
  let asked = 0;
  const load = async () => {
    asked += 1;
    const mine = asked;
    try {
      const { entries } = await api.agentLog(slug, limit);
      if (mine !== asked) return undefined;
      replace(list, entries.map(item));
      const button = h("button", { type: "button", class: "more", on: { click: more } }, "Show older");
      const nothing = !entries.length && h("p", {}, "No requests yet.");
      replace(end, entries.length === limit && limit < MOST ? button : nothing);
      return entries.length;
    } catch (error) {
      if (mine === asked) replace(end, failure(error, load));
      return undefined;
    }
  };
  const refresh = async () => {
    const shown = await load();
    if (shown !== undefined) say(shown ? count(shown, "request") : "No requests yet");
  };
  async function more() {
    const before = list.children.length;
    limit = Math.min(MOST, limit * 2);
    await load();
    list.children[before]?.focus();
  }
  load();
  return h("section", {},
    h("div", { class: "head" }, h("h3", {}, "What it read"),
      h("button", { type: "button", id: "refresh-log", class: "quiet", on: { click: refresh } }, "Refresh")),
    h("p", { class: "hint" }, "Every request to this vault, and every place it returned. This log stays on this machine, and has a size limit."),
    list, end);
}

function item({ at, what, query: asked = "", given: got = [], changed = [], receipt, refused }) {
  const wrote = WRITES.includes(what) && asked;
  const [query, given] = wrote ? ["", [asked, ...got]] : [asked, got];
  const nothing = !given.length && !refused && /search|browse|list/.test(what) ? h("p", { class: "hint" }, "Nothing found") : undefined;
  const places = given.map((place) => h("li", {}, /^and \d+ more$/.test(place) ? place : cite(place)));
  const rest = places.length > PLACES + 1 ? places.splice(PLACES) : [];
  return h("li", { tabindex: -1 },
    h("p", {}, h("time", { datetime: at }, secondOf(at)), h("span", { class: "what" }, WHAT[what] ?? what.replaceAll("_", " ")), query !== given[0] && query && !changed.length ? h("q", {}, query) : undefined),
    changed.length > 0 && h("ul", { "aria-label": "What was changed" }, changed.map((line) => h("li", {}, line))),
    places.length > 0 && h("ul", { "aria-label": "Places returned" }, places),
    rest.length > 0 && h("details", {}, h("summary", {}, `${count(rest.length, "more place")}`), h("ul", {}, rest)),
    receipt && h("p", { class: "hint" }, receipt),
    refused && h("p", { class: "refused" }, `Refused: ${refused}`),
    nothing);
}

