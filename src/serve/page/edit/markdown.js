// Markdown in the editor: its colours, its keys, and what completes within it.

import { api } from "../lib/api.js";
import { targetOf } from "../note/mention.js";
import {
  EditorSelection, EditorView, GFM, HighlightStyle, Language, autocompletion, defineLanguageFacet, indentLess, indentMore, indentUnit, keymap,
  parser, syntaxHighlighting, syntaxTree, tags,
} from "/page/vendor/codemirror.js";

/** The length of texts that have colours: a paragraph is read anew at each key, and one of megabytes takes a second. */
const MOST_COLOURED = 400_000;
const WIKI_LINK = /^\[\[[^[\]\n]+\]\]/;
const HASHTAG = /^#[\p{L}\p{N}_/-]*[\p{L}_/-][\p{L}\p{N}_/-]*/u;
/** The marks that begin a line of a quote, a list or tasks. */
const ITEM = /^([\s>]*)(?:([-*+]|(\d{1,9})([.)]))(\s+)(\[.\]\s+)?)?/;
const LIST = /^[\s>]*([-*+]|\d{1,9}[.)])\s/;

const inline = (name, begin, pattern) => ({
  name,
  before: "Link",
  parse(context, next, at) {
    const before = at > context.offset ? String.fromCharCode(context.char(at - 1)) : " ";
    const found = next === begin.charCodeAt(0) && (begin === "[" || /[\s(]/.test(before)) && pattern.exec(context.slice(at, context.end));
    return found ? context.addElement(context.elt(name, at, at + found[0].length)) : -1;
  },
});

const frontmatter = {
  name: "Frontmatter",
  before: "HorizontalRule",
  parse(context, line) {
    if (context.lineStart !== 0 || !/^---\s*$/.test(line.text)) return false;
    while (context.nextLine()) {
      if (!/^(---|\.\.\.)\s*$/.test(line.text)) continue;
      context.nextLine();
      break;
    }
    context.addElement(context.elt("Frontmatter", 0, context.prevLineEnd()));
    return true;
  },
};

const notes = {
  defineNodes: [{ name: "Frontmatter", block: true, style: tags.meta }, { name: "WikiLink", style: tags.link }, { name: "Hashtag", style: tags.labelName }],
  parseInline: [inline("WikiLink", "[", WIKI_LINK), inline("Hashtag", "#", HASHTAG)],
  parseBlock: [frontmatter],
};

const highlighting = HighlightStyle.define([
  { tag: tags.heading, fontWeight: "650" },
  { tag: tags.heading1, fontSize: "1.35em" },
  { tag: tags.heading2, fontSize: "1.2em" },
  { tag: tags.strong, fontWeight: "700" },
  { tag: tags.emphasis, fontStyle: "italic" },
  { tag: tags.strikethrough, textDecoration: "line-through" },
  { tag: [tags.link, tags.url, tags.labelName], color: "var(--accent)" },
  { tag: tags.quote, color: "var(--soft)" },
  { tag: tags.monospace, fontFamily: "var(--code)", fontSize: "0.92em" },
  { tag: tags.meta, fontFamily: "var(--code)", fontSize: "0.92em", color: "var(--soft)" },
  { tag: [tags.processingInstruction, tags.contentSeparator, tags.comment], color: "var(--soft)" },
]);

const theme = EditorView.theme({
  "&": { color: "var(--ink)", backgroundColor: "var(--sheet)" },
  "&.cm-focused": { outline: "none" },
  ".cm-scroller": { fontFamily: "inherit", lineHeight: "1.6" },
  ".cm-content": { caretColor: "var(--accent)", padding: "12px 0 40vh" },
  ".cm-line": { padding: "0 16px" },
  ".cm-fresh": { backgroundColor: "var(--mark)", color: "var(--on-mark)" },
  ".cm-tooltip": { backgroundColor: "var(--sheet)", color: "var(--ink)", border: "1px solid var(--field-line)", borderRadius: "6px", maxWidth: "calc(100vw - 24px)" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul": { fontFamily: "inherit", maxWidth: "100%" },
  ".cm-tooltip.cm-tooltip-autocomplete > ul > li": { padding: "3px 8px", lineHeight: "1.4", minHeight: "24px" },
  ".cm-tooltip-autocomplete ul li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { fontStyle: "normal", opacity: "1", marginLeft: "1em" },
});

/** Puts a mark on both sides of what is selected, or takes it away. */
const wrap = (mark) => ({ state, dispatch }) => {
  const long = mark.length;
  dispatch(state.update(state.changeByRange(({ from, to, anchor, head }) => {
    const is = from >= long && state.sliceDoc(from - long, from) === mark && state.sliceDoc(to, to + long) === mark;
    const by = is ? -long : long;
    return {
      changes: is ? [{ from: from - long, to: from }, { from: to, to: to + long }] : [{ from, insert: mark }, { from: to, insert: mark }],
      range: EditorSelection.range(anchor + by, head + by),
    };
  }), { scrollIntoView: true, userEvent: "input" }));
  return true;
};

/** Makes what is selected a link; the address is what comes next. */
function link({ state, dispatch }, address = "") {
  dispatch(state.update(state.changeByRange(({ from, to }) => {
    const text = state.sliceDoc(from, to);
    const at = from + (text ? text.length + 3 + address.length + Number(Boolean(address)) : 1);
    return { changes: { from, to, insert: `[${text}](${address})` }, range: EditorSelection.cursor(at) };
  }), { scrollIntoView: true, userEvent: "input" }));
  return true;
}

function within(state, at, names) {
  for (let node = syntaxTree(state).resolveInner(at, -1); node; node = node.parent) if (names.test(node.name)) return true;
  return false;
}

/** Begins the next item of a list, of tasks or of a quote; an empty item ends them. */
function nextItem({ state, dispatch }) {
  const { main, ranges } = state.selection;
  const line = state.doc.lineAt(main.head);
  const [marks, indent, bullet, number, dot, gap, box] = ITEM.exec(line.text);
  if (!marks.trim() || !main.empty || ranges.length > 1 || main.head < line.from + marks.length || within(state, main.head, /Code/)) return false;
  const isEmpty = !line.text.slice(marks.length).trim();
  const next = `\n${indent}${number ? Number(number) + 1 + dot : bullet ?? ""}${gap ?? ""}${box ? "[ ] " : ""}`;
  const change = isEmpty ? { from: line.from, to: line.to } : { from: main.head, insert: next };
  dispatch(state.update({ changes: change, selection: { anchor: isEmpty ? line.from : main.head + next.length }, scrollIntoView: true, userEvent: "input" }));
  return true;
}

/** Tab goes on through the page, but for lists. */
const inList = (act) => (view) => view.state.selection.ranges.some(({ head }) => LIST.test(view.state.doc.lineAt(head).text)) && act(view);

const pasting = EditorView.domEventHandlers({
  paste(event, view) {
    const text = event.clipboardData?.getData("text/plain").trim() ?? "";
    const { from, to, empty } = view.state.selection.main;
    if (empty || !/^https?:\/\/[^\s()]+$/.test(text) || view.state.sliceDoc(from, to).includes("\n")) return false;
    event.preventDefault();
    return link(view, text);
  },
});

/** What is found by name, as what completes `[[` or `#`. */
async function complete(context) {
  const tag = context.matchBefore(/(?<=^|[\s(])#[\p{L}\p{N}_/-]+$/u);
  const name = context.matchBefore(/\[\[[^[\]\n|]*$/);
  if ((!tag && !name) || within(context.state, context.pos, /Code|URL/)) return null;
  const from = tag ? tag.from + 1 : name.from + 2;
  const q = context.state.sliceDoc(from, context.pos);
  const { results } = await api.find({ q, kind: tag ? "tag" : q.includes("#") ? "heading" : "note", limit: 20 }).catch(() => ({ results: [] }));
  const ends = !tag && context.state.sliceDoc(context.pos, context.pos + 2) !== "]]" ? "]]" : "";
  const option = ({ kind, path, title, tag: word }) => {
    if (kind === "tag") return { label: word ?? title, apply: word ?? title };
    return { label: title, detail: path, apply: `${targetOf(path, results)}${kind === "heading" ? `#${title}` : ""}${ends}` };
  };
  return results.length ? { from, options: results.map(option), filter: false } : null;
}

/** All that makes the editor one of Markdown. */
export function markdown(text) {
  const language = new Language(defineLanguageFacet(), parser.configure([GFM, notes]), [], "markdown");
  const indent = /^( {2,4}|\t)(?=[-*+] |\d)/m.exec(text)?.[1] ?? "    ";
  return [
    text.length < MOST_COLOURED ? [language, syntaxHighlighting(highlighting)] : [], theme, indentUnit.of(indent), pasting,
    autocompletion({ override: [complete], icons: false }),
    keymap.of([
      { key: "Mod-b", run: wrap("**") }, { key: "Mod-i", run: wrap("_") }, { key: "Mod-k", run: (view) => link(view) },
      { key: "Enter", run: nextItem }, { key: "Tab", run: inList(indentMore), shift: inList(indentLess) },
    ]),
    EditorView.clipboardInputFilter.of((pasted) => pasted.replace(/\r\n?/g, "\n")),
  ];
}
