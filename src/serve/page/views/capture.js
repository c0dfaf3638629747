// A thought, captured: a box that saves into today's note or the inbox. What the vault does not take at once waits in this browser, and is sent
// again until it does; its id has the vault take it once.

import { api } from "../lib/api.js";
import { append, byId, bytes, count, h, replace, say } from "../lib/dom.js";
import { copy } from "../lib/list.js";
import { address, route, visit } from "../lib/route.js";
import { changed as tellViews, offerUndo, sentence, toast } from "../note/change.js";

const WAITING = "vault-waiting";
const WHERE = "vault-capture-to";
const DRAFT = "vault-draft";
const RETRY_MS = 4000;
const MAX_BYTES = 64 << 20;
/** A request is refused for good with these, but for a session that has ended and a limit. */
const isRefusal = ({ status }) => status >= 400 && status < 500 && status !== 401 && status !== 408 && status !== 429;

const waiting = () => JSON.parse(localStorage.getItem(WAITING) ?? "[]");
const setWaiting = (thoughts) => localStorage.setItem(WAITING, JSON.stringify(thoughts));

let sending;
let timer;

/** Sends what waits, in its order. */
export function sendWaiting() {
  clearTimeout(timer);
  sending ??= sendAll().finally(() => (sending = undefined));
  return sending;
}

async function sendAll() {
  try {
    for (let thought = waiting()[0]; thought; thought = waiting()[0]) {
      try {
        captured(await api.capture(thought));
      } catch (error) {
        if (!isRefusal(error)) throw error;
        giveBack(thought.text);
        toast(`Not captured: ${sentence(error)}`, undefined, { failed: true });
      }
      setWaiting(waiting().filter(({ id }) => id !== thought.id));
    }
  } catch (error) {
    if (error.status !== 401) timer = setTimeout(sendWaiting, RETRY_MS);
  }
  paint();
}

const open = (path) => h("a", { href: address({ view: "search", note: path }) }, "Open");

function captured({ path, checkpoint_id: checkpoint, redacted }) {
  const text = `Captured in ${path}${redacted ? ", without secrets" : ""}`;
  offerUndo(text, checkpoint, open(path));
  tellViews();
}

function paint() {
  const number = waiting().length;
  for (const place of document.querySelectorAll(".capture .waits")) {
    const text = number ? `${count(number, "thought")} ${number === 1 ? "waits" : "wait"} for the vault` : "";
    if (place.textContent !== text) place.textContent = text;
  }
}

function fill(text) {
  const field = byId("capture");
  if (field) field.value = text;
  sessionStorage.setItem(DRAFT, text);
}

/** Puts what was refused above what was typed since. */
function giveBack(text) {
  fill([text, byId("capture")?.value ?? sessionStorage.getItem(DRAFT)].filter(Boolean).join("\n\n"));
}

/** Takes a file; says whether the vault has it now. */
async function take(file) {
  const refuse = (why) => toast(`Not added: ${file.name}: ${why}`, undefined, { failed: true });
  if (file.size > MAX_BYTES) return !refuse(`it has ${bytes(file.size)}; up to ${bytes(MAX_BYTES)} can be dropped`);
  say(`Adding ${file.name}`);
  try {
    const got = await api.drop(file.name, file);
    if (got.kind === "file") {
      const field = byId("capture");
      fill([field?.value.trimEnd(), `![[${got.path}]]`].filter(Boolean).join("\n"));
      offerUndo(`Added ${got.path}`, got.undo);
      field?.focus();
    } else if (got.kind === "note") {
      offerUndo(`${got.added ? "Saved to" : "Already there:"} ${got.path}`, got.undo, open(got.path));
    } else {
      const found = [[got.conversations, "conversation"], [got.bookmarks, "bookmark"], [got.notes, "note"]];
      const counted = found.filter(([number]) => number).map(([number, what]) => count(number, what)).join(", ");
      const more = [`${got.added.toLocaleString()} new`, got.refused && `${got.refused.toLocaleString()} refused`].filter(Boolean).join(", ");
      offerUndo(`Imported from ${file.name} (${got.from}): ${counted || "nothing"}; ${more}`, got.undo);
    }
    tellViews();
    return true;
  } catch (error) {
    refuse(sentence(error));
    return error.status > 0 && isRefusal(error);
  }
}

async function takeAll(files) {
  for (const file of [...files]) await take(file);
}

/** A box for a thought, with `text` in it, or what was typed before; `then` is called when it is saved, or waits. */
export function captureBox({ text, then } = {}) {
  const field = h("textarea", {
    id: "capture", rows: 1, placeholder: "Capture a thought, a link, a file", "aria-label": "Capture a thought", "aria-keyshortcuts": "Control+Enter",
    on: {
      input: () => sessionStorage.setItem(DRAFT, field.value),
      keydown: (event) => {
        if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) form.requestSubmit();
      },
      paste: (event) => {
        const { files } = event.clipboardData;
        if (!files.length) return;
        event.preventDefault();
        takeAll(files);
      },
    },
  });
  field.value = text ?? sessionStorage.getItem(DRAFT) ?? "";
  const where = h("select", { "aria-label": "Capture into", on: { change: () => localStorage.setItem(WHERE, where.value) } },
    h("option", { value: "today" }, "Today’s note"), h("option", { value: "inbox" }, "Inbox"));
  where.value = localStorage.getItem(WHERE) ?? "today";
  const chosen = h("input", { type: "file", multiple: true, hidden: true, on: { change: () => takeAll(chosen.files) } });
  const submit = async (event) => {
    event.preventDefault();
    if (!field.value.trim()) return field.focus();
    const id = [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    try {
      setWaiting([...waiting(), { text: field.value, to: where.value, at_ms: Date.now(), id }]);
    } catch {
      return toast("Not captured: this browser has no room left", undefined, { failed: true });
    }
    fill("");
    // One that is under way may be at its end.
    await sending;
    await sendWaiting();
    then?.();
  };
  const dragged = (event) => {
    const has = event.dataTransfer.types.includes("Files");
    form.classList.toggle("over", has && event.type === "dragover");
    if (has) event.preventDefault();
  };
  const form = h("form", { class: "capture", "aria-label": "Capture", on: { submit, dragover: dragged, dragleave: dragged, drop: (event) => {
    dragged(event);
    takeAll(event.dataTransfer.files);
  } } }, field, h("div", { class: "row" }, where, chosen,
    h("button", { type: "button", on: { click: () => chosen.click() } }, "Add files"), h("span", { class: "waits", role: "status" }),
    h("button", { class: "primary", title: "Ctrl-Enter" }, "Capture")));
  // It is shown when this has run.
  queueMicrotask(() => {
    paint();
    sendWaiting();
  });
  return form;
}

/** What was shared, or taken along from another page, as Markdown. */
function taken({ title = "", url = "", text = "" }) {
  const name = title.replace(/[[\]\s]+/g, " ").trim();
  const link = url && name ? `[${name}](${/[\s()<>]/.test(url) ? `<${url.replace(/[<>\s]/g, encodeURIComponent)}>` : url})` : url || name;
  const quoted = url && text ? text.trim().split("\n").map((line) => `> ${line}`.trimEnd()).join("\n") : text;
  return [link, quoted].filter(Boolean).join("\n\n");
}

/** The files that the service worker was handed; those that the vault cannot take now stay there. */
async function takeShared() {
  const cache = await globalThis.caches?.open("shared");
  for (const request of (await cache?.keys()) ?? []) {
    const file = new File([await (await cache.match(request)).blob()], new URL(request.url).searchParams.get("name"));
    if (await take(file)) await cache.delete(request);
  }
}

/** The view of the box alone. */
export function show(main) {
  const { popup, view, ...params } = route();
  const then = () => {
    // What waits is in the browser, and is said so.
    if (waiting().length) return;
    if (!popup) return visit({ view: "search" });
    window.close();
    replace(main, h("p", { role: "status" }, "Captured. You can close this window."));
  };
  replace(main, h("section", { class: "capture-only" }, h("h2", {}, "Capture"), captureBox({ text: taken(params) || undefined, then })));
  byId("capture").focus();
  takeShared();
}

export const update = (now, before) => ["title", "url", "text"].some((key) => now[key] !== before[key]) && show(byId("main"));
export const changed = () => {};
export const focus = () => byId("capture")?.focus();

/** A link for the bookmarks bar, which takes the page that is shown there, and what is selected on it, to the box. It holds no key. */
export function bookmarklet() {
  const to = JSON.stringify(`${location.origin}/#/capture?popup=1`);
  const take = (name, what) => `"&${name}="+e(${what})`;
  const href = `javascript:(()=>{const e=encodeURIComponent;open(${to}+${take("title", "document.title")}+${take("url", "location.href")}`
    + `+${take("text", "getSelection()")},"_blank","popup,width=560,height=420")})()`;
  return append(h("p", {}, h("a", { href, class: "bookmarklet", on: { click: (event) => event.preventDefault() } }, "Capture in my memory"), " "),
    h("button", { type: "button", class: "quiet", on: { click: () => copy(href) } }, "Copy its address"));
}
