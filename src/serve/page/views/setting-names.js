// What the settings of the memory are called in Osaurus, and here: the table of docs/memory.md.

import { h } from "../lib/dom.js";

/** Names there; names in plain words stand for settings whose key there is not known to us. */
const NAMES = [
  ["enabled", "memory.enabled"],
  ["core model", "memory.model"],
  ["core model provider", "memory.endpoint, memory.api_key_env"],
  ["summaryDebounceSeconds", "memory.summary_debounce_seconds"],
  ["summaryRetentionDays", "memory.summary_retention_days"],
];

/** A section with the table. */
export function settingNames() {
  const row = ([theirs, ours]) => h("tr", {}, h("th", { scope: "row" }, theirs), h("td", {}, ours.split(", ").map((name, at) => [at ? ", " : "", h("code", {}, name)])));
  return h("section", { id: "setting-names" }, h("h3", {}, "Settings of Osaurus"),
    h("p", { class: "hint" }, "If you come from Osaurus: the names of its memory settings in memory.toml. Meanings and ranges are the same."),
    h("div", { class: "table", role: "region", tabindex: "0", "aria-label": "Names of settings" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Osaurus", "memory.toml"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, NAMES.map(row)))));
}
