// The lines of summaries and digests, with links to what they were made of.

import { h } from "./dom.js";
import { address, route } from "./route.js";

/** The parts of a summary or a digest. */
export function sections(parts) {
  return parts.map(({ heading, lines }) => h("section", {}, h("h3", {}, heading),
    h("ul", { class: "cited" }, lines.map(({ text, citations }) => h("li", {}, h("span", { class: "said" }, text), " ", citations.map(cite))))));
}

/** `conversations/x.md#L3-L4` as a link to these lines in the reader. */
function cite(citation) {
  const [, note, first, last] = citation.match(/^(.*?)(?:#L(\d+)(?:-L(\d+))?)?$/s);
  const lines = first && `${first}-${last ?? first}`;
  return [h("a", { class: "cite", href: address({ ...route(), note, lines }) }, citation), " "];
}
