// Whether an agent sees a note, and why: asked of one agent, or of all.

import { api } from "../lib/api.js";
import { failure, h, replace } from "../lib/dom.js";
import { show } from "../note/change.js";
import { address, route } from "../lib/route.js";

/** A sentence of the vault's, in which names stand between backticks. */
function sentence(text) {
  return text.split(/`([^`]*)`/).map((part, at) => (at % 2 ? h("code", {}, part) : part));
}

const reasons = (because) => h("ul", { class: "because" }, because.map((one) => h("li", {}, sentence(one))));

/** A field for a note, and the answer for an agent; `again` asks anew what was asked last, as the answer may be another. */
export function explain({ slug, name }) {
  const field = h("input", { id: "explain", name: "what", required: true, autocomplete: "off", spellcheck: "false", placeholder: "notes/plan.md" });
  const answer = h("div", { class: "answer", role: "status" });
  let asked = 0;
  let last;
  const ask = async (what) => {
    asked += 1;
    last = what;
    const mine = asked;
    try {
      const { path, visible, because } = await api.explain(slug, what);
      if (mine !== asked) return;
      replace(answer,
        h("p", { class: visible ? "seen" : "hidden-from" }, h("strong", {}, `${name} ${visible ? "sees" : "does not see"} `),
          h("a", { href: address({ ...route(), note: path, lines: undefined }) }, path)),
        reasons(because));
    } catch (error) {
      if (mine === asked) replace(answer, failure(error));
    }
  };
  const submit = (event) => {
    event.preventDefault();
    ask(field.value.trim());
  };
  const section = h("section", {}, h("h3", {}, "What does it see?"),
    h("form", { class: "explain", on: { submit } },
      h("label", { for: "explain", class: "hint" }, "Path of a note, or hash of a passage"),
      h("div", { class: "row" }, field, h("button", {}, "Explain"))),
    answer);
  return { section, again: () => last && ask(last) };
}

/** Shows for a note which agents see it, and why. */
export async function whoSees(path) {
  const place = h("div", { class: "who", "aria-live": "polite" }, h("p", { class: "hint" }, "Checking …"));
  const made = show(h("dialog", { "aria-labelledby": "who-title" },
    h("h2", { id: "who-title" }, "Who can see this?"), h("p", { class: "cite" }, path), place,
    h("div", { class: "row end" },
      h("button", { type: "button", class: "primary", autofocus: true, on: { click: () => made.close() } }, "Close"))));
  try {
    const { agents } = await api.agents();
    const answers = await Promise.allSettled(agents.map(({ slug }) => api.explain(slug, path)));
    const seeing = answers.filter(({ value }) => value?.visible).length;
    const all = seeing ? `You, and ${seeing} of ${agents.length === 1 ? "one agent" : `${agents.length} agents`}.` : agents.length ? "Only you. No agent sees it." : "Only you. There are no agents.";
    replace(place, h("p", {}, all), h("ul", { class: "cards" }, agents.map((agent, at) => row(agent, answers[at], made))));
  } catch (error) {
    replace(place, failure(error));
  }
}

function row({ slug, name }, { value, reason }, dialog) {
  const link = h("a", { href: address({ view: "agents", agent: slug }), on: { click: () => dialog.close() } }, name);
  if (reason) return h("li", { class: "card" }, h("p", {}, link), failure(reason));
  return h("li", { class: "card" },
    h("p", { class: value.visible ? "seen" : "hidden-from" }, link, value.visible ? " sees it" : " does not see it"), reasons(value.because));
}
