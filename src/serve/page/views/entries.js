// Entries: what is known, one line each, of the person's memory or of an agent's.

import { answerView, folded, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite } from "../lib/cited.js";
import { append, count, failure, h, replace, say } from "../lib/dom.js";
import { go, route } from "../lib/route.js";

/** As many as the API gives at once. */
const MOST = 1000;
export const KINDS = ["fact", "preference", "decision", "correction", "commitment", "relationship", "skill"];
const STATUSES = { active: "Active", superseded: "Superseded", archived: "Archived", rejected: "Rejected" };

/** Why what was written last was compared by its words alone. */
let degraded;

export const view = answerView({
  title: "Entries",
  params: ["agent", "status", "kind"],
  begin: () => (degraded = undefined),
  frame: () => [head(), filters([])],
  ask() {
    const { agent, status, kind } = route();
    return api.entries({ agent, status, kind, limit: MOST });
  },
  draw: list,
});

const openForm = () => view.place.querySelector(".fact-form");

const head = () => heading("Entries", h("button", { type: "button", id: "add-entry", on: { click: () => write() } }, "Add an entry"));

/** A choice that the address keeps. */
export function choice(id, label, options, chosen, name) {
  const made = h("select", { id, "aria-label": label, on: { change: () => go({ [name]: made.value }, { replace: true }) } },
    options.map(([value, text]) => h("option", { value, selected: value === (chosen ?? "") }, text)));
  return made;
}

/** The memories that there are, to be chosen from. */
export function memories(agents) {
  const { agent = "" } = route();
  const names = [...new Set([...agents, ...(agent ? [agent] : [])])].sort();
  return [["", "Your memory"], ...names.map((name) => [name, `Memory of ${name}`])];
}

function filters(agents) {
  const { agent, status, kind } = route();
  return h("div", { class: "filters" },
    choice("entry-agent", "Memory", memories(agents), agent, "agent"),
    folded(["status", "kind"],
      choice("entry-status", "Status", Object.entries(STATUSES).map(([value, text]) => [value === "active" ? "" : value, text]), status, "status"),
      choice("entry-kind", "Kind", [["", "All kinds"], ...KINDS.map((name) => [name, name])], kind, "kind")));
}

function list({ entries, agents = [], problems = [], cut = false }, place) {
  const { status, kind } = route();
  replace(place, head(), filters(agents),
    h("p", { class: "summary" }, `${entries.length ? count(entries.length, "entry", "entries") : "No entries"}${cut ? `; only the first ${MOST} are shown` : ""}`),
    degraded ? h("p", { class: "hint degraded" }, degraded) : "",
    problems.length ? h("section", { class: "problems", "aria-label": "Problems" }, h("h3", {}, count(problems.length, "problem")), h("ul", {}, problems.map((problem) => h("li", {}, problem)))) : "",
    h("ul", { class: "fact-list", "aria-label": "Entries" }, entries.map(item)),
    !entries.length && !status && !kind && [h("p", { class: "hint" },
      "An entry is one thing to be known about you, as a line “- [preference] Prefers tabs” in memories/user.md, or in an agent’s entries.md. Proposals of agents and models are under Review."),
    h("p", {}, h("button", { type: "button", class: "primary", id: "first-entry", on: { click: () => write() } }, "Add the first entry"))]);
}

/** What an entry says, and where it is from. */
export function entryLines(entry) {
  const notes = [
    entry.confidence < 1 && `confidence ${entry.confidence}`,
    entry.from && `from ${entry.from}`,
    entry.until && `until ${entry.until}`,
    entry.trust !== "person" && `by ${entry.trust}`,
    entry.superseded_by && `superseded by ${entry.superseded_by}`,
    entry.reason && `rejected: ${entry.reason}`,
  ].filter(Boolean);
  return [
    h("p", { class: "fact-line" },
      h("span", { class: "fact-name" }, entry.kind),
      h("span", { class: "fact-value" }, entry.text),
      notes.map((note) => h("span", { class: "fact-state" }, note)),
      (entry.tags ?? []).map((tag) => h("span", { class: "fact-tag" }, `#${tag}`))),
    h("p", { class: "fact-more" },
      [entry.citation, ...(entry.sources ?? [])].map(cite)),
  ];
}

function item(entry) {
  const made = h("li", { class: "fact" }, ...entryLines(entry));
  const button = (id, text, click) => h("button", { type: "button", class: "quiet", id: `${id}-${entry.id}`, on: { click } }, text);
  const act = async (what, body) => {
    made.querySelector(".failure")?.remove();
    try {
      await api.removeEntry({ id: entry.id, agent: entry.agent, ...body });
      say(what);
      view.load();
    } catch (error) {
      append(made, failure(error));
    }
  };
  append(made.lastChild,
    entry.status === "active" && [button("edit", "Edit", () => write(entry, made)), button("archive", "Archive", () => act("Archived", { archive: true }))],
    button("remove", "Remove", () => act("Removed")));
  return made;
}

/** A form for an entry, new or as it is. */
function write(entry, at) {
  openForm()?.remove();
  const text = h("input", { id: "entry-text", "aria-label": "Text", autocomplete: "off", value: entry?.text ?? "" });
  const kind = h("select", { id: "entry-kind-of", "aria-label": "Kind" }, KINDS.map((name) => h("option", { value: name, selected: name === (entry?.kind ?? "fact") }, name)));
  const form = h("form", { class: "fact-form", on: { submit: async (event) => {
    event.preventDefault();
    form.querySelector(".failure")?.remove();
    const body = { text: text.value, kind: kind.value, agent: (entry?.agent ?? route().agent) || undefined };
    try {
      const done = entry ? await api.editEntry({ id: entry.id, ...body }) : await api.addEntry(body);
      const saved = done.status === "duplicate" ? "An entry already says this" : "Saved";
      say(done.degraded ? `${saved}; ${done.degraded}` : saved);
      degraded = done.degraded;
      form.remove();
      view.load();
    } catch (error) {
      append(form, failure(error));
    }
  } } },
    h("div", { class: "row" }, kind, text),
    h("div", { class: "row" },
      h("button", { type: "submit", class: "primary" }, "Save"),
      h("button", { type: "button", on: { click: () => { form.remove(); view.load({ quiet: true }); } } }, "Cancel")));
  if (at) append(at, form);
  else view.place.querySelector(".filters").before(form);
  text.focus();
}
