// What there is, in numbers.

import { answerView, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { bytes, count, h, percent, replace, when } from "../lib/dom.js";
import { growthChart, shareBar } from "../lib/charts.js";
import { address } from "../lib/route.js";

export const view = answerView({ title: "Statistics", kind: "stats", ask: () => api.stats(), draw: render });

function render(stats, place) {
  const number = (value, name) => h("div", {}, h("dd", {}, value), h("dt", {}, name));
  const collections = Object.entries(stats.details).sort(([, one], [, two]) => two.chunks - one.chunks);
  const most = Math.max(...collections.map(([, { chunks }]) => chunks), 1);
  replace(place, heading("Statistics"),
    h("dl", { class: "numbers" },
      number(stats.files.toLocaleString(), stats.files === 1 ? "note" : "notes"),
      number(stats.total.toLocaleString(), stats.total === 1 ? "passage" : "passages"),
      number(bytes(stats.bytes), "of text"),
      number(percent(stats.embedded_share), "found by meaning")),
    h("section", {}, h("h3", {}, "Growth"),
      h("p", { class: "hint" }, "New notes per month, and the total"),
      growthChart(stats.growth ?? []),
      stats.growth?.length > 0 && h("details", {}, h("summary", {}, "As a table"), h("div", { class: "table" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Month", "New notes", "Passages"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, stats.growth.toReversed().map(({ month, notes, chunks }) =>
          h("tr", {}, h("th", { scope: "row" }, month), h("td", {}, notes.toLocaleString()), h("td", {}, chunks.toLocaleString())))))))),
    h("section", {}, h("h3", {}, "Collections"),
      table(["Collection", "Notes", "Passages", "Share of all passages", "By meaning", "Text", "Last change"], collections.map(([name, one]) => [
        h("a", { href: address({ view: "notes", folder: name }) }, name),
        one.files.toLocaleString(),
        one.chunks.toLocaleString(),
        shareBar(one.chunks / most, `${name}: ${count(one.chunks, "passage")}`),
        embedded(name, one.embedded_share),
        bytes(one.bytes),
        when(one.updated_at),
      ]))));
}

/** A table of the collections. On a phone each row is a block, which would be no table for screen readers: so the roles are said. */
function table(names, rows) {
  const wide = (at) => (at === 3 ? "wide" : undefined);
  return h("div", { class: "table" }, h("table", { class: "collections", role: "table" },
    h("thead", { role: "rowgroup" }, h("tr", { role: "row" }, names.map((name, at) =>
      h("th", { scope: "col", role: "columnheader", class: wide(at) }, at === 3 ? h("span", { class: "unseen" }, name) : name)))),
    h("tbody", { role: "rowgroup" }, rows.map(([first, ...cells]) => h("tr", { role: "row" },
      h("th", { scope: "row", role: "rowheader" }, first),
      cells.map((cell, at) => h("td", { role: "cell", class: wide(at + 1), "data-name": names[at + 1] }, cell)))))));
}

function embedded(name, share) {
  if (share === undefined) return "–";
  return h("span", { class: "embedded" }, shareBar(share, `${name}: ${percent(share)} found by meaning`), percent(share));
}
