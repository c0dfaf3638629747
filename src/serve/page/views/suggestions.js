// Edits that agents suggest for notes, in Review: each shown as a difference of words, accepted whole or by edit, or rejected, by button or key.

import { api } from "../lib/api.js";
import { append, count, failure, h, say, when } from "../lib/dom.js";
import { listen } from "../lib/keys.js";
import { address, route } from "../lib/route.js";
import { offerUndo } from "../note/change.js";

const TAGS = { "=": "span", "-": "del", "+": "ins" };

/** The suggestions as a part of the view, if there are any; `decided` is called after each decision. */
export function suggestionList(suggestions, decided) {
  if (!suggestions.length) return "";
  return h("section", { "aria-labelledby": "suggestions-title" },
    h("h3", { id: "suggestions-title" }, count(suggestions.length, "suggestion for a note", "suggestions for notes")),
    h("p", { class: "hint" }, "The notes are unchanged. Keys: ", h("kbd", {}, "a"), " accepts, ", h("kbd", {}, "h"), " accepts one edit of several, which ", h("kbd", {}, "↑"), " ", h("kbd", {}, "↓"), " choose, ", h("kbd", {}, "r"), " rejects."),
    h("ul", { class: "fact-list" }, suggestions.map((suggestion) => item(suggestion, decided))));
}

function item({ id, agent, at, path, why, moved_on: movedOn, hunks, problem }, decided) {
  const made = h("li", { class: "fact suggestion" });
  const decide = (accept, hunk) => async () => {
    made.querySelector(":scope > .failure")?.remove();
    try {
      const done = await api.decideSuggestions({ decisions: [{ id, accept, hunks: hunk && [hunk] }] });
      const text = accept ? `Accepted ${count(done.accepted, "edit")} of ${path}` : `Rejected the suggestion for ${path}`;
      say(text);
      offerUndo(text, done.checkpoint_ids);
      decided(made);
    } catch (error) {
      append(made, failure(error));
    }
  };
  const button = (key, text, click, kind) =>
    h("button", { type: "button", class: kind, id: `${key}-${id}`, "data-key": key[0], "aria-keyshortcuts": key[0], on: { click } }, text);
  return append(made,
    h("p", { class: "fact-line" }, noteLink(path, undefined, path), h("span", { class: "fact-value" }, why)),
    h("p", { class: "fact-more hint" }, `${agent}, `, when(at)),
    hunks.map((hunk, index) => h("div", { class: "hunk", id: `hunk${index + 1}-${id}`, role: "group", tabindex: -1, "aria-label": `Edit ${index + 1} of ${hunks.length}` },
      h("p", { class: "words" }, hunk.diff.map(({ change, text }) => h(TAGS[change], {}, text))),
      h("div", { class: "row wraps" },
        hunk.line ? noteLink(path, hunk.line, `Line ${hunk.line}`)
          : h("span", { class: "fact-state" }, `${movedOn ? "The note has moved on: this" : "This"} text is not in it exactly once`),
        hunks.length > 1 && hunk.line && button(`h${index + 1}`, "Accept this edit", decide(true, index + 1))))),
    problem && h("p", { class: "fact-state" }, problem),
    h("div", { class: "row wraps" },
      !problem && button("a", hunks.length > 1 ? "Accept all" : "Accept", decide(true), "primary"),
      button("r", "Reject", decide(false))));
}

function noteLink(note, line, text) {
  return h("a", { class: "cite", href: address({ ...route(), note, lines: line && `${line}-${line}` }) }, text);
}

/** Presses a button of the item of its kind with the focus, else of the first. */
export const press = (kind, key) => () => {
  if (route().view !== "review" || route().note) return false;
  const focus = document.activeElement;
  const place = (key === "h" && focus?.closest(".hunk")) || focus?.closest(`.${kind}`) || document.querySelector(`.${kind}`);
  const button = place?.querySelector(`[data-key="${key}"]`);
  button?.click();
  return Boolean(button);
};

for (const key of ["a", "h", "r"]) listen({ [key]: press("suggestion", key) });
