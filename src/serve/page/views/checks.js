// Still true? The entries and facts whose day has come, in Review: yes, changed or gone, by button or key.

import { api } from "../lib/api.js";
import { append, count, failure, h, say } from "../lib/dom.js";
import { listen } from "../lib/keys.js";
import { address, route } from "../lib/route.js";
import { offerUndo } from "../note/change.js";
import { press } from "./suggestions.js";

const SAID = { yes: "Confirmed", changed: "Changed", gone: "Ended" };

/** The questions as a part of the view, if there are any; `ask` asks for a text below one, and `decided` is called after each answer. */
export function checkList(checks, ask, decided) {
  if (!checks.length) return "";
  return h("section", { "aria-labelledby": "checks-title" },
    h("h3", { id: "checks-title" }, `Still true? ${count(checks.length, "line")}`),
    h("p", { class: "hint" }, "What was true stays as history. Keys: ", h("kbd", {}, "y"), " yes, ", h("kbd", {}, "c"), " changed, ", h("kbd", {}, "g"), " gone."),
    h("ul", { class: "fact-list" }, checks.map((check) => item(check, ask, decided))));
}

function item({ id, scope, kind, text, citation, since, confirmed }, ask, decided) {
  const made = h("li", { class: "fact check" });
  const tell = async (answer, now) => {
    made.querySelector(":scope > .failure")?.remove();
    try {
      const done = await api.answerCheck({ id, scope, answer, text: now });
      say(`${SAID[answer]}: ${text}`);
      offerUndo(`${SAID[answer]}: ${text}`, done.checkpoint_ids);
      decided(made);
    } catch (error) {
      append(made, failure(error));
    }
  };
  const button = (key, label, click) =>
    h("button", { type: "button", id: `check-${key}-${scope}-${id}`, "data-key": key, "aria-keyshortcuts": key, on: { click } }, label);
  const [note, place = ""] = citation.split("#");
  const [first, last = first] = place.match(/\d+/g) ?? [];
  return append(made,
    h("p", { class: "fact-line" },
      h("a", { class: "cite", href: address({ ...route(), note, lines: first && `${first}-${last}` }) }, id),
      h("span", { class: "fact-value" }, `[${kind}] ${text}`)),
    h("p", { class: "fact-more hint" }, confirmed ? `last confirmed ${confirmed}` : since ? `known since ${since}` : "never confirmed",
      scope === "user" ? "" : `, ${scope}`),
    h("div", { class: "row wraps" },
      button("y", "Yes", () => tell("yes")),
      button("c", "Changed", () => ask(made, "True now", text, (now) => tell("changed", now))),
      button("g", "Gone", () => tell("gone"))));
}

for (const key of ["y", "c", "g"]) listen({ [key]: press("check", key) });
