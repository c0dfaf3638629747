// Who the person is, as agents are told: what is said in any case, what was made of entries and facts, and USER.md.

import { answered } from "./answered.js";
import { api } from "./api.js";
import { readable } from "./cited.js";
import { byId, count, failure, h, replace } from "./dom.js";
import { address, route } from "./route.js";

let view;

export function show(main) {
  view = { place: h("div", { class: "ledger" }), said: h("p", { class: "hint", role: "status" }) };
  replace(main, view.place);
  answers.begin();
}

/** The route changed within this view. */
export function update() {}

/** Files have changed. */
export function changed() {
  answers.load({ quiet: true });
}

const answers = answered({
  ask: () => api.profile(),
  draw: list,
  fail: (error, again) => replace(view.place, h("h2", { tabindex: -1 }, "Profile"), failure(error, again)),
});

function list({ overrides, user, profile, state, regenerate_after: after }) {
  const make = h("button", { type: "button", id: "profile-make", on: { click: () => makeNow(make) } }, "Make it now");
  const place = [user?.location_place, user?.timezone].filter(Boolean).join(", ");
  replace(view.place,
    h("div", { class: "agents-head" }, h("h2", { tabindex: -1 }, "Profile"), make),
    view.said,
    part("Said in any case", "profile/overrides.md", overrides, "Yours alone: what agents are told first, whole. Nothing but you writes it."),
    part(user?.name ? `You: ${user.name}` : "You", "USER.md", user && [place, user.text].filter(Boolean).join("\n\n"), "Your name, time zone and place, where you say them."),
    part("Made of entries and facts", state.path, profile, "Made by rules of your entries that count, and of facts under “Profile”; each sentence has its sources."),
    h("p", { class: "summary", id: "profile-state" }, statement(state, after)));
}

function part(title, path, text, hint) {
  const link = h("a", { class: "cite", href: address({ ...route(), note: path, lines: undefined }) }, path);
  return h("section", {}, h("h3", {}, title), text ? h("p", { class: "fact-more" }, link) : h("p", { class: "hint" }, hint),
    text && h("div", { class: "profile-text" }, readable(text.trim())));
}

function statement({ version, contributions, new: fresh, outdated, is_persons: isPersons }, after) {
  if (isPersons) return "You have edited it, so it is never written over.";
  if (!version) return "It was not made yet.";
  const next = outdated ? "something that it was made of has changed" : `${fresh} new of the ${after} after which it is made again`;
  return `Version ${version}, made of ${count(contributions, "line")}; ${next}.`;
}

async function makeNow(button) {
  button.disabled = true;
  try {
    const { checkpoint_id: checkpoint } = await api.makeProfile();
    view.said.textContent = checkpoint ? "Made anew." : "It says so already.";
    await answers.load();
  } catch (error) {
    replace(view.said, failure(error));
  } finally {
    const now = byId("profile-make");
    button.disabled = false;
    if (now) now.disabled = false;
  }
}
