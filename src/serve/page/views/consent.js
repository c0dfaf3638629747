// Consent: an assistant from outside asks to be let in. The person sees who asks and where the answer goes, chooses what it may read, and sees
// at once how much that is.

import { api } from "../lib/api.js";
import { byId, count, debounced, failure, h, replace, say } from "../lib/dom.js";
import { collectionNames, fields, rulesOf, tick } from "./agent-forms.js";

/** What an assistant that is new may read, before the person says otherwise. */
const NEW = { collections: ["*"], exclude_tags: [], paths: [], write_mode: "off", can_suggest: false, write_collections: [] };

/** Shows what is asked, in place of all else. */
export async function showConsent() {
  const place = byId("login");
  byId("app").hidden = true;
  place.hidden = false;
  document.title = "Let an assistant in? – My memory";
  const frame = (...children) => replace(place, h("main", { class: "login consent" }, children));
  const query = location.search.slice(1);
  try {
    const asked = await api.askedConsent(query);
    frame(...(asked.problem ? refused(asked) : form(asked, query, await collectionNames())));
    place.querySelector("h1").focus();
  } catch (error) {
    if (error.status !== 401) frame(h("h1", { tabindex: -1 }, "This cannot be let in"), failure(error));
  }
}

/** Whose request it is, as far as that is known. */
function who({ name, published_by: host, redirect_host: to, redirect }) {
  return [
    h("p", {}, host ? ["It is published by ", h("strong", {}, host), "."] : ["It calls itself ", h("strong", {}, name), "; nobody has checked that."]),
    h("p", {}, "Your answer goes to ", h("strong", { title: redirect }, to), ". Let it in only if you have just asked for this there."),
  ];
}

function refused(asked) {
  return [
    h("h1", { tabindex: -1 }, `${asked.name} cannot be let in`), who(asked),
    h("p", { class: "failure" }, asked.problem),
    h("button", { type: "button", on: { click: () => location.assign(asked.back) } }, `Back to ${asked.redirect_host}`),
  ];
}

function form(asked, query, names) {
  const said = h("div", {});
  const sees = h("div", { class: "sees", id: "consent-sees", role: "status", "aria-live": "polite" });
  const decide = async (decision) => {
    for (const button of made.querySelectorAll("button")) button.disabled = true;
    try {
      const { address } = await api.decideConsent({ query, ...decision });
      say("Going back to the assistant");
      // A program that it opens leaves the page where it is.
      replace(said, h("p", { class: "hint" }, "Done. If this page stays, you can close it."));
      location.assign(address);
    } catch (error) {
      for (const button of made.querySelectorAll("button")) button.disabled = false;
      replace(said, failure(error));
    }
  };
  const rules = () => ({ can_read_user_memory: new FormData(made).has("allow"), ...rulesOf(made) });
  const button = (id, text, click, kind) => h("button", { type: "button", id, class: kind, on: { click } }, text);
  const submit = (event) => {
    event.preventDefault();
    decide({ agent: { name: new FormData(made).get("name"), rules: rules() } });
  };
  let latest = 0;
  const look = async () => {
    latest += 1;
    const mine = latest;
    const seen = await api.previewAgent(rules()).catch((error) => ({ error }));
    if (mine === latest) replace(sees, seen.error ? failure(seen.error) : sight(seen));
  };
  const soon = debounced(200, look);
  const made = h("form", { on: { submit, input: soon, change: soon } },
    asked.agent && h("div", { class: "card" },
      h("p", {}, "There is an agent ", h("strong", {}, asked.agent), " already, whose page says what it may read."),
      button("consent-existing", `Let it in as ${asked.agent}`, () => decide({ existing: asked.agent }))),
    h("label", { for: "agent-name" }, "Its name here"),
    h("input", { id: "agent-name", name: "name", required: true, maxlength: 60, autocomplete: "off", value: asked.name }),
    tick({ id: "agent-allow", name: "allow", checked: true }, "May read your memory"),
    fields(NEW, names), sees, said,
    h("div", { class: "row end wraps" },
      button("consent-deny", "Do not let it in", () => decide({})),
      h("button", { class: "primary", id: "consent-allow" }, "Let it in")));
  look();
  return [h("h1", { tabindex: -1 }, `Let ${asked.name} into your memory?`), who(asked), made,
    h("p", { class: "hint" }, "You can change this at any time under Agents. To take it back, remove the agent, or delete its page.")];
}

/** How much an assistant would see. */
function sight({ files, private: hidden, private_paths: paths, problems }) {
  if (problems.length) return problems.map((problem) => h("p", { class: "failure" }, problem));
  const never = hidden ? `never ${hidden === 1 ? "this" : "these"} ${count(hidden, "private one")}` : "you have no private ones";
  const more = hidden > paths.length ? h("li", {}, `and ${count(hidden - paths.length, "other")}`) : undefined;
  return [
    h("p", {}, h("strong", {}, `It would see ${count(files, "note")}`), `; ${never}.`),
    hidden > 0 && h("details", {}, h("summary", {}, "The private ones"), h("ul", { class: "because" }, paths.map((path) => h("li", {}, path)), more)),
  ];
}
