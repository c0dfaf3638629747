// The graph of notes: what is around one, by relation and direction; without a name those that have a type, or the relations of a name.

import { answerView, folded, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite, readable } from "../lib/cited.js";
import { append, byId, count, debounced, failure, h, replace } from "../lib/dom.js";
import { address, go, route } from "../lib/route.js";
import { pictureOf } from "./graph-picture.js";

const STEPS = [["1", "One step"], ["", "Two steps"], ["3", "Three steps"], ["4", "Four steps"], ["5", "Five steps"]];
const STATES = { expired: "expired", future: "not yet true" };
const NAMES = ["name", "relation", "kind", "steps", "day", "all"];

const summary = h("p", { class: "summary" });
const answer = h("div", {});

export const view = answerView({
  title: "Graph",
  kind: "ledger graph",
  params: NAMES,
  begin() {
    replace(summary);
    replace(answer);
  },
  frame: () => [heading("Graph"), form(), summary, answer],
  moved(now) {
    for (const name of NAMES) fillIn(byId(`graph-${name}`), now[name]);
    view.load();
  },
  ask() {
    const { name, relation, kind, steps, day, all } = route();
    return api.graph({ name, relation, type: kind, depth: steps, as_of: day, expired: all ? true : undefined });
  },
  draw: render,
  fail(error, again) {
    summary.textContent = "";
    replace(answer, failure(error, again));
  },
});

/** What is being typed stays as it is. */
function fillIn(field, value = "") {
  if (field.type === "checkbox") field.checked = Boolean(value);
  else if (field !== document.activeElement) field.value = value;
}

function form() {
  const now = route();
  const typed = (name) => debounced(200, (text) => go({ [name]: text.trim() }, { replace: true }));
  const text = (name, placeholder, label) => {
    const later = typed(name);
    const field = h("input", { id: `graph-${name}`, class: "find", type: "search", placeholder, "aria-label": label, autocomplete: "off", spellcheck: "false", on: { input: () => later(field.value) } });
    field.value = now[name] ?? "";
    return field;
  };
  const steps = h("select", { id: "graph-steps", "aria-label": "Distance", on: { change: () => go({ steps: steps.value }, { replace: true }) } },
    STEPS.map(([value, name]) => h("option", { value, selected: value === (now.steps ?? "") }, name)));
  const day = h("input", { id: "graph-day", type: "date", "aria-label": "As it was on this day", on: { change: () => go({ day: day.value }, { replace: true }) } });
  day.value = now.day ?? "";
  const all = h("input", { type: "checkbox", id: "graph-all", checked: Boolean(now.all), on: { change: () => go({ all: all.checked ? "1" : undefined }, { replace: true }) } });
  return h("div", { class: "filters" },
    text("name", "Name", "Note at the centre"),
    folded(["relation", "kind", "steps", "day", "all"], steps,
      text("relation", "Relation", "Only this relation"), text("kind", "Type", "Only notes of this type"),
      h("span", { class: "tick" }, h("label", { for: "graph-day" }, "True on"), day),
      h("span", { class: "tick" }, all, h("label", { for: "graph-all" }, "Include past and future"))));
}

function render({ entities, edges, near = [], cut = false }) {
  const { name } = route();
  const meant = entities.filter(({ distance }) => distance === 0);
  const more = cut ? "; more are not shown" : "";
  const parts = [entities.length && count(entities.length, "note"), edges.length && count(edges.length, "relation")].filter(Boolean);
  summary.textContent = parts.length ? parts.join(", ") + more : nothing(near);
  const far = edges.filter(({ distance }) => distance > 1);
  const list = h("div", {},
    name ? meant.map((note) => around(note, edges)) : !edges.length && noteList(entities, "Notes"),
    name ? far.length > 0 && h("section", {}, h("h3", {}, "Further away"), lineList(far)) : edges.length > 0 && lineList(edges),
    noteList(near, "Names that start like this"));
  replace(answer, edges.length > 0 && pictureOf(entities, edges, list), list);
  if (!entities.length && !near.length && !name) {
    append(answer, h("p", { class: "hint" },
      "Type the name of a note to see what is around it. The property “type: person” gives a note a type. A relation is a named link: “manages:: [[Ben]]”, “- works_at [[Acme]]”, or a link in a property."));
  }
}

function nothing(near) {
  const { name, relation } = route();
  if (name) return near.length ? "No note has exactly this name." : "No note with this name.";
  return relation ? "No relation with this name." : "No notes with a type.";
}

/** One note, and its neighbours by relation and direction. */
function around(note, edges) {
  const groups = new Map();
  for (const edge of edges.filter(({ distance }) => distance === 1)) {
    for (const out of [true, false]) {
      if ((out ? edge.from : edge.to) !== note.path) continue;
      const name = edge.relation ? (out ? `${edge.relation} →` : `← ${edge.relation}`) : out ? "links to" : "linked from";
      groups.set(name, [...(groups.get(name) ?? []), neighbour(edge, out)]);
    }
  }
  return h("section", { class: "entity", "aria-label": note.title },
    h("h3", {}, note.title, what(note)),
    h("p", { class: "hint" }, cite(note.path), note.aliases?.length > 0 && ` also called ${note.aliases.join(", ")}`),
    groups.size
      ? [...groups].map(([name, items]) => h("div", { class: "relation" }, h("h4", {}, name), h("ul", { class: "edge-list", "aria-label": name }, items)))
      : h("p", { class: "hint" }, "It has no relations."));
}

const what = ({ types = [] }) => types.length ? h("span", { class: "hint" }, ` ${types.join(", ")}`) : "";

/** What is around a note; of a name that no note has, the name. */
const end = (path, title) => path
  ? h("a", { class: "end", title: path, href: address({ ...route(), name: path, note: undefined, lines: undefined }) }, title)
  : h("span", { class: "end" }, title, h("span", { class: "hint" }, " (no note)"));

function neighbour(edge, out) {
  return h("li", { class: `edge ${edge.state}` }, h("p", { class: "fact-line" }, out ? end(edge.to, edge.to_title) : end(edge.from, edge.from_title), said(edge)), source(edge));
}

function said(edge) {
  const window = [edge.valid_from && `from ${edge.valid_from}`, edge.valid_to && `until ${edge.valid_to}`].filter(Boolean).join(" ");
  return [
    window && h("span", { class: "hint" }, window),
    STATES[edge.state] && h("span", { class: "fact-state" }, STATES[edge.state]),
    edge.confidence !== undefined && h("span", { class: "hint" }, `confidence ${edge.confidence}`),
  ];
}

const source = ({ citation, text }) => h("p", { class: "fact-more" }, cite(citation), h("span", { class: "hint edge-text" }, readable(text)));

const lineList = (edges) => h("ul", { class: "edge-list", "aria-label": "Relations" }, edges.map((edge) =>
  h("li", { class: `edge ${edge.state}` },
    h("p", { class: "fact-line" }, end(edge.from, edge.from_title), h("span", {}, edge.relation ? `—${edge.relation}→` : "→"), end(edge.to, edge.to_title), said(edge)),
    source(edge))));

const noteList = (notes, name) => notes.length ? h("ul", { class: "edge-list", "aria-label": name }, notes.map((note) =>
  h("li", { class: "edge" }, h("p", { class: "fact-line" }, end(note.path, note.title), what(note)), h("p", { class: "fact-more" }, cite(note.path))))) : "";
