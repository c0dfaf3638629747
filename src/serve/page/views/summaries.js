// Summaries of conversations: what was decided, when, and what is to be done, each line with the turns that it was made of.

import { answered } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { sections } from "./summary-lines.js";
import { byId, count, failure, h, replace, when } from "../lib/dom.js";
import { address, go, route } from "../lib/route.js";

const FIRST = 50;

let view;

export function show(main) {
  view = { place: h("div", { class: "ledger" }) };
  replace(main, view.place);
  answers.begin();
}

/** The route changed within this view. */
export function update(now, before) {
  if (now.all !== before.all || now.of !== before.of) answers.load();
}

/** Files have changed. */
export function changed() {
  answers.load({ quiet: true });
}

const answers = answered({
  ask() {
    const { all, of } = route();
    return api.summaries({ of, all: Boolean(all) || undefined, limit: FIRST });
  },
  draw: list,
  fail: (error, again) => replace(view.place, h("h2", { tabindex: -1 }, "Summaries"), failure(error, again)),
});

function list({ summaries, cut = false }) {
  const { all, of } = route();
  const every = h("input", { type: "checkbox", id: "summaries-all", checked: Boolean(all), on: { change: () => go({ all: every.checked ? "1" : undefined }, { replace: true }) } });
  const make = h("button", { type: "button", id: "summaries-make", on: { click: () => makeNow(make) } }, "Make them now");
  view.said ??= h("p", { class: "hint", role: "status" });
  replace(view.place,
    h("div", { class: "agents-head" }, h("h2", { tabindex: -1 }, "Summaries"), make),
    of ? h("p", {}, h("a", { class: "quiet", href: address({ ...route(), of: undefined }) }, "‹ All summaries"))
      : h("div", { class: "filters" }, h("span", { class: "tick" }, every, h("label", { for: "summaries-all" }, "Include older ones"))),
    view.said,
    h("p", { class: "summary" }, summaries.length ? `${cut ? "The first " : ""}${count(summaries.length, "conversation")}` : ""),
    summaries.map(one),
    summaries.length ? "" : h("p", { class: "hint" },
      "The program summarises a conversation when it has been quiet for a while. A summary is a file in summaries/; once you edit it, the program does not change it."));
}

async function makeNow(button) {
  button.disabled = true;
  try {
    const { made, kept = [] } = await api.makeSummaries();
    view.said.textContent = `${count(made.length, "summary", "summaries")} made${kept.length ? `, ${kept.length} unchanged` : ""}.`;
    await answers.load();
  } catch (error) {
    replace(view.said, failure(error));
  } finally {
    const now = byId("summaries-make");
    button.disabled = false;
    if (now) now.disabled = false;
  }
}

function one(summary) {
  const { path, of, title, at, turns, edited, old, made_by: by, sections: parts } = summary;
  const states = [edited && "edited by you", old && "the conversation has continued", by !== "rules" && `by ${by}`].filter(Boolean);
  return h("details", { class: "summary-of", open: Boolean(route().of) },
    h("summary", {}, h("span", { class: "fact-name" }, title.replace(/^Summary: /, "")), " ", h("span", { class: "hint" }, count(turns, "turn"), ", ", when(at)),
      states.map((state) => h("span", { class: "fact-state" }, ` ${state}`))),
    h("p", { class: "fact-more" }, h("a", { class: "cite", href: address({ ...route(), note: path, lines: undefined }) }, path), h("a", { class: "cite", href: address({ ...route(), note: of, lines: undefined }) }, of)),
    sections(parts));
}
