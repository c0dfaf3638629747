// "My memory": the person's vault, to be searched, read and tidied.

import { key, onRefused } from "./lib/api.js";
import { byId, debounced, say } from "./lib/dom.js";
import { annotate, remove, save, show as showDialog, undoLast } from "./note/change.js";
import { copy, focusedHit, moveFocus } from "./lib/list.js";
import { follow } from "./lib/live.js";
import { openBox } from "./lib/box.js";
import { help, listen, toggleScores } from "./lib/keys.js";
import { showLogin, tradeCode } from "./lib/login.js";
import { arrive, onRoute, route, visit } from "./lib/route.js";
import * as agents from "./views/agents.js";
import * as ask from "./views/ask.js";
import * as browse from "./views/browse.js";
import * as capture from "./views/capture.js";
import * as digest from "./views/digest.js";
import * as entries from "./views/entries.js";
import * as facts from "./views/facts.js";
import * as graph from "./views/graph.js";
import { announceDrafts } from "./note/edit.js";
import * as note from "./note/note.js";
import * as review from "./views/review.js";
import * as processing from "./views/processing.js";
import * as profile from "./views/profile.js";
import * as search from "./views/search.js";
import * as settings from "./views/settings.js";
import * as stats from "./views/stats.js";
import * as summaries from "./views/summaries.js";

const VIEWS = { search, browse, stats, settings, agents, facts, graph, entries, review, profile, summaries, digest, processing, ask, capture };
const NAMES = {
  search: "Search", browse: "Browse", stats: "Statistics", settings: "Settings", agents: "Agents", facts: "Facts", graph: "Graph",
  entries: "Entries", review: "Review", profile: "Profile", summaries: "Summaries", digest: "Digest", processing: "Processing", ask: "Ask",
  capture: "Capture",
};

let started = false;
let shown;

function arriveAt(now, before) {
  if (!key.get() || byId("app").hidden) return;
  if (shown !== now.view) {
    shown = now.view;
    VIEWS[now.view].show(byId("main"));
    byId("main").scrollTop = 0;
    if (before.view !== now.view) say(NAMES[now.view]);
  } else {
    VIEWS[now.view].update(now, before);
  }
  for (const link of document.querySelectorAll("nav a")) {
    if (link.dataset.view === now.view) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  const what = now.note ? now.note.split("/").at(-1).replace(/\.(md|markdown)$/, "") : now.view === "search" ? now.q : NAMES[now.view];
  document.title = [what, "My memory"].filter(Boolean).join(" – ");
  note.show(now, before);
}

function start() {
  byId("login").hidden = true;
  byId("app").hidden = false;
  shown = undefined;
  arrive();
  if (route().view === "search" && !route().note && matchMedia("(pointer: fine)").matches) search.focus();
  follow(debounced(400, refresh));
  capture.sendWaiting();
  if (started) return;
  announceDrafts();
  started = true;
  document.addEventListener("vault-changed", refresh);
}

function refresh() {
  if (byId("app").hidden) return;
  VIEWS[route().view].changed();
  note.changed();
}

/** The passage that keys act on: the one with the focus, else the one that is marked in the reader. */
function target() {
  const chunk = focusedHit()?.chunk;
  return chunk?.hash ? { hash: chunk.hash, citation: chunk.citation, obsidian: chunk.obsidian_url } : note.target();
}

const onTarget = (act) => () => {
  const found = target();
  if (!found) return false;
  act(found);
  return true;
};

function toSearch() {
  if (route().view !== "search") return void openBox();
  search.focus(true);
}

function back(event, inField) {
  const field = document.activeElement;
  if (ask.close()) return true;
  if (inField && field.id === "query" && field.value && !route().note) {
    search.clear();
    return true;
  }
  if (note.close()) return true;
  if (focusedHit() && route().view === "search") {
    search.focus();
    return true;
  }
  if (agents.close() || facts.close() || graph.close()) return true;
  field?.blur?.();
  return false;
}

function arrow(step) {
  return (event, inField) => {
    if (document.activeElement?.closest?.("#reader")) return false;
    if (inField && step < 0) return false;
    if (moveFocus(step)) return true;
    if (step < 0 && focusedHit() && route().view === "search") {
      search.focus();
      return true;
    }
    return false;
  };
}

function toCapture() {
  if (route().view !== "search") visit({ view: "search" });
  capture.focus();
}

const view = (name) => () => visit({ view: name });

listen({
  "/": toSearch,
  "?": () => showDialog(help()),
  ArrowDown: arrow(1),
  ArrowUp: arrow(-1),
  Escape: back,
  n: () => note.step(1),
  p: () => note.step(-1),
  c: onTarget(({ citation }) => copy(citation)),
  o: onTarget(({ obsidian }) => location.assign(obsidian)),
  a: onTarget(({ hash, citation }) => annotate(hash, citation)),
  Delete: onTarget(({ hash, citation }) => remove(hash, citation)),
  e: note.startEditing,
  z: undoLast,
  w: save,
  t: toCapture,
  m: () => (route().view === "search" ? search.nextMode() : false),
  s: toggleScores,
  1: view("search"),
  2: view("browse"),
  3: view("stats"),
  4: view("settings"),
  5: view("agents"),
  6: view("facts"),
  7: view("graph"),
  8: view("entries"),
  9: view("review"),
});

byId("save").addEventListener("click", save);
byId("help").addEventListener("click", () => showDialog(help()));
byId("skip").addEventListener("click", () => byId("main").focus());
onRoute(arriveAt);
onRefused((error) => {
  key.drop();
  showLogin(error, start);
});

async function enter(before) {
  const failed = await tradeCode(before);
  if (key.get()) start();
  else showLogin(failed, start);
}

// Where it is allowed: over HTTPS, and on this machine.
navigator.serviceWorker?.register("/page/sw.js", { scope: "/" }).catch(() => {});

// The address of `vault open` may be pasted into a page that is open already.
window.addEventListener("hashchange", ({ oldURL }) => {
  if (location.hash.startsWith("#code=")) enter(new URL(oldURL).hash);
});
enter();
