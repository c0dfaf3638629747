// What there is, in numbers.

import { api } from "./api.js";
import { bytes, count, failure, h, percent, when } from "./dom.js";
import { growthChart, monthName, shareBar } from "./charts.js";
import { address } from "./route.js";

let place;

export function show(main) {
  place = h("div", { class: "stats" });
  main.replaceChildren(h("h2", {}, "Statistics"), place);
  changed();
}

export function update() {}

export async function changed() {
  try {
    render(await api.stats());
  } catch (error) {
    place.replaceChildren(failure(error, changed));
  }
}

function render(stats) {
  const number = (value, name) => h("div", {}, h("dd", {}, value), h("dt", {}, name));
  const collections = Object.entries(stats.details).sort(([, one], [, two]) => two.chunks - one.chunks);
  const most = Math.max(...collections.map(([, { chunks }]) => chunks), 1);
  place.replaceChildren(
    h("dl", { class: "numbers" },
      number(stats.files.toLocaleString(), stats.files === 1 ? "note" : "notes"),
      number(stats.total.toLocaleString(), stats.total === 1 ? "passage" : "passages"),
      number(bytes(stats.bytes), "of text"),
      number(percent(stats.embedded_share), "found by meaning")),
    h("section", {}, h("h3", {}, "Growth"),
      h("p", { class: "hint" }, "New notes of each month, and all notes by then"),
      growthChart(stats.growth ?? []),
      stats.growth?.length > 0 && h("details", {}, h("summary", {}, "As a table"), h("div", { class: "table" }, h("table", {},
        h("thead", {}, h("tr", {}, ["Month", "New notes", "Passages"].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", {}, stats.growth.toReversed().map(({ month, notes, chunks }) =>
          h("tr", {}, h("th", { scope: "row" }, monthName(month)), h("td", {}, notes.toLocaleString()), h("td", {}, chunks.toLocaleString())))))))),
    h("section", {}, h("h3", {}, "Collections"),
      h("div", { class: "table" }, h("table", { class: "collections" },
        h("thead", {}, h("tr", {}, ["Collection", "Notes", "Passages", "", "By meaning", "Text", "Last change"].map((name) => h("th", { scope: "col" }, name || h("span", { class: "unseen" }, "Share of all passages"))))),
        h("tbody", {}, collections.map(([name, one]) => h("tr", {},
          h("th", { scope: "row" }, h("a", { href: address({ view: "browse", collection: name }) }, name)),
          h("td", {}, one.files.toLocaleString()),
          h("td", {}, one.chunks.toLocaleString()),
          h("td", { class: "wide" }, shareBar(one.chunks / most, `${name}: ${count(one.chunks, "passage")}`)),
          h("td", {}, embedded(name, one.embedded_share)),
          h("td", {}, bytes(one.bytes)),
          h("td", {}, when(one.updated_at)))))))));
}

function embedded(name, share) {
  if (share === undefined) return "–";
  return h("span", { class: "embedded" }, shareBar(share, `${name}: ${percent(share)} found by meaning`), percent(share));
}
