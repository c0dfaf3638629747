// A note's properties as a table. Links in them are followed; a click on a value searches for notes with the same.

import { h } from "../lib/dom.js";
import { address } from "../lib/route.js";

const OPEN_UP_TO = 8;
/** Longer values are texts. */
const LONGEST = 80;
const PART = /\[\[([^[\]\n]+)\]\]|(https?:\/\/[^\s<>"]+)/g;

export function properties({ metadata, property_links: links = {} }, follow) {
  const rows = Object.entries(metadata ?? {}).flatMap(([key, value]) => row(key, value));
  if (!rows.length) return "";
  return h("details", { class: "properties", open: rows.length <= OPEN_UP_TO },
    h("summary", {}, `Properties (${rows.length})`),
    h("table", {}, h("tbody", {}, rows.map(([key, values]) =>
      h("tr", {}, h("th", { scope: "row" }, key), h("td", {}, values.map((value) => h("span", { class: "value" }, shown(key, value, { links, follow })))))))));
}

/** The rows of a property: of one with properties of its own, one for each. */
function row(key, value) {
  if (Array.isArray(value)) {
    const [inner, plain] = [value.flat(Infinity).filter(isObject), value.flat(Infinity).filter((one) => !isObject(one))];
    return [...(plain.length || !inner.length ? [[key, plain]] : []), ...inner.flatMap((one) => row(key, one))];
  }
  return isObject(value) ? Object.entries(value).flatMap(([name, one]) => row(`${key}.${name}`, one)) : [[key, [value]]];
}

const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

function shown(key, value, how) {
  const text = String(value ?? "");
  if (/^tags?$/.test(key)) return text.split(/[\s,]+/).filter(Boolean).map((tag) => [h("a", { href: address({ view: "search", tag: tag.replace(/^#/, "") }) }, `#${tag.replace(/^#/, "")}`), " "]);
  const day = /^\d{4}-\d\d-\d\d(?=$|[T ])/.exec(text);
  if (day) return h("a", { href: address({ view: "browse", day: day[0] }), title: "What was saved on this day" }, text);
  const parts = [];
  let from = 0;
  for (const found of text.matchAll(PART)) {
    parts.push(text.slice(from, found.index), found[1] ? wikilink(found[1], how) : h("a", { href: found[2], rel: "noopener noreferrer", target: "_blank" }, found[2]));
    from = found.index + found[0].length;
  }
  if (parts.length || text.length > LONGEST || !text) return [parts, text.slice(from)];
  const wanted = /^[\p{L}\p{N}_-]+$/u.test(text) ? text : `"${text.replaceAll('"', " ")}"`;
  const query = /^[\p{L}\p{N}_.-]+$/u.test(key) ? `${key}:${wanted}` : `[${key}:${wanted}]`;
  return h("a", { class: "same-value", href: address({ view: "search", q: query }), title: `Notes with ${key} ${text}` }, text);
}

function wikilink(written, { links, follow }) {
  const [, name, heading, text] = /^([^#^|]*)(#[^|]*)?(?:\|(.*))?/.exec(written);
  const path = Object.hasOwn(links, name.trim()) ? links[name.trim()] : undefined;
  if (!path) return h("span", { class: "nowhere", title: "No note with this name" }, text || written);
  return h("a", { class: "inside", href: follow(path), "data-path": path, "data-heading": heading?.slice(1) ?? "" }, text || written);
}
