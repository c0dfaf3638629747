// Who the person is, as agents are told: what is said in any case, what was made of entries and facts, and USER.md.

import { answerView, doButton, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite, readable } from "../lib/cited.js";
import { count, h, replace } from "../lib/dom.js";

const said = h("div", { class: "hint", role: "status" });

export const view = answerView({ title: "Profile", begin: () => replace(said), ask: () => api.profile(), draw: list });

function list({ overrides, user, profile, state, regenerate_after: after }, place) {
  const make = doButton("profile-make", "Make it now", said, async () => {
    const { checkpoint_id: checkpoint } = await api.makeProfile();
    await view.load();
    return checkpoint ? "Made again." : "Already up to date.";
  });
  const where = [user?.location_place, user?.timezone].filter(Boolean).join(", ");
  replace(place, heading("Profile", make), said,
    part("Always included", "profile/overrides.md", overrides, "Agents get this text first, unabridged. Only you write it: “Answer in English. I am a carpenter.”"),
    part(user?.name ? `You: ${user.name}` : "You", "USER.md", user && [where, user.text].filter(Boolean).join("\n\n"), "Your name, time zone and place."),
    part("Made from entries and facts", state.path, profile, "Rules make it from your active entries and the facts under “Profile”; each sentence cites its sources."),
    h("p", { class: "summary", id: "profile-state" }, statement(state, after)));
}

function part(title, path, text, hint) {
  return h("section", {}, h("h3", {}, title), text ? h("p", { class: "fact-more" }, cite(path)) : h("p", { class: "hint" }, hint),
    text && h("div", { class: "profile-text" }, readable(text.trim())));
}

function statement({ version, contributions, new: fresh, outdated, is_persons: isPersons }, after) {
  if (isPersons) return "You edited it, so the program never overwrites it.";
  if (!version) return "Not made yet.";
  const next = outdated ? "its sources have changed" : `${fresh} of ${after} new lines until it is made again`;
  return `Version ${version}, made from ${count(contributions, "line")}; ${next}.`;
}
