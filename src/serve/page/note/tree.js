// A note's nodes as elements. The server's list of tags and attributes is checked once more: whatever is not on it is text.

import { append, h, replace } from "../lib/dom.js";
import { address } from "../lib/route.js";
import { highlighted } from "./code.js";
import { inline } from "./inline.js";

const TAGS = new Set(("p h1 h2 h3 h4 h5 h6 blockquote pre code ul ol li table tr th td em strong del sup sub a br hr div span"
  + " mark u kbd b i s").split(" "));
const ATTRIBUTES = new Set(["class", "title", "start"]);
const SCHEMES = new Set(["http:", "https:", "mailto:", "obsidian:"]);
/** The name of a block, as links to it have it, at the end of its text. */
const BLOCK = /(?:^|\s)\^[A-Za-z0-9-]+\s*$/;
/** Tasks that are neither open nor done, as `[/]`. */
const TASK = /^\[(\S)\] /;

/**
 * Elements of nodes. `how.follow(path)` gives the address of a link to a note; `how.tags` are the tags of this one, lower case;
 * `how.embed(attributes, text)` may give what stands for something that is shown; `how.quoted`: they are of another note, whose lines and tasks are
 * not this one's.
 */
export function elements(nodes, how) {
  return inline(nodes, how.asWritten ? undefined : how.tags).map((node) => {
    if (typeof node === "string") return document.createTextNode(node);
    return node.hash ? h("a", { class: "tag", href: address({ view: "search", tag: node.hash }) }, `#${node.hash}`) : element(node, how);
  });
}

function element(node, how) {
  const attributes = node.attrs ?? {};
  const kind = attributes.class ?? "";
  const { tag, children } = node;
  if (tag === "span" && /^task\b/.test(kind)) return task(kind === "task done", how);
  if (kind === "callout") return placed(callout(node, how), node, how);
  const shown = tag === "a" && how.embed?.(attributes, textOf(children).trim());
  if (shown) return shown;
  const made = document.createElement(TAGS.has(tag) ? headingBelow(tag) : "span");
  for (const [name, value] of Object.entries(attributes)) {
    if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  }
  if (tag === "a") link(made, attributes, how);
  if (tag === "pre" && attributes.title) append(made, highlighted(textOf(children), attributes.title));
  else append(made, elements(/^(p|li|h\d)$/.test(tag) ? unnamed(children) : children, within(node, how)));
  if (tag === "li") boxed(made, node, how);
  placed(made, node, how);
  return tag === "table" ? h("div", { class: "table" }, made) : made;
}

function placed(made, { line_start: from, line_end: to }, { quoted }) {
  if (from && !quoted) Object.assign(made.dataset, { from, to });
  return made;
}

function within({ tag, line_start: line }, how) {
  if (tag === "li") return { ...how, line };
  return tag === "a" || tag === "pre" || tag === "code" ? { ...how, asWritten: true } : how;
}

/** What is in a block, without the block's name. */
function unnamed(children) {
  const ends = (at) => at === children.length || /^[uo]l$/.test(children[at].tag);
  return children.map((child, at) => (typeof child === "string" && ends(at + 1) ? child.replace(BLOCK, "") : child));
}

export const textOf = (nodes) => nodes.map((node) => (typeof node === "string" ? node : textOf(node.children ?? []))).join("");

/** A task's box; what ticks it listens further out. */
function task(done, { line, quoted }) {
  return h("input", { type: "checkbox", class: done ? "task done" : "task", checked: done, disabled: quoted, "data-line": line });
}

/** Gives the box of a task its name; tasks of other kinds get one. */
function boxed(item, { line_start: line, children }, { quoted }) {
  const first = item.firstChild?.localName === "p" ? item.firstChild.firstChild : item.firstChild;
  const other = TASK.exec(first?.data ?? "");
  if (other) {
    first.data = first.data.slice(other[0].length);
    const box = task(true, { line, quoted });
    box.title = `[${other[1]}]`;
    first.before(box);
  }
  const box = item.querySelector(":scope > .task, :scope > p > .task");
  box?.setAttribute("aria-label", textOf(children.filter(({ tag }) => !/^[uo]l$/.test(tag))).replace(/^([☑☐]|\[\S\])\s*/, "").trim().slice(0, 80) || "Task");
}

/** The note's title is the heading above its own. */
function headingBelow(tag) {
  const level = /^h([1-6])$/.exec(tag);
  return level ? `h${Math.min(6, Number(level[1]) + 1)}` : tag;
}

/** A callout: its kind, its title, which is the first line, and what is below, which may be folded. */
function callout({ attrs, children: [kind, first, ...rest] }, how) {
  const [title, below] = first?.tag === "p" ? titled(first.children) : [[], first ? [first] : []];
  const name = textOf(kind.children);
  const head = [h("span", { class: "callout-kind" }, name), textOf(title).trim() && h("strong", {}, elements(title, how))];
  const body = elements([...below, ...rest], how);
  const fold = attrs["data-fold"];
  if (!fold) return h("blockquote", { class: "callout", "data-kind": name }, h("p", { class: "callout-title" }, head), body);
  return h("blockquote", { class: "callout", "data-kind": name },
    h("details", { open: fold === "open" }, h("summary", { class: "callout-title" }, head), body));
}

/** The nodes of the first line, and a paragraph of those below. */
function titled(nodes) {
  const at = nodes.findIndex((node) => node.tag === "br" || node.includes?.("\n"));
  if (at === -1) return [nodes, []];
  const [head, ...tail] = nodes[at].tag ? [""] : nodes[at].split("\n");
  return [[...nodes.slice(0, at), head], [{ tag: "p", children: [tail.join("\n"), ...nodes.slice(at + 1)] }]];
}

function link(made, attributes, { follow }) {
  if (attributes.href !== undefined) {
    if (!SCHEMES.has(URL.parse?.(attributes.href)?.protocol ?? scheme(attributes.href))) return;
    made.setAttribute("href", attributes.href);
    made.setAttribute("rel", "noopener noreferrer");
    if (/^https?:/i.test(attributes.href)) made.setAttribute("target", "_blank");
  } else if (attributes["data-path"] !== undefined) {
    made.setAttribute("href", follow(attributes["data-path"]));
    made.dataset.path = attributes["data-path"];
    made.dataset.heading = attributes["data-heading"] ?? "";
    made.dataset.block = attributes["data-block"] ?? "";
    made.classList.add("inside");
  } else {
    made.classList.add("nowhere");
    made.setAttribute("title", "No note with this name");
  }
}

function scheme(href) {
  try {
    return new URL(href).protocol;
  } catch {
    return "";
  }
}

/** Puts the footnotes at the end, with links there and back. */
export function footnotes(body) {
  const notes = [...body.querySelectorAll("div.footnote")];
  if (!notes.length) return;
  const references = Map.groupBy([...body.querySelectorAll("sup.footnote")].filter(({ parentElement }) => !notes.includes(parentElement)), ({ textContent }) => textContent);
  const jump = (text, label, to) => h("a", { href: location.hash, "aria-label": label, on: { click: (event) => {
    event.preventDefault();
    to().scrollIntoView({ block: "nearest" });
    to().focus();
  } } }, text);
  for (const note of notes) {
    const label = note.firstElementChild.textContent;
    note.tabIndex = -1;
    for (const from of references.get(label) ?? []) {
      replace(from, jump(label, `Footnote ${label}`, () => note));
      append(note, jump("↩", `Back to where ${label} stands`, () => from.firstElementChild));
    }
  }
  append(body, h("section", { class: "footnotes", "aria-label": "Footnotes" }, notes));
}

/** Marks what is on the lines of a passage; gives the first element that is. */
export function mark(body, from, to) {
  for (const marked of body.querySelectorAll(".passage")) marked.classList.remove("passage");
  const found = [];
  visit(body, from, to, found);
  for (const element of found) element.classList.add("passage");
  return found[0];
}

function visit(parent, from, to, found) {
  for (const child of parent.children) {
    const [first, last] = [Number(child.dataset.from), Number(child.dataset.to)];
    if (!first) visit(child, from, to, found);
    else if (first >= from && last <= to) found.push(child);
    else if (first <= to && last >= from) {
      const before = found.length;
      visit(child, from, to, found);
      if (found.length === before) found.push(child);
    }
  }
}
