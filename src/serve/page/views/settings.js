// What is stored, and how this page is.

import { api, key } from "../lib/api.js";
import { append, failure, h, replace, say, toggle } from "../lib/dom.js";
import { shortcuts } from "../lib/keys.js";
import { applyTheme, theme, THEMES } from "../lib/theme.js";
import { bookmarklet } from "./capture.js";
import { sessionList } from "./sessions.js";
import { linkList } from "./share.js";

const SWITCHES = [
  ["capture_conversations", "Conversations", "What you and your agents say to each other"],
  ["capture_files", "Files", "Which files were opened or changed; never their content"],
  ["capture_searches", "Searches", "What you searched for in other programs"],
  ["capture_notes", "Notes", "Notes that programs send"],
  ["capture_snippets", "Snippets", "What programs copy or save"],
  ["capture_agent_activity", "Agent activity", "What agents report that they did"],
  ["capture_bookmarks", "Bookmarks", "Addresses and titles that you bookmark"],
];

const stored = h("div", {});
const sessions = sessionList();
const links = linkList();

export function show(main) {
  const look = h("select", { id: "theme", on: { change: () => applyTheme(look.value) } }, THEMES.map(([value, name]) => h("option", { value, selected: value === theme() }, name)));
  replace(main, h("h2", { class: "unseen" }, "Settings"),
    h("section", {}, h("h3", {}, "What is stored"),
      h("p", { class: "hint" }, "The vault does not store what is switched off. The switches are in memory.toml."), stored),
    h("section", {}, h("h3", {}, "Capture from other pages"),
      h("p", { class: "hint" }, "Drag this link to the bookmarks bar. There it opens a box with the address of the page, and what you selected on it."), bookmarklet()),
    sessions.section,
    h("section", {}, h("h3", {}, "Shared links"), links.list),
    h("section", {}, h("h3", {}, "This page"),
      toggle("shortcuts", "Single-key shortcuts", "Keys such as / and ? work when no field has the focus", shortcuts.on(), (on) => shortcuts.set(on)),
      h("p", { class: "row" }, h("label", { for: "theme" }, "Colours"), look),
      h("p", {}, h("button", { type: "button", on: { click: leave } }, "Sign out"))));
  capture();
  changed();
}

async function leave() {
  await api.leave().catch(() => {});
  key.drop();
  location.replace("/");
}

export function update() {}

export function changed() {
  sessions.refresh();
  links.refresh();
}

async function capture() {
  try {
    const settings = await api.settings();
    const rows = SWITCHES.filter(([key]) => typeof settings[key] === "boolean");
    replace(stored, rows.map(([key, name, hint]) => toggle(key, name, hint, settings[key], async (on, box) => {
      const said = box.closest(".switch").querySelector(".failure");
      said?.remove();
      try {
        const now = await api.change({ [key]: on });
        box.checked = now[key] ?? on;
        say(`${name}: ${box.checked ? "stored" : "not stored"}`);
      } catch (error) {
        box.checked = !on;
        append(box.closest(".switch"), failure(error));
      }
    })));
  } catch (error) {
    replace(stored, failure(error, capture));
  }
}
