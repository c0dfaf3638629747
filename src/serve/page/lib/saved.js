// Saved searches: notes with `type: search` and a `query`, wherever they are in the vault.

import { api } from "./api.js";
import { condition } from "./list.js";

const FOLDER = "notes/searches";
/** What no file is called on every system. */
const NO_NAME = /[\\/:*?"<>|#^[\]\p{Cc}]+/gu;

/** A file's name has 255 bytes at most; no character is cut in two. */
const MOST_BYTES = 200;
const cut = (name) => name.slice(0, new TextEncoder().encodeInto(name, new Uint8Array(MOST_BYTES)).read);

/** A name as that of a file. */
export const fileName = (name) => cut(name.replace(NO_NAME, " ").replace(/\s+/g, " ").trim().replace(/^\.+/, "")).trim() || "Untitled";

/** The saved searches by name: `{name, query}`. */
export async function savedSearches(signal) {
  const { results } = await api.search({ q: "type:search", mode: "keyword", limit: 100 }, signal);
  const saved = new Map(results.filter(({ metadata }) => typeof metadata.query === "string")
    .map(({ path, title, metadata }) => [path, { name: title, query: metadata.query }]));
  return [...saved.values()].sort((one, other) => one.name.localeCompare(other.name));
}

/** The query of a place of the search, with its filters as the conditions that they are. */
export function queryOf({ q = "", collection, tag, since, layer }) {
  const filters = [["in", collection], ["tag", tag], ["after", since], ["layer", layer]].filter(([, value]) => value);
  return [...filters.map(([key, value]) => condition(key, value)), q.trim()].filter(Boolean).join(" ");
}

/** Writes a saved search. A string of JSON is one of YAML. */
export function saveSearch(name, query) {
  const text = `---\ntype: search\ntitle: ${JSON.stringify(name)}\nquery: ${JSON.stringify(query)}\n---\n`;
  return api.make({ path: `${FOLDER}/${fileName(name)}.md`, text });
}
