// Who else may read: the agents, and what each was given. One of them, when the address names it.

import { answered } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { byId, count, failure, h, replace } from "../lib/dom.js";
import { allowSwitch, facts, makeAgent, reads, warnings } from "./agent.js";
import { addAgent } from "./agent-forms.js";
import { address, go, route } from "../lib/route.js";

let view;

export function show(main) {
  view = { place: h("div", { class: "agents" }) };
  replace(main, view.place);
  answers.begin();
}

/** The route changed within this view. */
export function update(now, before) {
  if (now.agent !== before.agent) move(before.agent);
}

/** Something has changed, and an agent may see less or more. */
export function changed() {
  answers.load({ quiet: true });
}

/** From one agent back to all; says no when all are shown. */
export function close() {
  if (route().view !== "agents" || !route().agent) return false;
  go({ agent: undefined });
  return true;
}

const answers = answered({
  ask() {
    const { agent: slug } = route();
    return slug ? api.agent(slug) : api.agents();
  },
  draw: (answer) => (route().agent ? one(answer) : all(answer)),
  fail(error, again) {
    view.agent = undefined;
    replace(view.place, title("Agents"), route().agent ? back() : "", failure(error, again));
  },
});

/** Shows what the address names now; `from`: the agent that was shown before. */
async function move(from) {
  if (await answers.load()) (byId(`agent-${from}`) ?? view.place.querySelector("h2")).focus();
}

const title = (text) => h("h2", { tabindex: -1 }, text);

function back() {
  return h("p", {}, h("a", { class: "quiet", href: address({ view: "agents" }) }, "‹ All agents"));
}

/** What there is of one agent; what is written into its fields stays. */
function one(agent) {
  if (view.agent?.slug === agent.slug && view.agent.body.isConnected) return view.agent.paint(agent);
  view.agent = makeAgent(agent, changed);
  replace(view.place, back(), title(agent.name), view.agent.body);
}

function all({ agents }) {
  view.agent = undefined;
  const summary = agents.length
    ? `${count(agents.length, "agent")}. Its page in agents/ says what it may read; changes take effect at once.`
    : "No agents yet. An agent that you add gets a token, and reads only what you allow.";
  replace(view.place,
    h("div", { class: "agents-head" }, title("Agents"),
      h("button", { type: "button", id: "add-agent", on: { click: () => addAgent(changed) } }, "Add an agent")),
    h("p", { class: "hint" }, summary),
    h("ul", { class: "cards", "aria-label": "Agents" }, agents.map(card)));
}

function card(agent) {
  return h("li", { class: "card" },
    h("h3", {}, h("a", { id: `agent-${agent.slug}`, href: address({ view: "agents", agent: agent.slug }) }, agent.name)),
    h("p", { class: "reads" }, reads(agent)),
    warnings(agent),
    allowSwitch(agent, changed),
    facts(agent));
}
