// "My memory": the person's vault, to be searched, read and tidied.

import { VAULT, api, isGuest, key, onRefused, right } from "./lib/api.js";
import { byId, debounced, failure, h, replace, say } from "./lib/dom.js";
import { annotate, remove, save, show as showDialog, undoLast } from "./note/change.js";
import { copy, focusedHit, moveFocus } from "./lib/list.js";
import { follow } from "./lib/live.js";
import { openBox } from "./lib/box.js";
import { help, listen, toggleScores } from "./lib/keys.js";
import { isAsked, showLogin, tradeCode } from "./lib/login.js";
import { NAMES, ROOMS, address, arrive, go, onRoute, roomOf, route, visit } from "./lib/route.js";
import { applyTheme } from "./lib/theme.js";
import { announceDrafts } from "./note/edit.js";
import * as capture from "./views/capture.js";
import * as note from "./note/note.js";
import * as search from "./views/search.js";

/** The views that there are by now: all others come in a script of their own, while the first is looked at. */
const VIEWS = { search, capture };
const others = () => import("/page/views/rooms.js").then((rooms) => Object.assign(VIEWS, rooms.VIEWS));

/** What the address of one of a view's things has, and that of all has not. */
const PARTS = { agents: ["agent"], facts: ["fact", "of", "known"], graph: ["name"] };

let started = false;
let shown;

/** Shows the view of a place, once it is there. */
function showView(now, before) {
  if (!VIEWS[now.view]) {
    others().then(() => showView(route(), before), (error) => {
      shown = undefined;
      replace(byId("view"), failure(error));
    });
    return;
  }
  if (shown === now.view) return VIEWS[now.view].update(now, before);
  shown = now.view;
  tabs(now.view);
  VIEWS[now.view].show(byId("view"));
  byId("main").scrollTop = 0;
  if (before.view === now.view) return;
  say(NAMES[now.view]);
  // Tab goes on in what is new, not from the begin of the page.
  if (document.activeElement === document.body) byId("main").focus({ preventScroll: true });
}

function arriveAt(now, before) {
  if (!(key.get() || right.is) || byId("app").hidden) return;
  showView(now, before);
  const what = now.note ? now.note.split("/").at(-1).replace(/\.(md|markdown)$/, "") : now.view === "search" ? now.q : NAMES[now.view];
  document.title = [what, "My memory"].filter(Boolean).join(" – ");
  note.show(now, before);
}

const current = (link, isCurrent) => (isCurrent ? link.setAttribute("aria-current", "page") : link.removeAttribute("aria-current"));

/** Shows which room this is, and its views; the bar leads back to the one that was seen last in it. */
function tabs(view) {
  const room = roomOf(view);
  for (const link of byId("rooms").children) {
    const isThis = link.dataset.room === room;
    current(link, isThis);
    if (isThis) link.href = address({ view });
  }
  const place = byId("tabs");
  const views = Object.entries(ROOMS[room]);
  place.hidden = views.length < 2;
  if (place.dataset.room !== room) {
    place.dataset.room = room;
    place.setAttribute("aria-label", `Views of ${room}`);
    replace(place, views.map(([name, text]) => h("a", { href: address({ view: name }), "data-view": name }, text)));
  }
  for (const link of place.children) current(link, link.dataset.view === view);
}

/** Shows the next view of this room. */
const turn = (step) => () => {
  const views = Object.keys(ROOMS[roomOf(route().view)]);
  visit({ view: views.at((views.indexOf(route().view) + step) % views.length) });
};

/** Counts beside the bar's Memory what waits to be decided. */
async function waiting() {
  if (isGuest()) return;
  const answer = await api.proposals({ limit: 1 }).catch(() => ({}));
  const lists = Object.values(answer).filter(Array.isArray);
  const all = lists.reduce((sum, list) => sum + list.length, answer.more ?? 0);
  byId("waiting").hidden = !all;
  replace(byId("waiting"), all > 99 ? "99+" : all, h("span", { class: "unseen" }, " to review"));
}

/** What the person may do in a vault of a server of several. */
async function rights() {
  const { vaults } = await api.me().catch(() => ({ vaults: [] }));
  right.is = vaults.find(({ name }) => VAULT === `/v/${name}`)?.right;
  if (isGuest()) document.body.dataset.right = right.is;
}

function start() {
  if (isAsked()) return void import("/page/views/consent.js").then((consent) => consent.showConsent());
  byId("login").hidden = true;
  byId("app").hidden = false;
  shown = undefined;
  arrive();
  waiting();
  others().catch(() => {});
  if (route().view === "search" && !route().note && matchMedia("(pointer: fine)").matches) search.focus();
  if (!isGuest()) {
    follow(debounced(400, refresh));
    capture.sendWaiting();
  }
  if (started) return;
  announceDrafts();
  started = true;
  document.addEventListener("vault-changed", refresh);
}

/** Something was changed, by the person or on disk. */
function refresh() {
  if (byId("app").hidden) return;
  VIEWS[route().view]?.changed();
  note.changed();
  waiting();
}

/** The passage that keys act on: the one with the focus, else the one that is marked in the reader. */
function target() {
  const chunk = focusedHit()?.chunk;
  return chunk?.citation ? { hash: chunk.hash, citation: chunk.citation, obsidian: chunk.obsidian_url } : note.target();
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
  if (VIEWS.ask?.close()) return true;
  if (inField && field.id === "query" && field.value && !route().note) {
    search.clear();
    return true;
  }
  if (note.close()) return true;
  if (focusedHit() && route().view === "search") {
    search.focus();
    return true;
  }
  // From one of them back to all.
  const [of, ...more] = PARTS[route().view] ?? [];
  if (route()[of]) {
    go(Object.fromEntries([of, ...more].map((name) => [name, undefined])));
    return true;
  }
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
  const { view, q, layer } = route();
  if (view !== "search" || q?.trim() || layer) visit({ view: "search" });
  capture.focus();
}

const room = (name) => () => document.querySelector(`[data-room=${name}]`).click();

listen({
  "/": toSearch,
  "?": () => showDialog(help()),
  ArrowDown: arrow(1),
  ArrowUp: arrow(-1),
  Escape: back,
  n: () => note.step(1),
  x: note.toTask,
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
  1: room("search"),
  2: room("notes"),
  3: room("memory"),
  4: room("agents"),
  5: room("settings"),
  "[": turn(-1),
  "]": turn(1),
});

applyTheme();
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
  if (VAULT && key.isPersons()) await rights();
  if (key.get() || right.is) start();
  else showLogin(failed, start);
}

// Where it is allowed: over HTTPS, and on this machine.
// It answers for one vault.
if (!VAULT) navigator.serviceWorker?.register("/page/sw.js", { scope: "/" }).catch(() => {});

// The address of `vault open` may be pasted into a page that is open already.
window.addEventListener("hashchange", ({ oldURL }) => {
  if (location.hash.startsWith("#code=")) enter(new URL(oldURL).hash);
});
// Where people sign in to a server of several vaults.
if (location.pathname === "/v/") import("/page/views/people.js").then((people) => people.show());
else enter();
