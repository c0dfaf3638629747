// Facts: what has one right answer, by memory scope and namespace; of today, or of another day. One of them, when the address names it.

import { answerView, folded, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite } from "../lib/cited.js";
import { append, byId, count, debounced, h, replace } from "../lib/dom.js";
import { factActions, idOf, nameOf, setFact, shown, STATES } from "./fact.js";
import { showTimeline } from "./fact-timeline.js";
import { address, go, route } from "../lib/route.js";

/** As many as the API gives at once. */
const MOST = 1000;

/** What is shown: the list, where it is one, and whether the API gave it cut. */
const shownNow = {};

export const view = answerView({
  title: "Facts",
  params: ["scope", "fact", "of", "day", "known", "all", "find"],
  begin: () => Object.assign(shownNow, { list: undefined, cut: false }),
  frame() {
    shownNow.list = undefined;
    return route().fact ? [back(), title(route().fact)] : [heading("Facts"), form([])];
  },
  moved(now, before) {
    const isFilter = ["scope", "fact", "of", "day", "known", "all"].every((name) => now[name] === before[name]);
    if (isFilter && shownNow.list && !shownNow.cut) return filter();
    move(now.fact === before.fact && now.of === before.of ? undefined : before);
  },
  // What is typed there is put into the new list.
  form: () => null,
  ask: () => (route().fact ? history() : several()),
  draw: (answer) => (route().fact ? one(answer) : list(answer)),
});

/** The parts of a fact's name: `namespace/key`. */
function parts(name) {
  const at = name.lastIndexOf("/");
  return { namespace: at < 0 ? "" : name.slice(0, at), key: name.slice(at + 1) };
}

/** Shows what the address names now, after it has named something else. */
async function move(from) {
  if (!(await view.load()) || !from) return;
  const shown = from.fact && byId(idOf("fact", { scope: from.of || "user", ...parts(from.fact) }));
  (shown || view.place.querySelector("h2"))?.focus();
}

/** One fact, as it is and was. */
function history() {
  const { fact, of, known } = route();
  return api.facts({ scope: of || "user", ...parts(fact), history: true, known_at: known });
}

/** The facts that are asked for; where there are too many to look through here, those whose name begins so. */
async function several() {
  const { scope, day, all, find } = route();
  const those = () => everything({ scope, as_of: day, expired: Boolean(all) || undefined, prefix: shownNow.cut ? find : undefined });
  const answer = await those();
  if (!answer.cut || !find || shownNow.cut) return answer;
  shownNow.cut = true;
  return those();
}

/** The facts that are asked for, and all scopes that there are. */
async function everything({ scope, ...params }) {
  const answer = await api.facts({ ...params, scope: scope || "*", limit: MOST });
  if (!scope) return answer;
  const { scopes } = await api.facts({ scope: "*", limit: 1 });
  return { ...answer, scopes };
}

const title = (text) => h("h2", { tabindex: -1 }, text);

const back = () => h("p", {}, h("a", { class: "quiet", href: address({ ...route(), fact: undefined, of: undefined, known: undefined }) }, "‹ All facts"));

function one(answer) {
  const { fact, of } = route();
  shownNow.list = undefined;
  const [found] = answer.facts;
  replace(view.place, back(), title(fact), found
    ? showTimeline(found, view.changed)
    : h("p", { class: "hint" }, `No fact with this name in ${of || "user"}${route().known ? ", as known on that day" : ""}.`));
}

/** What is to be shown of which facts. */
function form(scopes) {
  const { scope = "", day = "", all, find = "" } = route();
  const names = [...new Set([...scopes, ...(scope ? [scope] : [])])].sort();
  const chosen = h("select", { id: "fact-scope", "aria-label": "Memory scope", on: { change: () => go({ scope: chosen.value }, { replace: true }) } },
    h("option", { value: "" }, "All memory scopes"),
    names.map((name) => h("option", { value: name, selected: name === scope }, name)));
  const typed = debounced(120, () => go({ find: field.value.trim() }, { replace: true }));
  const field = h("input", { id: "fact-find", class: "find", type: "search", placeholder: "Filter", "aria-label": "Filter by name, value or tag", autocomplete: "off", spellcheck: "false", value: find, on: { input: typed } });
  const date = h("input", { id: "fact-day", type: "date", "aria-label": "As it was on this day", on: { change: () => go({ day: date.value }, { replace: true }) } });
  date.value = day;
  const ended = h("input", { type: "checkbox", id: "fact-all", checked: Boolean(all), on: { change: () => go({ all: ended.checked ? "1" : undefined }, { replace: true }) } });
  return h("div", { class: "filters" }, field, folded(["scope", "day", "all"], chosen,
    h("span", { class: "tick" }, h("label", { for: "fact-day" }, "True on"), date),
    day
      ? h("button", { type: "button", id: "fact-today", on: { click: () => go({ day: undefined }, { replace: true }) } }, "Now")
      : h("span", { class: "tick" }, ended, h("label", { for: "fact-all" }, "Include past and future"))));
}

function list({ facts, scopes = [], problems = [], cut = false }) {
  shownNow.cut = cut || (Boolean(shownNow.cut) && Boolean(route().find));
  const { day } = route();
  const open = openForm();
  const groups = Map.groupBy(facts, group);
  const several = new Set(facts.map(({ scope }) => scope)).size > 1;
  shownNow.summary = h("p", { class: "summary" });
  shownNow.list = h("div", {}, [...groups.values()].map((those) => section(those, several)));
  const field = byId("fact-find");
  // What is being typed is not made anew.
  const asks = field && document.activeElement === field ? field.closest(".filters") : form(scopes);
  replace(view.place,
    heading("Facts",
      h("button", { type: "button", id: "add-fact", on: { click: () => setFact({ scope: route().scope, scopes }, view.changed) } }, "Set a fact")),
    asks,
    shownNow.summary,
    problems.length ? problemList(problems) : "",
    shownNow.list,
    !facts.length && !day && !route().find && [h("p", { class: "hint" },
      "A fact has one right value, like “test command: make test”, and keeps its earlier values. It is a line “- key: value” in a facts.md; the heading above it is its namespace."),
    h("p", {}, h("button", { type: "button", class: "primary", id: "first-fact", on: { click: () => setFact({ scope: route().scope, scopes }, view.changed) } }, "Set the first fact"))]);
  filter(cut);
  reopen(open);
}

const group = ({ scope, namespace }) => `${scope}\n${namespace}`;

function section(facts, several) {
  const [{ scope, namespace }] = facts;
  const name = namespace || "(no heading)";
  return h("section", { class: "namespace" },
    h("h3", {}, name, several && h("span", { class: "hint" }, ` ${scope}`)),
    h("ul", { class: "fact-list", "aria-label": several ? `${name}, ${scope}` : name }, facts.map(item)));
}

function item(fact) {
  const name = nameOf(fact);
  const state = STATES[fact.state];
  const made = h("li", { class: `fact ${fact.state}` },
    h("p", { class: "fact-line" },
      h("a", { class: "fact-name", id: idOf("fact", fact), href: address({ ...route(), of: fact.scope, fact: name }) },
        fact.key, h("span", { class: "unseen" }, ", its history")),
      h("span", { class: "fact-value" }, shown(fact.value)),
      state && h("span", { class: "fact-state" }, state),
      fact.next && h("span", { class: "fact-state" }, `then ${shown(fact.next.value)}`),
      (fact.tags ?? []).map((tag) => h("span", { class: "fact-tag" }, `#${tag}`))),
    h("p", { class: "fact-more" },
      cite(fact.citation),
      !route().day && factActions(fact, view.changed)));
  made.fact = fact;
  return made;
}

/** Shows those that have what was typed. */
function filter(cut = shownNow.cut) {
  const find = (route().find ?? "").toLocaleLowerCase();
  let seen = 0;
  for (const made of shownNow.list.querySelectorAll(".fact")) {
    const { fact } = made;
    const text = [nameOf(fact), shown(fact.value), ...(fact.tags ?? []).map((tag) => `#${tag}`)].join("\n").toLocaleLowerCase();
    made.hidden = Boolean(find) && !text.includes(find);
    seen += made.hidden ? 0 : 1;
  }
  for (const one of shownNow.list.querySelectorAll(".namespace")) one.hidden = !one.querySelector(".fact:not([hidden])");
  const { day } = route();
  const when = day ? `, true on ${day}` : "";
  shownNow.summary.textContent = `${seen ? count(seen, "fact") : "No facts"}${when}${cut ? `; only the first ${MOST} are shown. The filter now matches the start of a name` : ""}`;
}

function problemList(problems) {
  return h("section", { class: "problems", "aria-label": "Problems" },
    h("h3", {}, count(problems.length, "problem")),
    h("ul", {}, problems.map(({ path, line, message }) => h("li", {},
      h("a", { class: "cite", href: address({ ...route(), note: path, lines: line ? `${line}-${line}` : undefined }) }, line ? `${path}#L${line}` : path),
      ` ${message}`))));
}

/** The form that is open in the list: what is typed there is not lost when the list is made anew. */
function openForm() {
  const made = shownNow.list?.querySelector(".fact-form");
  const fact = made?.closest(".fact")?.fact;
  return made && { made, id: idOf("fact", fact), focus: made.contains(document.activeElement) && document.activeElement };
}

function reopen(open) {
  const place = open && byId(open.id)?.closest(".fact");
  if (!place) return;
  append(place, open.made);
  if (open.focus) open.focus.focus({ preventScroll: true });
}
