// What a note shows of other files: pictures and documents of the vault, and other notes.

import { api } from "../lib/api.js";
import { byId, h, replace } from "../lib/dom.js";
import { elements, textOf } from "./tree.js";

const PICTURE = /\.(?:png|jpe?g|gif|webp|avif|svg|bmp)$/i;
/** `|300` or `|300x200` at the end of what a picture is called. */
const SIZE = /^(?:([^]*)\|)?\s*(\d{1,4})(?:x(\d{1,4}))?$/;
/** So many notes are shown in one, and so many blocks of each. */
const [MOST_NOTES, MOST_BLOCKS] = [10, 60];

/** What is loaded when it is nearly in view. */
const waiting = new WeakMap();
const watcher = new IntersectionObserver((entries) => {
  for (const { target } of entries.filter(({ isIntersecting }) => isIntersecting)) {
    watcher.unobserve(target);
    waiting.get(target)();
  }
}, { root: byId("reader"), rootMargin: "600px 0px" });

/** Has `load` fill a place when it is nearly in view; says there why it cannot. */
function soon(place, name, load) {
  waiting.set(place, () => load().catch((error) => replace(place, h("span", { class: "missing" }, `${name}: ${error.message}`))));
  watcher.observe(place);
  return place;
}

/** Gives a function for `elements` that gives what stands for a file or a note that is shown; `room` is how many notes are. */
export function embeds(note, how, room = MOST_NOTES) {
  return (attributes, text) => {
    const { "data-path": path, "data-target": target, "data-heading": heading, "data-block": block } = attributes;
    if (target === undefined) return undefined;
    if (PICTURE.test(target)) return picture(path ?? target, text === target ? "" : text);
    if (/\.pdf$/i.test(target)) return paper(path ?? target, text || target, heading);
    if (attributes.class !== "image" || !path || room === 0 || (path === note.path && !heading && !block)) return undefined;
    room -= 1;
    return part(path, heading, block, how);
  };
}

function picture(path, text) {
  const [, said, width, height] = SIZE.exec(text) ?? [undefined, text];
  const name = path.split("/").at(-1);
  const place = h("span", { class: "picture" }, name);
  return soon(place, name, async () => {
    const address = URL.createObjectURL(await api.file(path));
    const image = h("img", { src: address, alt: said || name, width, height });
    try {
      await image.decode();
      replace(place, image);
    } catch {
      throw new Error("this is no picture that can be shown");
    } finally {
      URL.revokeObjectURL(address);
    }
  });
}

/** A document, which a tab of its own shows. */
function paper(path, text, place = "") {
  const said = h("span", { class: "missing", role: "alert" });
  const open = async () => {
    try {
      const address = URL.createObjectURL(await api.file(path));
      globalThis.open(`${address}${place && `#${place}`}`, "_blank", "noopener");
      setTimeout(() => URL.revokeObjectURL(address), 60_000);
      replace(said);
    } catch (error) {
      replace(said, ` ${error.message}`);
    }
  };
  return h("span", { class: "paper" }, h("button", { type: "button", class: "quiet", title: path, on: { click: open } }, text), said);
}

/** Another note, or a part of it: its own embeds are links. */
function part(path, heading, block, how) {
  const place = h("div", { class: "embed" }, path);
  return soon(place, path, async () => {
    const note = await api.note(path);
    const found = block ? blockOf(note, block) : heading ? under(note.body, heading) : note.body;
    const link = h("a", { class: "inside hint", href: how.follow(path), "data-path": path, "data-heading": heading ?? "", "data-block": block ?? "" },
      [note.title, heading ?? block].filter(Boolean).join(" › "));
    replace(place, link, found.length ? elements(found.slice(0, MOST_BLOCKS), { ...how, embed: embeds(note, how, 0), quoted: true })
      : h("p", { class: "missing" }, `${note.title} has no ${block ? `block ${block}` : heading ? `heading ${heading}` : "text"}`),
    found.length > MOST_BLOCKS && h("p", { class: "hint" }, "…"));
  });
}

/** The line on which a block is named. */
export const lineOfBlock = ({ text }, block) => text.split(/\r\n?|\n/).findIndex((line) => line.trimEnd().endsWith(`^${block}`)) + 1;

function blockOf(note, block) {
  const line = lineOfBlock(note, block);
  const at = note.body.findIndex(({ line_start: from, line_end: to }) => from <= line && line <= to);
  if (!line || at === -1) return [];
  // A name on lines of its own is that of what stands before it.
  return [innermost(textOf([note.body[at]]).trim() === `^${block}` ? note.body[at - 1] : note.body[at], line)].filter(Boolean);
}

function innermost(node, line) {
  const inside = node?.children.find(({ tag, line_start: from, line_end: to }) => /^([uo]l|li)$/.test(tag) && from <= line && line <= to);
  const found = inside ? innermost(inside, line) : node;
  // An item stands in a list.
  return found?.tag === "li" && inside ? { ...node, children: [found] } : found;
}

function under(body, heading) {
  const wanted = heading.split("#").at(-1).trim().toLowerCase();
  const at = body.findIndex(({ tag, children }) => /^h\d$/.test(tag) && textOf(children).trim().toLowerCase() === wanted);
  const length = body.slice(at + 1).findIndex(({ tag }) => /^h\d$/.test(tag) && tag <= body[at].tag);
  return at === -1 ? [] : body.slice(at, length === -1 ? undefined : at + 1 + length);
}
