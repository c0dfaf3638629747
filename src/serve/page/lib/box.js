// One box for all places: notes, headings, tags, commands, searches. Ctrl-K opens it anywhere.

import { sentence, show, toast } from "../note/change.js";
import { api } from "./api.js";
import { combobox } from "./combobox.js";
import { byId, h } from "./dom.js";
import { commands } from "./keys.js";
import { condition } from "./list.js";
import { NAMES as VIEWS, address, route, visit } from "./route.js";
import { fileName, savedSearches } from "./saved.js";

const NAMES = 12;
const SEARCHES = 4;

/** Commands beside the views and the keys: `{name, run}`. */
export const COMMANDS = [];

/** Opens the box, with something typed: `>` lists the commands. */
export function openBox(prefix = "") {
  const list = h("ul", { id: "box-list", "aria-label": "Found" });
  const field = h("input", { id: "box-field", type: "text", autofocus: true, enterkeyhint: "go",
    "aria-label": "A note, # heading or tag, > command", placeholder: "A note, # heading or tag, > command" });
  let chosen;
  let pending;
  let controller;
  const choose = (option, event) => {
    chosen = option;
    if ((event.ctrlKey || event.metaKey) && option.place) chosen = { run: () => window.open(address(option.place), "_blank") };
    made.close();
  };
  const present = combobox(field, list, { choose, ready: () => pending });
  const searches = savedSearches().catch(() => []);
  const ask = () => {
    controller?.abort();
    controller = new AbortController();
    pending = options(field.value.trim(), searches, controller.signal).then(present, (error) => {
      if (error.name !== "AbortError") present([{ name: sentence(error), run: () => {} }]);
    });
  };
  field.addEventListener("input", ask);
  field.value = prefix;
  const made = show(h("dialog", { class: "box", "aria-label": "Go to" }, field, list,
    h("p", { class: "hint" }, h("kbd", {}, "↑"), h("kbd", {}, "↓"), " choose ", h("kbd", {}, "Enter"), " open ", h("kbd", {}, "Ctrl-Enter"), " in a new tab")));
  // The focus is back where it was by then: commands act on what has it.
  made.addEventListener("close", () => {
    controller.abort();
    if (chosen?.place) visit(chosen.place);
    else chosen?.run();
  });
  ask();
}

async function options(typed, searches, signal) {
  if (typed.startsWith(">")) {
    const words = typed.slice(1).toLowerCase().split(/\s+/).filter(Boolean);
    return allCommands().filter(({ name }) => words.every((word) => name.toLowerCase().includes(word)));
  }
  const { results } = await api.find({ q: typed, limit: NAMES }, signal);
  const names = results.map(named);
  if (typed.startsWith("#")) return names;
  const saved = (await searches).filter(({ name }) => name.toLowerCase().includes(typed.toLowerCase())).slice(0, SEARCHES)
    .map(({ name, query }) => ({ name, detail: "saved search", place: { view: "search", q: query } }));
  if (!typed) return [...names, ...saved];
  const asked = { name: `Search for “${typed}”`, place: { view: "search", q: typed } };
  const path = `notes/${fileName(typed)}.md`;
  const isThere = results.some((found) => found.path?.toLowerCase() === path.toLowerCase());
  return [...names, ...saved, asked, ...(isThere ? [] : [{ name: `Make “${typed}”`, detail: path, run: () => make(typed, path) }])];
}

function named({ kind, title, alias, path, line, tag }) {
  if (kind === "tag") return { name: `#${tag}`, detail: "tag", place: { view: "search", q: condition("tag", tag) } };
  const lines = line && `${line}-${line}`;
  return { name: kind === "heading" ? `# ${title}` : alias ? `${title} (${alias})` : title, detail: path, place: { ...route(), note: path, lines } };
}

/** The views, what keys do, and what other modules have added. */
function allCommands() {
  const views = Object.entries(VIEWS).map(([view, name]) => ({ name, detail: "view", place: { view } }));
  return [...views, ...commands().map(({ name, key, run }) => ({ name, detail: key, run })), ...COMMANDS];
}

/** Makes a note of a title and opens it; one that is there already is opened. */
async function make(title, path) {
  try {
    const { create } = await import("/page/edit/editor.js");
    await create(path, `# ${title}\n`);
  } catch (error) {
    toast(`Not made: ${sentence(error)}`, undefined, { failed: true });
  }
}

document.addEventListener("keydown", (event) => {
  if (event.defaultPrevented || event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
  if (byId("app").hidden || document.querySelector("dialog[open]")) return;
  event.preventDefault();
  openBox();
});
