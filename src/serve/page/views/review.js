// Review: what agents and models propose, one after the other: accept, edit, reject, or all that one note gave.

import { answerView, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { append, count, failure, h, replace, say } from "../lib/dom.js";
import { choice, entryLines, memories } from "./entries.js";
import { address, route } from "../lib/route.js";
import { checkList } from "./checks.js";
import { suggestionList } from "./suggestions.js";

const VERDICTS = {
  new: "",
  duplicate: "says the same as",
  contradicts: "contradicts",
  supersedes: "replaces",
};

export const view = answerView({
  title: "Review", params: ["agent"], ask: () => api.proposals({ agent: route().agent }), draw: list,
});

const openForm = () => view.place.querySelector(".fact-form");

function list({ proposals, suggestions = [], checks = [], more = 0, degraded }, place) {
  const next = (made) => {
    // Another line is being written about.
    if (openForm()) return made.remove();
    view.load();
    place.querySelector("h2")?.focus();
  };
  const agents = proposals.map(({ entry }) => entry.agent).filter(Boolean);
  replace(place, heading("Review"),
    suggestionList(suggestions, next),
    checkList(checks, ask, next),
    h("div", { class: "filters" }, choice("review-agent", "Memory", [["", "All memories"], ...memories(agents).slice(1)], route().agent, "agent")),
    h("p", { class: "summary" }, proposals.length ? `${count(proposals.length, "proposal")}${more ? `; ${more.toLocaleString()} more are waiting` : ""}` : "No proposals"),
    degraded ? h("p", { class: "hint degraded" }, degraded) : "",
    h("ul", { class: "fact-list", "aria-label": "Proposals" }, proposals.map(item)),
    proposals.length ? "" : h("p", { class: "hint" }, "Agents and models propose entries here, like “[preference] Prefers tabs”. A proposal has no effect until you accept it. Agents may propose once you ",
      h("a", { href: address({ view: "agents" }) }, "add one"), "."));
}

function item(proposal) {
  const { entry, verdict, known, quotes } = proposal;
  const made = h("li", { class: "fact proposal" }, ...entryLines(entry));
  const decide = async (what, decision) => {
    made.querySelector(":scope > .failure")?.remove();
    try {
      const done = await api.decide({ decisions: [{ agent: entry.agent, ...decision }] });
      say(`${what}: ${count(done.accepted.length + done.rejected.length, "proposal")}`);
      // Another proposal is being written about.
      if (openForm()) return made.remove();
      view.load();
      view.place.querySelector("h2")?.focus();
    } catch (error) {
      append(made, failure(error));
    }
  };
  const button = (id, text, click, kind) => h("button", { type: "button", id: `${id}-${entry.id}`, class: kind, on: { click } }, text);
  const source = entry.sources?.[0]?.split("#")[0];
  append(made,
    known ? h("div", { class: "diff" },
      h("p", { class: "hint" }, `It ${VERDICTS[verdict]}:`),
      h("p", {}, h("del", {}, `[${known.kind}] ${known.text}`)),
      h("p", {}, h("ins", {}, `[${entry.kind}] ${entry.text}`))) : "",
    h("div", {}, quotes.map(({ citation, text }) => h("blockquote", { class: "hint" }, text ?? `The lines of ${citation} no longer exist.`))),
    h("div", { class: "row wraps" },
      button("accept", "Accept", () => decide("Accepted", { id: entry.id, accept: true }), "primary"),
      known && verdict === "contradicts" && button("replace", "Accept and replace", () => decide("Accepted", { id: entry.id, accept: true, supersedes: known.id })),
      button("edit", "Edit", () => ask(made, "New text", entry.text, (text) => decide("Accepted", { id: entry.id, accept: true, text }), "Accept")),
      button("reject", "Reject", () => ask(made, "Why", "", (reason) => decide("Rejected", { id: entry.id, accept: false, reason: reason || undefined }), "Reject")),
      source && button("accept-all", "Accept all from this note", () => decide("Accepted", { all_of: source, accept: true }), "quiet"),
      source && button("reject-all", "Reject all from this note", () => decide("Rejected", { all_of: source, accept: false }), "quiet")));
  return made;
}

/** Asks for a text in a line below a proposal or a question, with a button that says what it does. */
function ask(at, label, value, then, does = "Save") {
  openForm()?.remove();
  const text = h("input", { id: "review-text", "aria-label": label, placeholder: label, autocomplete: "off", value });
  const form = h("form", { class: "fact-form", on: { submit: (event) => {
    event.preventDefault();
    form.remove();
    then(text.value.trim());
  } } },
    h("div", { class: "row" }, text),
    h("div", { class: "row" },
      h("button", { type: "submit", class: "primary" }, does),
      h("button", { type: "button", on: { click: () => { form.remove(); view.load({ quiet: true }); } } }, "Cancel")));
  append(at, form);
  text.focus();
}
