// A thought, captured: a box that saves into today's note or the inbox. What the vault does not take at once waits in this browser, and is sent
// again until it does; its id has the vault take it once.

import { VAULT, api, own } from "../lib/api.js";
import { append, byId, bytes, count, h, replace, say } from "../lib/dom.js";
import { copy } from "../lib/list.js";
import { address, route, visit } from "../lib/route.js";
import { changed as tellViews, offerUndo, sentence, toast } from "../note/change.js";

const WAITING = own("vault-waiting-");
const WHERE = "vault-capture-to";
const DRAFT = own("vault-draft");
const RETRY_MS = 4000;
const MAX_BYTES = 64 << 20;

/** Whether a request is refused whenever it is sent: a session may begin again, and a limit ends. */
const isRefusal = ({ status }) => status >= 400 && status < 500 && ![401, 408, 429].includes(status);
const failed = (text) => toast(text, undefined, { failed: true });
const open = (path) => h("a", { href: address({ view: "search", note: path }) }, "Open");

/** The keys of the thoughts that wait, in their order: each has its own, so that two tabs take nothing from one another. */
const waiting = () => Object.keys(localStorage).filter((key) => key.startsWith(WAITING)).sort();

let sending;
let timer;

/** Sends what waits, in its order. */
export function sendWaiting() {
  clearTimeout(timer);
  sending ??= sendAll().finally(() => (sending = undefined));
  return sending;
}

async function sendAll() {
  for (let [key] = waiting(); key; [key] = waiting()) {
    const thought = JSON.parse(localStorage.getItem(key));
    try {
      const { path, checkpoint_id: checkpoint, redacted } = await api.capture(thought);
      offerUndo(`Captured in ${path}${redacted ? ", without secrets" : ""}`, checkpoint, open(path));
      tellViews();
    } catch (error) {
      if (!isRefusal(error)) {
        if (error.code !== "unauthorized") timer = setTimeout(sendWaiting, RETRY_MS);
        break;
      }
      failed(`Not captured: ${sentence(error)}`);
      fill([thought.text, byId("capture")?.value ?? sessionStorage.getItem(DRAFT)]);
    }
    localStorage.removeItem(key);
  }
  paint();
}

function paint() {
  const number = waiting().length;
  const text = number ? `${count(number, "thought waits", "thoughts wait")} for the vault` : "";
  for (const place of document.querySelectorAll(".capture .waits")) {
    if (place.textContent !== text) place.textContent = text;
  }
}

/** Puts texts into the field, where they outlive a reload. */
function fill(texts, between = "\n\n") {
  const text = texts.filter(Boolean).join(between);
  const field = byId("capture");
  if (field) field.value = text;
  sessionStorage.setItem(DRAFT, text);
}

/** Takes a file; says whether there is no use in sending it again. */
async function take(file) {
  if (file.size > MAX_BYTES) return failed(`Not added: ${file.name} has ${bytes(file.size)}, and ${bytes(MAX_BYTES)} can be dropped`);
  say(`Adding ${file.name}`);
  try {
    const got = await api.drop(file.name, file);
    if (got.kind === "file") {
      fill([byId("capture")?.value.trimEnd(), `![[${got.path}]]`], "\n");
      offerUndo(`Added ${got.path}`, got.undo);
    } else if (got.kind === "note") {
      offerUndo(`${got.added ? "Saved to" : "Already there:"} ${got.path}`, got.undo, open(got.path));
    } else {
      const found = ["conversation", "bookmark", "note"].filter((what) => got[`${what}s`]).map((what) => count(got[`${what}s`], what));
      const refused = got.refused ? `, ${got.refused} refused` : "";
      offerUndo(`Imported from ${file.name} (${got.from}): ${found.join(", ") || "nothing"}; ${got.added} new${refused}`, got.undo);
    }
    tellViews();
    return true;
  } catch (error) {
    failed(`Not added: ${file.name}: ${sentence(error)}`);
    return isRefusal(error);
  }
}

async function takeAll(files) {
  for (const file of [...files]) await take(file);
}

/** A box for a thought, with `text` in it, or what was typed before; `then` is called when it is saved, or waits. */
export function captureBox({ text, then } = {}) {
  const paste = (event) => {
    const { files } = event.clipboardData;
    if (!files.length) return;
    event.preventDefault();
    takeAll(files);
  };
  const keydown = ({ key, ctrlKey, metaKey }) => key === "Enter" && (ctrlKey || metaKey) && form.requestSubmit();
  const field = h("textarea", {
    id: "capture", rows: 1, placeholder: "Capture a thought, a link, a file", "aria-label": "Capture a thought", "aria-keyshortcuts": "Control+Enter",
    on: { input: () => sessionStorage.setItem(DRAFT, field.value), keydown, paste },
  });
  field.value = text || (sessionStorage.getItem(DRAFT) ?? "");
  const where = h("select", { "aria-label": "Capture into", on: { change: () => localStorage.setItem(WHERE, where.value) } },
    h("option", { value: "today" }, "Today’s note"), h("option", { value: "inbox" }, "Inbox"));
  where.value = localStorage.getItem(WHERE) ?? "today";
  const chosen = h("input", { type: "file", multiple: true, hidden: true, on: { change: () => takeAll(chosen.files) } });
  const submit = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return field.focus();
    const id = Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
    try {
      const at = Date.now();
      localStorage.setItem(`${WAITING}${at}-${id}`, JSON.stringify({ text: field.value, to: where.value, at_ms: at, id }));
    } catch {
      return failed("Not captured: this browser has no room left");
    }
    fill([]);
    // One that is under way may be at its end.
    await sending;
    await sendWaiting();
    then?.();
  };
  const drag = (event) => {
    if (!event.dataTransfer.types.includes("Files")) return;
    event.preventDefault();
    form.classList.toggle("over", event.type === "dragover");
    if (event.type === "drop") takeAll(event.dataTransfer.files);
  };
  const form = h("form", { class: "capture", "aria-label": "Capture", on: { submit, dragover: drag, dragleave: drag, drop: drag } }, field,
    h("div", { class: "row" }, where, chosen, h("button", { type: "button", on: { click: () => chosen.click() } }, "Add files"),
      h("span", { class: "waits", role: "status" }), h("button", { class: "primary", title: "Ctrl-Enter" }, "Capture")));
  // It is in the page when this runs.
  queueMicrotask(() => {
    paint();
    sendWaiting();
  });
  return form;
}

/** What was shared, or taken along from another page, as Markdown. */
function taken({ title = "", url = "", text = "" }) {
  const name = title.replace(/[[\]\s]+/g, " ").trim();
  const link = url && name ? `[${name}](<${url.replace(/[<>\s]/g, encodeURIComponent)}>)` : url || name;
  const quoted = url && text ? text.trim().split("\n").map((line) => `> ${line}`.trimEnd()).join("\n") : text;
  return [link, quoted].filter(Boolean).join("\n\n");
}

/** Takes the files that the service worker was handed; those that the vault cannot take now stay there. */
async function takeShared() {
  const cache = await globalThis.caches?.open("shared");
  for (const request of (await cache?.keys()) ?? []) {
    const content = await (await cache.match(request)).blob();
    if (await take(new File([content], new URL(request.url).searchParams.get("name")))) await cache.delete(request);
  }
}

/** The view of the box alone. */
export function show(main) {
  const { popup, view, ...params } = route();
  const then = () => {
    if (waiting().length) return;
    if (!popup) return visit({ view: "search" });
    window.close();
    replace(main, h("p", { role: "status" }, "Captured. You can close this window."));
  };
  replace(main, h("section", { class: "capture-only" }, h("h2", {}, "Capture"), captureBox({ text: taken(params), then })));
  byId("capture").focus();
  offerShared(main);
}

/** Files that were shared are added when the person says so: any page of the web may have sent them. */
async function offerShared(main) {
  const names = ((await (await globalThis.caches?.open("shared"))?.keys()) ?? []).map(({ url }) => new URL(url).searchParams.get("name"));
  if (!names.length) return;
  const act = (what, then) => h("button", { type: "button", on: { click: async () => {
    offer.remove();
    byId("capture").focus();
    await then();
  } } }, what);
  const offer = h("p", { class: "row", id: "shared" }, `Shared with this page: ${names.join(", ")}`, act("Add", takeShared), act("Discard", () => caches.delete("shared")));
  append(main, offer);
}

export const update = (now, before) => ["title", "url", "text"].some((key) => now[key] !== before[key]) && show(byId("view"));
export const changed = () => {};
export const focus = () => byId("capture")?.focus();

/** A link for the bookmarks bar: it takes the page that is shown, and what is selected on it, to the box. It holds no key. */
export function bookmarklet() {
  const to = JSON.stringify(`${location.origin}${VAULT}/#/capture?popup=1&title=`);
  const href = `javascript:(()=>{const e=encodeURIComponent;open(${to}+e(document.title)+"&url="+e(location.href)+"&text="+e(getSelection()),`
    + '"_blank","popup,width=560,height=420")})()';
  return append(h("p", {}, h("a", { href, class: "bookmarklet", on: { click: (event) => event.preventDefault() } }, "Capture in my memory"), " "),
    h("button", { type: "button", class: "quiet", on: { click: () => copy(href) } }, "Copy its address"));
}
