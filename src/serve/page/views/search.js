// Search as you type. Without a query: a place to capture, saved searches, and what was written last.

import { dialog, toast } from "../note/change.js";
import { api } from "../lib/api.js";
import { combobox } from "../lib/combobox.js";
import { append, byId, count, debounced, failure, h, replace, say } from "../lib/dom.js";
import { CONDITIONS, scoresShown, toggleScores } from "../lib/keys.js";
import { condition, hit, keepingFocus, markOpen, noteItem } from "../lib/list.js";
import { address, go, route } from "../lib/route.js";
import { queryOf, saveSearch, savedSearches } from "../lib/saved.js";
import { captureBox } from "./capture.js";

const MODES = [
  ["hybrid", "Both", "By words and meaning"],
  ["semantic", "Meaning", "By meaning only"],
  ["keyword", "Words", "By words only"],
];
const AGES = [["", "Any time"], ["1d", "Last day"], ["7d", "Last week"], ["1mo", "Last month"], ["1y", "Last year"]];
const LAYERS = [["", "All layers"], ["entries", "Entries"], ["conversations", "Conversations"], ["summaries", "Summaries"], ["graph", "Graph"], ["notes", "Notes"]];
const KEYS = ["q", "mode", "collection", "tag", "since", "layer"];
/** How many passages are asked for: more as one comes to the end. */
const LIMITS = [20, 100, 300, 1000];
/** How many variants of a query are tried when it finds nothing. */
const VARIANTS = 4;

/** A whole condition. */
const CONDITION = new RegExp(String.raw`(?<=^|\s)-?(?:(?:${CONDITIONS.join("|")}):(?:"[^"]*"|[^\s"]\S*)|\[[^\]\s][^\]]*\])(?=\s)`, "gi");
/** The condition that is being typed before the caret. */
const BEGUN = /(?:^|\s)-?(?:(\w+):|#)("[^"]*|[^\s"]*)$/;
/** What may be left out of a query that finds nothing, beside its conditions. */
const STRICT = /(?<=^|\s)(?:[+-]?"[^"]+"|[+-]\S+)/g;

let view;
let asked = 0;
let controller;

/** The choice of a collection, its options filled in when they are known. */
export function collectionChoice(chosen, onChange) {
  const select = h("select", { "aria-label": "Collection", on: { change: () => onChange(select.value || undefined) } },
    h("option", { value: "" }, "Everywhere"));
  if (chosen) append(select, h("option", { value: chosen, selected: true }, chosen));
  api.collections().then(({ collections }) => {
    const options = collections.map((name) => h("option", { value: name, selected: name === chosen }, name));
    const gone = chosen && !collections.includes(chosen) ? [h("option", { value: chosen, selected: true }, chosen)] : [];
    replace(select, h("option", { value: "" }, "Everywhere"), gone, options);
  }, () => {});
  return select;
}

/** The conditions of a text that are whole, and what else it has. */
function taken(text) {
  if (/^(lex|vec|hyde|intent):/i.test(text)) return [[], text];
  const parts = text.match(CONDITION) ?? [];
  return [parts, parts.length ? text.replace(CONDITION, "").replace(/^\s+|(\s)\s+/g, "$1") : text];
}

const whole = () => [...view.parts, view.input.value].filter(Boolean).join(" ");

export function show(main) {
  const input = h("input", { id: "query", type: "search", placeholder: "Search your memory", "aria-label": "Search your memory",
    enterkeyhint: "search", on: { input: typed, keydown: backspace } });
  const options = h("ul", { id: "query-options", class: "options", "aria-label": "Values" });
  const filters = h("div", { class: "filters", id: "filters", hidden: true });
  const button = h("button", { type: "button", class: "quiet", "aria-expanded": "false", "aria-controls": "filters", on: { click: () => {
    filters.hidden = !filters.hidden;
    button.setAttribute("aria-expanded", String(!filters.hidden));
    drawFilters();
  } } }, "Filters");
  view = {
    input, filters, parts: [], limit: LIMITS[0], opened: new Set(),
    complete: combobox(input, options, { choose: (option) => complete(option) }),
    chips: h("div", { class: "chips" }),
    start: h("div", { class: "start" }, h("div", { id: "capture-place" }, captureBox()),
      h("p", { class: "hint" }, h("a", { class: "quiet", href: address({ view: "see" }) }, "Today"), " shows what was saved, by day."),
      h("div", { class: "saved", role: "group", "aria-label": "Saved searches", hidden: true })),
    summary: h("p", { class: "summary" }),
    list: h("ol", { class: "hits", "aria-label": "Passages" }),
    end: h("p", { class: "end-of-hits" }),
  };
  replace(main,
    h("form", { class: "ask", role: "search", on: { submit: (event) => event.preventDefault() } },
      h("div", { class: "query" }, input, h("kbd", { "aria-hidden": "true" }, "/"), options),
      h("div", { class: "chosen" }, button, view.chips), filters),
    view.start, view.summary, view.list, view.end);
  view.reached = new IntersectionObserver((seen) => seen.at(-1).isIntersecting && more(), { root: byId("main"), rootMargin: "600px" });
  input.addEventListener("blur", () => view.complete([]));
  fromRoute();
  run();
}

/** Shows what the address says. */
function fromRoute() {
  const { q = "", mode = "hybrid", collection, tag, since, layer } = route();
  if (whole() !== q) {
    [view.parts, view.input.value] = taken(`${q} `);
    if (view.input.value.endsWith(" ")) view.input.value = view.input.value.slice(0, -1);
  }
  const chip = (name, drop) => h("button", { type: "button", class: "chip", "aria-label": `Remove ${name}`, on: { click: () => {
    drop();
    view.input.focus();
  } } }, name, h("span", { "aria-hidden": "true" }, " ×"));
  const nameOf = (list, value) => list.find(([one]) => one === value)?.[1] ?? value;
  replace(view.chips,
    view.parts.map((part, at) => chip(part, () => drop(at))),
    mode !== "hybrid" && chip(`${nameOf(MODES, mode)} only`, () => set({ mode: undefined })),
    collection && chip(`in ${collection}`, () => set({ collection: undefined })),
    layer && chip(nameOf(LAYERS, layer), () => set({ layer: undefined })),
    since && chip(nameOf(AGES, since), () => set({ since: undefined })),
    tag && chip(`#${tag}`, () => set({ tag: undefined })));
  view.start.hidden = Boolean(q.trim() || layer);
}

const set = (changes) => go(changes, { replace: true });

/** The filters, as long as they are open. */
function drawFilters() {
  const { mode = "hybrid", collection, tag, since = "", layer = "" } = route();
  // What has the focus says it already.
  if (view.filters.hidden || view.filters.contains(document.activeElement)) return;
  const select = (label, list, value, key) => {
    const made = h("select", { "aria-label": label, on: { change: () => set({ [key]: made.value }) } },
      list.map(([one, name]) => h("option", { value: one, selected: one === value }, name)));
    return made;
  };
  const tagged = debounced(300, (text) => set({ tag: text.replace(/^#/, "") }));
  const tags = h("input", { type: "text", class: "tag", placeholder: "#tag", "aria-label": "Tag", autocomplete: "off", on: { input: () => tagged(tags.value) } });
  tags.value = tag ?? "";
  replace(view.filters,
    h("fieldset", { class: "modes" }, h("legend", { class: "unseen" }, "How to search"), MODES.map(([value, name, title]) => h("label", { title },
      h("input", { type: "radio", name: "mode", value, checked: value === mode, on: { change: () => set({ mode: value }) } }), h("span", {}, name)))),
    collectionChoice(collection, (chosen) => set({ collection: chosen })),
    select("Memory layer", LAYERS, layer, "layer"), select("Changed", AGES, since, "since"), tags,
    h("div", { class: "conditions", role: "group", "aria-label": "Conditions" }, CONDITIONS.map((key) =>
      h("button", { type: "button", class: "quiet", on: { click: () => begin(`${key}:`) } }, `${key}:`))));
}

/** Begins a condition in the field. */
function begin(text) {
  view.input.value = `${view.input.value.trimEnd()} ${text}`.trimStart();
  view.input.focus();
  typed();
}

/** Something was typed: whole conditions leave the field, and one that is begun is completed. */
function typed() {
  const [parts, rest] = taken(view.input.value);
  if (parts.length) {
    view.parts.push(...parts);
    view.input.value = rest;
  }
  go({ q: whole() }, { replace: true });
  offer();
}

function drop(at) {
  view.parts.splice(at, 1);
  go({ q: whole() }, { replace: true });
}

function backspace(event) {
  const { input, parts } = view;
  if (event.key === "Escape" && input.getAttribute("aria-expanded") === "true") {
    event.preventDefault();
    view.complete([]);
  }
  if (event.key === "Backspace" && parts.length && input.selectionEnd === 0) drop(parts.length - 1);
}

/** Offers values for the condition before the caret. */
async function offer() {
  const { input } = view;
  const before = input.value.slice(0, input.selectionStart);
  const begun = BEGUN.exec(before);
  if (!begun) return view.complete([]);
  const [key, value] = [begun[1] ?? "tag", begun[2].replace(/^"/, "").toLowerCase()];
  const options = await values(key.toLowerCase(), value).catch(() => []);
  if (input.value.slice(0, input.selectionStart) !== before || document.activeElement !== input) return;
  view.complete(options.filter((name) => name.toLowerCase() !== value).map((name) => ({ name, key })));
}

async function values(key, begun) {
  if (key === "tag" || key === "tags") return (await api.find({ q: begun, kind: "tag", limit: 8 })).results.map(({ tag }) => tag);
  const known = {
    in: async () => (await api.collections()).collections,
    has: () => ["link", "image", "code", "table", "quote", "task", "tag"],
    layer: () => LAYERS.slice(1).map(([name]) => name),
    role: () => ["user", "assistant"],
    after: () => ["yesterday", "7d", "1mo", "1y"],
  };
  known.before = known.after;
  known.collection = known.in;
  const all = Object.hasOwn(known, key) ? await known[key]() : [];
  return all.filter((name) => name.toLowerCase().startsWith(begun)).slice(0, 8);
}

function complete({ name, key }) {
  const { input } = view;
  const at = input.selectionStart;
  const begun = BEGUN.exec(input.value.slice(0, at));
  const from = at - begun[2].length - (begun[1]?.length ?? 0) - 1;
  input.value = `${input.value.slice(0, from)}${condition(key, name)} ${input.value.slice(at).trimStart()}`;
  typed();
}

/** The route changed within this view. */
export function update(now, before) {
  if (!KEYS.some((key) => now[key] !== before[key])) return markOpen();
  Object.assign(view, { limit: LIMITS[0], opened: new Set() });
  fromRoute();
  drawFilters();
  run();
}

/** The index has changed, and may answer otherwise. */
export function changed() {
  run(true);
}

/** Asks for more than is shown, if there may be more. */
function more() {
  const next = LIMITS.find((limit) => limit > view.limit);
  if (!next || view.shown < view.limit) return;
  view.limit = next;
  run(true);
}

function find(place, limit, signal) {
  const { q = "", mode, collection, tag, since, layer } = place;
  return api.search({ q: q.trim() ? q : `layer:${layer}`, mode, collection, tag, since, layer, limit }, signal);
}

async function run(quiet = false) {
  const place = route();
  const words = (place.q ?? "").trim();
  controller?.abort();
  controller = new AbortController();
  const { signal } = controller;
  asked += 1;
  const mine = asked;
  const slow = setTimeout(() => view.list.classList.add("waiting"), 250);
  try {
    // A condition alone lists what meets it, the newest first.
    const isSearch = words || place.layer;
    const answer = isSearch
      ? await find({ ...place, mode: place.mode ?? "hybrid" }, view.limit, signal)
      : await api.notes({ folder: place.collection, tag: place.tag, since: place.since, limit: view.limit }, signal);
    if (mine !== asked) return;
    render(words, answer, quiet);
    if (!words) showSaved(signal);
    if (isSearch && !answer.results.length) await suggest(place, answer, signal);
  } catch (error) {
    // What is shown is better than nothing, where nobody asked for it anew.
    if (error.name === "AbortError" || mine !== asked || quiet) return;
    view.summary.textContent = "";
    replace(view.list, h("li", { class: "plain" }, failure(error, () => run())));
  } finally {
    clearTimeout(slow);
    if (mine === asked) view.list.classList.remove("waiting");
  }
}

function render(words, { results, notes, degraded, took_ms: took }, quiet) {
  view.shown = (results ?? notes).length;
  keepingFocus(() => replace(view.list, notes ? notes.map(noteItem) : grouped(results)));
  replace(view.summary);
  if (notes || !words) {
    append(view.summary, view.shown ? "Recently written" : "Nothing here yet. Save a snippet, or put Markdown files into the vault’s folder.");
  } else {
    const atLeast = view.shown === view.limit && view.limit < LIMITS.at(-1) ? "+" : "";
    const found = view.shown ? count(view.shown, "passage").replace(" ", `${atLeast} `) : "Nothing found";
    append(view.summary, found);
    if (view.shown) append(view.summary, h("span", { class: "took" }, ` in ${took < 10 ? took.toFixed(1) : Math.round(took)} ms`));
    append(view.summary, h("span", { class: "tools" },
      view.shown > 0 && h("button", { type: "button", class: "quiet toggle-scores", "aria-pressed": String(scoresShown()), on: { click: toggleScores } }, "Scores"),
      h("button", { type: "button", class: "quiet", on: { click: keep } }, "Save this search")));
    if (!quiet) say(found);
  }
  if (degraded) append(view.summary, h("span", { class: "degraded" }, degraded));
  markOpen();
  // Where its end is in sight still, there is room for more.
  view.reached.unobserve(view.end);
  view.reached.observe(view.end);
}

/** Passages by note, in the order of the best one of each; those that are less likely to be meant come last. */
function grouped(results) {
  const groups = [...Map.groupBy(results, ({ path }) => path).values()];
  const perhaps = groups.filter((hits) => hits.every((one) => one.perhaps));
  const sure = groups.filter((hits) => !perhaps.includes(hits));
  const line = perhaps.length > 0 && h("li", { class: "parting", title: "Less likely to be what you want" }, "Perhaps");
  return [sure.map(group), line, perhaps.map(group)];
}

function group([best, ...others]) {
  const first = hit(best);
  if (!others.length) return first;
  const within = () => others.map((one) => {
    const item = hit(one);
    item.classList.add("within");
    return item;
  });
  if (view.opened.has(best.path)) return [first, within()];
  const open = h("button", { type: "button", class: "quiet more-in-note", on: { click: () => {
    view.opened.add(best.path);
    const items = within();
    first.after(...items);
    open.remove();
    items[0].querySelector(".hit-title").focus();
  } } }, `${others.length} more in this note`);
  append(first.querySelector(".hit-meta"), open);
  return first;
}

/** Says what could be left out of a query that finds nothing, or written otherwise. */
async function suggest(place, { degraded = "" }, signal) {
  const q = place.q ?? "";
  const parts = [...new Set([...(`${q} `.match(CONDITION) ?? []), ...(q.match(STRICT) ?? [])])];
  const without = (part) => ({ ...place, q: q.replace(part, "").replace(/\s+/g, " ").trim() });
  const variants = parts.map((part) => [`without ${part}`, without(part)]);
  const filters = { collection: "the collection", tag: "the tag", since: "the time", layer: "the layer" };
  for (const [key, name] of Object.entries(filters)) {
    if (place[key]) variants.push([`without ${name} ${place[key]}`, { ...place, [key]: undefined }]);
  }
  if (place.mode && place.mode !== "hybrid") variants.push(["by words and meaning", { ...place, mode: undefined }]);
  const meant = /`([^`]+)`[^`]*did you mean `([^`]+)`/.exec(degraded);
  if (meant) {
    const [, typed, name] = meant;
    const changes = ["q", "collection", "tag"].map((key) => [key, place[key]?.replace(typed, name)]);
    variants.unshift([`with ${name}`, { ...place, ...Object.fromEntries(changes) }]);
  }
  const tried = await Promise.all(variants.filter(([, to]) => to.q || to.layer).slice(0, VARIANTS).map(async ([name, to]) => {
    const { results } = await find({ ...to, mode: to.mode ?? "hybrid" }, 100, signal);
    return results.length > 0 && h("li", { class: "plain" }, h("a", { href: address(to) }, name), `: ${results.length === 100 ? "100+" : ""}${results.length === 100 ? " passages" : count(results.length, "passage")}`);
  }));
  if (!signal.aborted) replace(view.list, tried);
}

async function showSaved(signal) {
  const saved = await savedSearches(signal).catch(() => []);
  const place = view.start.querySelector(".saved");
  if (signal.aborted) return;
  place.hidden = !saved.length;
  replace(place, saved.map(({ name, query }) => h("a", { class: "chip", href: address({ view: "search", q: query }) }, name)));
}

/** Saves this search as a note. */
function keep() {
  const query = queryOf(route());
  const name = h("input", { id: "search-name", name: "name", required: true, autofocus: true, autocomplete: "off" });
  name.value = query;
  dialog("Save this search", [h("label", { for: "search-name" }, "Name"), name, h("p", { class: "hint" }, query)], "Save", async (fields) => {
    const { path } = await saveSearch(fields.name.trim(), query);
    toast(`Saved as ${path}`, h("a", { href: address({ ...route(), note: path, lines: undefined }) }, "Open"));
  });
}

export function focus(select = false) {
  view?.input.focus();
  if (select) view?.input.select();
}

/** Takes away what was typed. */
export function clear() {
  Object.assign(view, { parts: [] });
  view.input.value = "";
  typed();
}

/** The next way to search. */
export function nextMode() {
  const at = MODES.findIndex(([value]) => value === (route().mode ?? "hybrid"));
  const [value, , title] = MODES[(at + 1) % MODES.length];
  go({ mode: value === "hybrid" ? undefined : value }, { replace: true });
  say(title);
}
