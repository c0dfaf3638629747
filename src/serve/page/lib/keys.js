// The keyboard. Keys act where nothing is typed, and can be switched off.

import { h, say } from "./dom.js";
import { address } from "./route.js";

const KEY = "vault-shortcuts";
const SCORES = "vault-scores";

export const shortcuts = {
  on: () => localStorage.getItem(KEY) !== "off",
  set: (on) => localStorage.setItem(KEY, on ? "on" : "off"),
};

export const scoresShown = () => sessionStorage.getItem(SCORES) === "on";

export function toggleScores() {
  const on = !scoresShown();
  sessionStorage.setItem(SCORES, on ? "on" : "off");
  for (const shown of document.querySelectorAll(".scores")) shown.hidden = !on;
  document.querySelector(".toggle-scores")?.setAttribute("aria-pressed", String(on));
  say(on ? "Scores shown" : "Scores hidden");
}

const KEYS = [
  ["Ctrl-K", "Find a note by name, a heading or tag with #, a command with >"],
  ["/", "Search"],
  ["↑ ↓", "Move through passages, notes, agents, suggested edits"],
  ["Enter", "Read the note"],
  ["Esc", "Back"],
  ["n p", "Next and previous passage of the note"],
  ["x", "Next task of the note; Space ticks it"],
  ["c", "Copy the citation"],
  ["o", "Open in Obsidian"],
  ["e", "Edit the note"],
  ["a", "Annotate the passage"],
  ["Delete", "Delete the passage"],
  ["z", "Undo the last change"],
  ["w", "Write a snippet"],
  ["t", "Capture a thought"],
  ["a h r", "In Review: accept a suggested edit, one of several, reject"],
  ["y c g", "In Review: yes, it is still true; it has changed; it is gone"],
  ["m", "Search by words, by meaning, or both"],
  ["s", "Show scores"],
  ["1 2 … 5", "Search, Notes, Memory, Agents, Settings"],
  ["[ ]", "Previous and next view there"],
  ["?", "This list"],
];

const QUERIES = [
  ['"a phrase"', "Exactly these words"],
  ["+word", "The word must occur"],
  ["-word", "The word must not occur; - also negates a condition"],
  ["begin*", "Words that start like this"],
  ["tag:travel", "With this tag, or one below it"],
  ["in:notes", "In this collection"],
  ["path:daily/*", "Paths that match"],
  ["title:plan", "With this in the title"],
  ["before:2026-01-05 after:7d", "Last changed in this time"],
  ["has:task", "With a link, image, code, table, quote, task or tag"],
  ["role:user", "What this role said in a conversation"],
  ["conversation:loans", "In one conversation"],
  ["layer:summaries", "Only entries, conversations, summaries, graph or notes"],
  ["type:book status:done", "Property with this value"],
  ["[rating:>3] [status]", "Property with a matching value, or with any value"],
  ["lex: words", "By words only"],
  ["vec: a question", "By meaning only; after hyde: write a possible answer"],
  ["intent: a topic", "The topic of the rest of the query"],
];

/** The keys of conditions, as `tag` of `tag:travel`. */
export const CONDITIONS = QUERIES.flatMap(([text]) => Array.from(text.matchAll(/(?:^| )(\w+):(?=\S)/g), ([, key]) => key));

/** What the page does by keys, as it was last listened for. */
const performed = {};

/** What single keys do: `{name, key, run}`. */
export const commands = () => KEYS.filter(([key]) => key !== "/" && performed[key])
  .map(([key, name]) => ({ name, key, run: () => performed[key]() }));

/** The list of keys, and of what can be typed, as a dialog. */
export function help() {
  const made = h("dialog", { "aria-labelledby": "help-title", class: "help" },
    h("h2", { id: "help-title" }, "Keyboard"),
    h("dl", {}, KEYS.map(([keys, what]) => h("div", {}, h("dt", {}, keys.split(" ").map((key) => h("kbd", {}, key))), h("dd", {}, what)))),
    h("h2", {}, "What to type"),
    h("dl", { class: "queries" }, QUERIES.map(([text, what]) => h("div", {}, h("dt", {}, h("code", {}, text)), h("dd", {}, what)))),
    h("p", { class: "hint" }, "To capture from any page of the web, drag the link in ",
      h("a", { href: address({ view: "settings" }), on: { click: () => made.close() } }, "Settings"), " to the bookmarks bar."),
    h("div", { class: "row end" }, h("button", { type: "button", class: "primary", autofocus: true, on: { click: () => made.close() } }, "Close")));
  return made;
}

/** Whether keys go into something. */
function typing(element) {
  return element?.isContentEditable || /^(TEXTAREA|SELECT)$/.test(element?.tagName)
    || (element?.tagName === "INPUT" && !/^(checkbox|radio|button)$/.test(element.type));
}

/** Has `actions` called by their keys. An action that says no leaves the key to the browser. */
export function listen(actions) {
  for (const [key, act] of Object.entries(actions)) performed[key] ??= act;
  document.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return;
    const inField = typing(document.activeElement);
    const single = event.key.length === 1 || event.key === "Delete";
    if (single && (inField || !shortcuts.on())) return;
    if (/^(Arrow|Home|End)/.test(event.key) && inField && document.activeElement.type !== "search") return;
    const action = actions[event.key];
    if (action && action(event, inField) !== false) event.preventDefault();
  });
}
