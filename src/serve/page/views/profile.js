// Who the person is, as agents are told: what is said in any case, what was made of entries and facts, and USER.md.

import { answered } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { readable } from "../lib/cited.js";
import { byId, count, failure, h, replace } from "../lib/dom.js";
import { address, route } from "../lib/route.js";

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
    part("Always included", "profile/overrides.md", overrides, "Agents get this text first, unabridged. Only you write it."),
    part(user?.name ? `You: ${user.name}` : "You", "USER.md", user && [place, user.text].filter(Boolean).join("\n\n"), "Your name, time zone and place."),
    part("Made from entries and facts", state.path, profile, "Rules make it from your active entries and the facts under “Profile”; each sentence cites its sources."),
    h("p", { class: "summary", id: "profile-state" }, statement(state, after)));
}

function part(title, path, text, hint) {
  const link = h("a", { class: "cite", href: address({ ...route(), note: path, lines: undefined }) }, path);
  return h("section", {}, h("h3", {}, title), text ? h("p", { class: "fact-more" }, link) : h("p", { class: "hint" }, hint),
    text && h("div", { class: "profile-text" }, readable(text.trim())));
}

function statement({ version, contributions, new: fresh, outdated, is_persons: isPersons }, after) {
  if (isPersons) return "You edited it, so the program never overwrites it.";
  if (!version) return "Not made yet.";
  const next = outdated ? "its sources have changed" : `${fresh} of ${after} new lines until it is made again`;
  return `Version ${version}, made from ${count(contributions, "line")}; ${next}.`;
}

async function makeNow(button) {
  button.disabled = true;
  try {
    const { checkpoint_id: checkpoint } = await api.makeProfile();
    view.said.textContent = checkpoint ? "Made again." : "Already up to date.";
    await answers.load();
  } catch (error) {
    replace(view.said, failure(error));
  } finally {
    const now = byId("profile-make");
    button.disabled = false;
    if (now) now.disabled = false;
  }
}
