// Texts of notes within other views, as their readers would see them: without the marks of Markdown, and with citations as links.

import { h } from "./dom.js";
import { preview } from "./preview.js";
import { address, route } from "./route.js";

/** `conversations/x.md#L3-L4` as a link to these lines in the reader, `memories/user.md#^e-1` to the note. */
export function cite(citation) {
  const [, note, first, last] = /^(.+?)(?:#(?:L(\d+)(?:-L?(\d+))?|\^.*|page=\d+))?$/s.exec(citation);
  const lines = first && `${first}-${last ?? first}`;
  return h("a", { class: "cite", href: address({ ...route(), note, lines }) }, citation);
}

/** Stands for citations while a text is made readable; no text has it for itself. */
const PLACE = "\uE000";

/** A text of Markdown; of `tabs. ^[memories/user.md#^e-1]` the place is a link. */
export function readable(text) {
  const cited = [];
  const marked = text.replaceAll(PLACE, "").replace(/\^\[([^[\]\n]+\.[a-z]+(?:#[^[\]\n]*)?)\]/g, (_, places) => {
    cited.push(places.split(", "));
    return PLACE;
  });
  const shown = preview({ content: marked }).map(([part]) => part).join("");
  return shown.split(PLACE).map((part, at) => [part, cited[at]?.map((place, index) => [index > 0 && ", ", cite(place)])]);
}
