// What is kept, and what can be taken back.

import { api, key } from "../lib/api.js";
import { append, bytes, failure, h, replace, say, toggle, when } from "../lib/dom.js";
import { restore } from "../note/change.js";
import { bookmarklet } from "./capture.js";
import { changeLog } from "./change-log.js";
import { conflictList } from "./conflicts.js";
import { shortcuts } from "../lib/keys.js";
import { sessionList } from "./sessions.js";
import { settingNames } from "./setting-names.js";

const SWITCHES = [
  ["capture_conversations", "Conversations", "What you and your agents say to each other"],
  ["capture_files", "Files", "Which files were opened or changed; never their content"],
  ["capture_searches", "Searches", "What you searched for in other programs"],
  ["capture_notes", "Notes", "Notes that programs send"],
  ["capture_snippets", "Snippets", "What programs copy or save"],
  ["capture_agent_activity", "Agent activity", "What agents report that they did"],
  ["capture_bookmarks", "Bookmarks", "Addresses and titles that you bookmark"],
];

let view;

export function show(main) {
  view = { capture: h("div", {}), history: h("div", {}), log: changeLog(), conflicts: conflictList(), sessions: sessionList() };
  replace(main, h("h2", {}, "Settings"),
    h("section", {}, h("h3", {}, "What is stored"),
      h("p", { class: "hint" }, "The vault does not store what is switched off. The switches are in memory.toml."), view.capture),
    h("section", {}, h("h3", {}, "Capture from other pages"),
      h("p", { class: "hint" }, "Drag this link to the bookmarks bar. There it opens a box with the address of the page, and what you selected on it."), bookmarklet()),
    view.conflicts.section,
    h("section", {}, h("h3", {}, "Recent changes"),
      h("p", { class: "hint" }, "The vault keeps a file’s old content for a while, so that you can undo a change."), view.history),
    view.log.section,
    view.sessions.section,
    settingNames(),
    h("section", {}, h("h3", {}, "This page"),
      toggle("shortcuts", "Single-key shortcuts", "Keys such as / and ? work when no field has the focus", shortcuts.on(), (on) => shortcuts.set(on)),
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

async function capture() {
  try {
    const settings = await api.settings();
    const rows = SWITCHES.filter(([key]) => typeof settings[key] === "boolean");
    replace(view.capture, rows.map(([key, name, hint]) => toggle(key, name, hint, settings[key], async (on, box) => {
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
    replace(view.capture, failure(error, capture));
  }
}

export async function changed() {
  view.log.refresh();
  view.conflicts.refresh();
  view.sessions.refresh();
  try {
    const { checkpoints } = await api.checkpoints();
    if (!checkpoints.length) return replace(view.history, h("p", {}, "Nothing yet."));
    replace(view.history, h("ol", { class: "checkpoints" }, checkpoints.slice(0, 30).map(({ id, at, path, action, bytes: size }) =>
      h("li", {}, h("span", { class: "cite" }, path), h("span", { class: "hint" }, `before: ${action}, ${size === undefined ? "no such file" : bytes(size)}`), when(at),
        h("button", { type: "button", class: "quiet", "aria-label": `Restore ${path}`, on: { click: () => restore(id) } }, "Restore")))));
  } catch (error) {
    replace(view.history, failure(error, changed));
  }
}
