// The headings of a note as a list that leads to them, and the programs in which it can be opened.

import { h, replace } from "../lib/dom.js";
import { copy } from "../lib/list.js";

const MOST = 2000;

/** The outline of a body whose headings are two at least. */
export function outline(body) {
  const headings = [...body.querySelectorAll(":scope > :is(h2, h3, h4, h5, h6):not(.unseen)")];
  if (headings.length < 2) return "";
  const items = () => headings.slice(0, MOST).map((heading) => {
    const to = () => {
      heading.tabIndex = -1;
      heading.scrollIntoView({ block: "start" });
      heading.focus({ preventScroll: true });
    };
    return h("li", { class: `level-${heading.localName[1]}` }, h("button", { type: "button", class: "quiet", on: { click: to } }, heading.textContent));
  });
  return disclosure("outline", `Outline (${headings.length})`, () => h("nav", { "aria-label": "Outline" },
    h("ol", {}, items()), headings.length > MOST && h("p", { class: "hint" }, `The first ${MOST}.`)));
}

/** What opens the file; `line()` is the line to open it at. */
export function openIn({ obsidian_url: obsidian }, line) {
  const file = obsidian && new URL(obsidian).searchParams.get("path");
  if (!file) return "";
  const address = (editor) => `${editor}://file${file.split("/").map(encodeURIComponent).join("/")}:${line()}`;
  const command = `$EDITOR '${file.replaceAll("'", "'\\''")}'`;
  return disclosure("menu", "Open in…", () => [
    h("a", { class: "quiet", href: obsidian }, "Obsidian"),
    h("a", { class: "quiet", href: address("vscode") }, "VS Code"),
    h("a", { class: "quiet", href: address("zed") }, "Zed"),
    h("code", {}, "$EDITOR"), h("button", { type: "button", class: "quiet", "aria-label": "Copy the command for $EDITOR", on: { click: (event) => copy(command, event.currentTarget) } }, "Copy")]);
}

/** What is made each time it is opened. */
function disclosure(kind, name, make) {
  const place = h("div", {});
  const made = h("details", { class: kind, on: { toggle: () => made.open && replace(place, make()) } }, h("summary", {}, name), place);
  return made;
}
