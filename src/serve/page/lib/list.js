// Passages as a list: the answer to a search, or a page of browsing.

import { h, say, when } from "./dom.js";
import { address, route } from "./route.js";
import { scoresShown } from "./keys.js";
import { preview } from "./preview.js";

/** Tags that are shown of a passage. */
const TAGS = 4;

/** A condition as it is typed. */
export const condition = (key, value) => `${key}:${/\s/.test(value) ? `"${value}"` : value}`;

/** The list item of a note, on one line. */
export function noteItem(note) {
  const item = h("li", { class: "hit one-line" },
    h("a", { class: "hit-title", href: address({ ...route(), note: note.path, lines: undefined }) }, h("span", { class: "title" }, note.title)),
    h("span", { class: "cite" }, note.path), when(note.updated_at));
  item.chunk = note;
  return item;
}

/** The list item of a passage. `highlights` are places of the snippet, in characters. */
export function hit(chunk) {
  const heading = chunk.heading_path.filter((text) => text !== chunk.title);
  const opens = address({
    ...route(), note: chunk.path, lines: `${chunk.line_start}-${chunk.line_end}`,
  });
  const item = h("li", { class: "hit" },
    h("a", { class: "hit-title", href: opens },
      h("span", { class: "title" }, chunk.title),
      heading.map((text) => [h("span", { class: "sep", "aria-hidden": "true" }, " › "), h("span", { class: "under" }, text)])),
    h("p", { class: "hit-text" }, preview(chunk).map(([text, marked]) => (marked ? h("mark", {}, text) : text))),
    h("p", { class: "hit-meta" },
      h("a", { class: "cite", href: chunk.obsidian_url, title: "Open in Obsidian" }, chunk.citation),
      copyButton(chunk.citation),
      when(chunk.updated_at),
      chunk.tags.slice(0, TAGS).map((tag) => h("a", { class: "tag", href: address({ view: "search", q: condition("tag", tag) }) }, `#${tag}`)),
      scores(chunk)));
  item.chunk = chunk;
  item.addEventListener("click", (event) => {
    if (event.target.closest("a, button") || String(getSelection())) return;
    item.querySelector(".hit-title").click();
  });
  return item;
}

function scores({ relevance, scores: sides }) {
  if (!sides) return undefined;
  const all = [["relevance", relevance], ["words", sides.keyword], ["meaning", sides.semantic], ["word by word", sides.late]];
  const said = all.filter(([, value]) => value !== undefined);
  return h("span", { class: "scores", hidden: !scoresShown() },
    said.map(([name, value]) => `${name} ${value.toFixed(name === "words" ? 1 : 2)}`).join(" · "));
}

export function copyButton(citation) {
  return h("button", {
    type: "button", class: "quiet", "aria-label": `Copy the citation ${citation}`,
    on: { click: (event) => copy(citation, event.currentTarget) },
  }, "Copy");
}

/** Copies a citation, and says so on the button that did it. */
export async function copy(citation, button) {
  try {
    await navigator.clipboard.writeText(citation);
    say(`Copied ${citation}`);
    if (!button) return;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  } catch {
    say("The browser does not let this page copy text.");
  }
}

/** The hit that has the focus, or is open in the reader. */
export function focusedHit() {
  return document.activeElement?.closest?.(".hit") ?? undefined;
}

/** Has `change` make the hits anew; the focus stays on the same one, or where it was when that is gone. */
export function keepingFocus(change) {
  const all = () => [...document.querySelectorAll("#main .hit")];
  const before = focusedHit();
  const at = all().indexOf(before);
  change();
  if (at === -1 || before.isConnected) return;
  const now = all();
  const next = now.find(({ chunk }) => chunk.hash === before.chunk.hash && chunk.path === before.chunk.path) ?? now[Math.min(at, now.length - 1)];
  next?.querySelector(".hit-title").focus({ preventScroll: true });
}

/** Moves the focus up or down the hits, the agents, or the edits that are suggested; says no when there is nowhere to go. */
export function moveFocus(step) {
  const all = [...document.querySelectorAll("#main :is(.hit, .card, .hunk)")];
  const here = document.activeElement?.closest?.(".hit, .card, .hunk");
  const next = all[here ? all.indexOf(here) + step : step > 0 ? 0 : -1];
  if (!next) return false;
  (next.querySelector(".hit-title, h3 a") ?? next).focus();
  next.scrollIntoView({ block: "nearest" });
  return true;
}

/** Shows which hit is the one being read. */
export function markOpen() {
  const { note, lines } = route();
  for (const item of document.querySelectorAll(".hit")) {
    const { path, line_start: from, line_end: to } = item.chunk;
    const open = path === note && (from === undefined || lines === `${from}-${to}`);
    item.classList.toggle("open", open);
    const link = item.querySelector(".hit-title");
    if (open) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
  }
}
