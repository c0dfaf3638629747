// A note's nodes as elements. The server's list of tags and attributes is checked once more: whatever is not on it is text.

import { append, h } from "../lib/dom.js";

const TAGS = new Set(("p h1 h2 h3 h4 h5 h6 blockquote pre code ul ol li table tr th td em strong del sup sub a br hr div span")
  .split(" "));
const ATTRIBUTES = new Set(["class", "title", "start"]);
const SCHEMES = new Set(["http:", "https:", "mailto:", "obsidian:"]);

/** Elements of nodes; `follow` gives the address of a link to a note. */
export function elements(nodes, follow) {
  return nodes.map((node) => (typeof node === "string" ? document.createTextNode(node) : element(node, follow)));
}

function element(node, follow) {
  const attributes = node.attrs ?? {};
  const made = document.createElement(TAGS.has(node.tag) ? headingBelow(node.tag) : "span");
  for (const [name, value] of Object.entries(attributes)) {
    if (ATTRIBUTES.has(name)) made.setAttribute(name, value);
  }
  if (node.line_start) {
    made.dataset.from = node.line_start;
    made.dataset.to = node.line_end;
  }
  if (node.tag === "a") link(made, attributes, follow);
  append(made, elements(node.children, follow));
  if (node.tag === "table") return h("div", { class: "table" }, made);
  return made;
}

/** The note's title is the heading above its own. */
function headingBelow(tag) {
  const level = /^h([1-6])$/.exec(tag);
  return level ? `h${Math.min(6, Number(level[1]) + 1)}` : tag;
}

function link(made, attributes, follow) {
  if (attributes.href !== undefined) {
    if (!SCHEMES.has(URL.parse?.(attributes.href)?.protocol ?? scheme(attributes.href))) return;
    made.setAttribute("href", attributes.href);
    made.setAttribute("rel", "noopener noreferrer");
    if (/^https?:/i.test(attributes.href)) made.setAttribute("target", "_blank");
  } else if (attributes["data-path"] !== undefined) {
    made.setAttribute("href", follow(attributes["data-path"]));
    made.dataset.path = attributes["data-path"];
    made.dataset.heading = attributes["data-heading"] ?? "";
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
