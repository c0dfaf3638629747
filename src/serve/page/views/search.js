// Search as you type. Without a query: what was written last.

import { api } from "../lib/api.js";
import { append, count, debounced, failure, h, replace, say } from "../lib/dom.js";
import { hit, keepingFocus, markOpen } from "../lib/list.js";
import { scoresShown, toggleScores } from "../lib/keys.js";
import { go, route } from "../lib/route.js";
import { captureBox } from "./capture.js";

const MODES = [
  ["hybrid", "Both", "By words and meaning"],
  ["semantic", "Meaning", "By meaning only"],
  ["keyword", "Words", "By words only"],
];
const AGES = [["", "Any time"], ["1d", "Last day"], ["7d", "Last week"], ["1mo", "Last month"], ["1y", "Last year"]];
const LAYERS = [["", "All layers"], ["entries", "Entries"], ["conversations", "Conversations"], ["summaries", "Summaries"], ["graph", "Graph"], ["notes", "Notes"]];
const WAIT_MS = 90;

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

export function show(main) {
  const { q = "", mode = "hybrid", collection, tag = "", since = "", layer = "" } = route();
  const typed = debounced(() => WAIT_MS, (text) => go({ q: text }, { replace: true }));
  const input = h("input", {
    id: "query", type: "search", placeholder: "Search your memory", "aria-label": "Search your memory", autocomplete: "off",
    spellcheck: "false", enterkeyhint: "search", on: { input: () => typed(input.value) },
  });
  input.value = q;
  const modes = MODES.map(([value, name, title]) => h("label", { title },
    h("input", { type: "radio", name: "mode", value, checked: value === mode, on: { change: () => go({ mode: value }, { replace: true }) } }),
    h("span", {}, name)));
  const ages = h("select", { "aria-label": "Changed", on: { change: () => go({ since: ages.value }, { replace: true }) } },
    AGES.map(([value, name]) => h("option", { value, selected: value === since }, name)));
  const layers = h("select", { "aria-label": "Memory layer", on: { change: () => go({ layer: layers.value }, { replace: true }) } },
    LAYERS.map(([value, name]) => h("option", { value, selected: value === layer }, name)));
  const tagged = debounced(300, (text) => go({ tag: text.replace(/^#/, "") }, { replace: true }));
  const tags = h("input", { type: "text", class: "tag", placeholder: "#tag", "aria-label": "Tag", autocomplete: "off",
    on: { input: () => tagged(tags.value) } });
  tags.value = tag;
  view = {
    input,
    capture: h("div", { id: "capture-place" }, captureBox()),
    summary: h("p", { class: "summary" }),
    list: h("ol", { class: "hits", "aria-label": "Passages" }),
  };
  replace(main,
    h("form", { class: "ask", role: "search", on: { submit: (event) => event.preventDefault() } },
      h("div", { class: "query" }, input, h("kbd", { "aria-hidden": "true" }, "/")),
      h("div", { class: "filters" },
        h("fieldset", { class: "modes" }, h("legend", { class: "unseen" }, "How to search"), modes),
        collectionChoice(collection, (chosen) => go({ collection: chosen }, { replace: true })), layers, ages, tags)),
    view.capture, view.summary, view.list);
  run();
}

/** The route changed within this view. */
export function update(now, before) {
  if (view.input !== document.activeElement && view.input.value !== (now.q ?? "")) view.input.value = now.q ?? "";
  const keys = ["q", "mode", "collection", "tag", "since", "layer"];
  if (keys.some((key) => now[key] !== before[key])) run();
  else markOpen();
}

/** The index has changed, and may answer otherwise. */
export function changed() {
  run(true);
}

async function run(quiet = false) {
  const { q = "", mode = "hybrid", collection, tag, since, layer } = route();
  view.capture.hidden = Boolean(q.trim() || layer);
  controller?.abort();
  controller = new AbortController();
  asked += 1;
  const mine = asked;
  const slow = setTimeout(() => view.list.classList.add("waiting"), 250);
  try {
    const words = q.trim();
    // A condition alone lists what meets it, the newest first.
    const answer = words || layer
      ? await api.search({ q: words ? q : `layer:${layer}`, mode, collection, tag, since, layer, limit: 30 }, controller.signal)
      : await recent(collection, tag, since, controller.signal);
    if (mine !== asked) return;
    render(words, answer, quiet);
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

/** What was written last, one passage a note; filters that browsing does not know are applied here. */
async function recent(collection, tag, since, signal) {
  const { chunks } = await api.browse({ collection, limit: 200 }, signal);
  const ages = { "1d": 1, "7d": 7, "1mo": 31, "1y": 366 };
  const oldest = since ? Date.now() - ages[since] * 86_400_000 : 0;
  const wanted = tag?.toLowerCase();
  const seen = new Set();
  const results = chunks.filter((chunk) => {
    if (seen.has(chunk.path) || Date.parse(chunk.updated_at) < oldest) return false;
    if (wanted && !chunk.tags.some((one) => one.toLowerCase() === wanted || one.toLowerCase().startsWith(`${wanted}/`))) return false;
    seen.add(chunk.path);
    return true;
  });
  return { results: results.slice(0, 30) };
}

function render(words, { results, degraded, took_ms: took }, quiet) {
  keepingFocus(() => replace(view.list, results.map(hit)));
  replace(view.summary);
  if (!words) {
    append(view.summary, results.length ? "Recently written" : "Nothing here yet. Save a snippet, or put Markdown files into the vault’s folder.");
  } else {
    const found = results.length ? count(results.length, "passage") : "Nothing found";
    append(view.summary, found);
    if (results.length) append(view.summary, h("span", { class: "took" }, ` in ${took < 10 ? took.toFixed(1) : Math.round(took)} ms`));
    if (results.length) append(view.summary, scoresButton());
    if (!quiet) say(found);
  }
  if (degraded) append(view.summary, h("span", { class: "degraded" }, degraded));
  markOpen();
}

/** Shows the scores, for those without a key to do so. */
function scoresButton() {
  return h("button", { type: "button", class: "quiet toggle-scores", "aria-pressed": String(scoresShown()), on: { click: toggleScores } }, "Scores");
}

export function focus(select = false) {
  view?.input.focus();
  if (select) view?.input.select();
}

/** The next way to search. */
export function nextMode() {
  const at = MODES.findIndex(([value]) => value === (route().mode ?? "hybrid"));
  const [value, , title] = MODES[(at + 1) % MODES.length];
  document.querySelector(`.modes input[value="${value}"]`)?.click();
  say(title);
}
