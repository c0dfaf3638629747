// Who else may read: the agents, and what each was given. One of them, when the address names it.

import { answerView, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { byId, count, h, replace } from "../lib/dom.js";
import { allowSwitch, facts, makeAgent, reads, warnings } from "./agent.js";
import { addAgent } from "./agent-forms.js";
import { address, route } from "../lib/route.js";

/** The agent that is shown. */
let open;

export const view = answerView({
  title: "Agents",
  kind: "agents",
  params: ["agent"],
  frame() {
    open = undefined;
    return route().agent ? [back(), title(route().agent)] : heading("Agents");
  },
  moved: (now, before) => move(before.agent),
  form: () => null,
  ask() {
    const { agent: slug } = route();
    return slug ? api.agent(slug) : api.agents();
  },
  draw: (answer, place) => (route().agent ? one : all)(answer, place),
});

/** Shows what the address names now; `from`: the agent that was shown before. */
async function move(from) {
  if (await view.load()) (byId(`agent-${from}`) ?? view.place.querySelector("h2")).focus();
}

const title = (text) => h("h2", { tabindex: -1 }, text);

function back() {
  return h("p", {}, h("a", { class: "quiet", href: address({ view: "agents" }) }, "‹ All agents"));
}

/** What there is of one agent; what is written into its fields stays. */
function one(agent, place) {
  if (open?.slug === agent.slug && open.body.isConnected) return open.paint(agent);
  open = makeAgent(agent, view.changed);
  replace(place, back(), title(agent.name), open.body);
}

function all({ agents }, place) {
  open = undefined;
  const summary = agents.length
    ? `${count(agents.length, "agent")}. Its page in agents/ says what it may read; changes take effect at once.`
    : "No agents yet. An agent is a program that may search your notes, like Claude Code or Cursor. It gets a token, and reads only what you allow.";
  replace(place,
    heading("Agents", h("button", { type: "button", id: "add-agent", class: agents.length ? undefined : "primary", on: { click: () => addAgent(view.changed) } }, "Add an agent")),
    h("p", { class: "hint" }, summary),
    h("ul", { class: "cards", "aria-label": "Agents" }, agents.map(card)));
}

function card(agent) {
  return h("li", { class: "card" },
    h("h3", {}, h("a", { id: `agent-${agent.slug}`, href: address({ view: "agents", agent: agent.slug }) }, agent.name)),
    h("p", { class: "reads" }, reads(agent)),
    warnings(agent),
    allowSwitch(agent, view.changed),
    facts(agent));
}
