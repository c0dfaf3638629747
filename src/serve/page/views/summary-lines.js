// The lines of summaries and digests, with links to what they were made of.

import { cite, readable } from "../lib/cited.js";
import { h } from "../lib/dom.js";

/** The parts of a summary or a digest. */
export function sections(parts) {
  return parts.map(({ heading, lines }) => h("section", {}, h("h3", {}, heading),
    h("ul", { class: "cited" }, lines.map(({ text, citations }) => h("li", {}, h("span", { class: "said" }, readable(text)), citations.map((place) => [" ", cite(place)]))))));
}
