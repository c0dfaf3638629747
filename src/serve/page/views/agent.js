// One agent: what it may read, as it is and to be changed, and below that what it sees and what it read.

import { api } from "../lib/api.js";
import { append, count, failure, h, replace, say, toggle, when } from "../lib/dom.js";
import { changeRules, remove, rotate } from "./agent-forms.js";
import { readLog } from "./agent-log.js";
import { explain } from "./agent-sees.js";
import { address, route } from "../lib/route.js";

const WRITES = {
  hybrid: "MEMORY.md and memory/",
  "prompt-only": "only MEMORY.md",
  "search-only": "only memory/",
  off: "cannot be written",
};

/** What an agent reads, in some words. */
export function reads(agent) {
  if (agent.expired) return "Expired: it has no access.";
  if (agent.problems.length) return "Reads nothing: its page has errors.";
  if (!agent.can_read_user_memory) return "Reads none of your notes.";
  return `Reads ${count(agent.files, "note")} of yours, with ${count(agent.chunks, "passage")}.`;
}

/** What keeps it from working. */
export function warnings(agent) {
  const problems = agent.problems.map((problem) => h("p", { class: "failure" }, problem));
  const hint = agent.token_since ? undefined : h("p", { class: "warns" }, "It has no token. Make a new one.");
  return [problems, hint];
}

/** What its page says, as a list. */
export function facts(agent, { all = false } = {}) {
  const list = (items, none) => (items.length ? items.map((item) => h("code", {}, item)) : none);
  const everything = agent.collections.includes("*");
  const rows = [
    ["Collections", everything ? "all" : list(agent.collections, "none")],
    ["Hidden tags", list(agent.exclude_tags.map((tag) => `#${tag.replace(/^#/, "")}`), all && "none")],
    ["Paths", list(agent.paths, all && "all")],
    ["Own memory", WRITES[agent.write_mode] ?? agent.write_mode],
    ["Suggests", agent.can_suggest ? "edits of notes" : "nothing"],
    ["Writes in", agent.write_collections?.join(", ") || "no collection"],
    ["Entries", all && h("a", { id: "agent-entries", href: address({ view: "entries", agent: agent.slug }) }, "what it knows")],
    ["Expires", agent.expires ? when(agent.expires) : all && "never"],
    ["Token since", agent.token_since ? when(agent.token_since) : all && "none"],
    ["Chat", all && ([agent.chat_type, agent.channel].filter(Boolean).join(", ") || "anywhere")],
    ["Page", all && h("a", { id: "agent-page", href: address({ ...route(), note: agent.path, lines: undefined }) }, agent.path)],
  ];
  return h("dl", { class: "facts" }, rows.filter(([, value]) => value).map(([name, value]) =>
    h("div", {}, h("dt", {}, name), h("dd", {}, value))));
}

/** The switch that lets an agent read, or not. */
export function allowSwitch(agent, changed) {
  const { slug, name } = agent;
  const label = ["May read your memory", h("span", { class: "unseen" }, ` (${name})`)];
  const made = toggle(`allow-${slug}`, label, "Except private notes and what its rules hide", agent.can_read_user_memory, async (on, box) => {
    made.querySelector(".failure")?.remove();
    try {
      const now = await api.changeAgent(slug, { can_read_user_memory: on });
      box.checked = now.can_read_user_memory;
      say(`${name}: ${reads(now)}`);
      changed();
    } catch (error) {
      box.checked = !on;
      append(made, failure(error));
    }
  });
  return made;
}

/** The parts of one agent; `paint` shows it as it is by now. */
export function makeAgent(agent, changed) {
  const head = h("div", {});
  const button = (id, text, click, kind) => h("button", { type: "button", id: `agent-${id}`, class: kind, on: { click } }, text);
  const paint = (now) => replace(head,
    h("p", { class: "reads" }, reads(now)), warnings(now), allowSwitch(now, changed),
    facts(now, { all: true }),
    h("div", { class: "row wraps" },
      button("change", "Edit permissions", () => changeRules(now, changed)),
      button("rotate", "New token", () => rotate(now, changed)),
      button("remove", "Remove", () => remove(now), "danger")));
  paint(agent);
  const { section, again } = explain(agent);
  const repaint = (now) => {
    paint(now);
    again();
  };
  return { slug: agent.slug, paint: repaint, body: h("div", {}, head, section, readLog(agent)) };
}
