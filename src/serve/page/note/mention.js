// Makes a link of a note's name, where another note has it in its text.

import { api } from "../lib/api.js";
import { append, h } from "../lib/dom.js";
import { changed, offerUndo, sentence, toast } from "./change.js";

/** What holds no mention: code, links, tags of HTML, addresses, comments. */
const TAKEN = "`+[^`]*`+|!?\\[\\[.*?\\]\\]|!?\\[[^\\]]*\\](?:\\([^)]*\\)|\\[[^\\]]*\\])|<[a-z/!][^>]*>|\\w+:\\/\\/\\S+|%%.*?%%";
/** Shorter names are in every other line; the vault looks for none. */
const MIN_NAME_CHARS = 3;

const stem = (path) => path.split("/").at(-1).replace(/\.(md|markdown)$/, "");

/** What a link to a note says: its file's name, or its path where one of `found` has the same name. */
export function targetOf(path, found) {
  const isShared = found.some((other) => other.path !== path && stem(other.path ?? "") === stem(path));
  return isShared ? path.replace(/\.(md|markdown)$/, "") : stem(path);
}

/** The names by which a note is mentioned, the longest first. */
function names({ path, title, metadata }) {
  const aliases = [metadata?.aliases, metadata?.alias].flat(Infinity).filter((one) => typeof one === "string");
  const all = [stem(path), title, ...aliases.flatMap((text) => text.split(/[,\n]/))].map((name) => name.trim());
  return all.filter((name) => name.length >= MIN_NAME_CHARS).sort((one, other) => other.length - one.length);
}

/** A line with the first of the names in it as a link; nothing where it has none. */
export function linked(line, names, target) {
  const escaped = names.map((name) => name.replace(/[\\^$.*+?()[\]{}|/]/g, "\\$&"));
  const found = Array.from(line.matchAll(new RegExp(`${TAKEN}|(?<![\\p{L}\\p{N}_])(${escaped.join("|")})(?![\\p{L}\\p{N}_])`, "giu"))).find(([, name]) => name);
  if (!found) return undefined;
  const [written] = found;
  // In a table a bar ends the cell.
  const bar = line.trimStart().startsWith("|") ? "\\|" : "|";
  const link = written.toLowerCase() === target.toLowerCase() ? `[[${written}]]` : `[[${target}${bar}${written}]]`;
  return line.slice(0, found.index) + link + line.slice(found.index + written.length);
}

/** An item of the list of mentions, with a button that makes it a link to the note. */
export function linking(item, note, { path, line, title }) {
  const click = async ({ currentTarget: button }) => {
    button.disabled = true;
    try {
      const [{ text, hash }, { results }] = await Promise.all([api.text(path), api.find({ q: stem(note.path), kind: "note", limit: 20 })]);
      const now = linked(text.split(/\r?\n/)[line - 1] ?? "", names(note), targetOf(note.path, results));
      if (!now) throw new Error("The line does not have the name any more.");
      const written = await api.write({ path, if_hash: hash, line_start: line, line_end: line, text: `${now}\n` });
      offerUndo(`Linked in ${path}`, written.checkpoint_id);
      changed();
    } catch (error) {
      button.disabled = false;
      toast(`Not linked: ${sentence(error)}`, undefined, { failed: true });
    }
  };
  return append(item, h("button", { type: "button", class: "quiet", "aria-label": `Link it: ${title}, line ${line}`, on: { click } }, "Link it"));
}
