// Summaries of conversations: what was decided, when, and what is to be done, each line with the turns that it was made of.

import { answerView, doButton, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite } from "../lib/cited.js";
import { count, h, replace, when } from "../lib/dom.js";
import { address, go, route } from "../lib/route.js";
import { sections } from "./summary-lines.js";

const FIRST = 50;

let said;

export const view = answerView({
  title: "Summaries",
  params: ["all", "of"],
  begin: () => (said = h("div", { class: "hint", role: "status" })),
  ask() {
    const { all, of } = route();
    return api.summaries({ of, all: Boolean(all) || undefined, limit: FIRST });
  },
  draw: list,
});

function list({ summaries, cut = false }, place) {
  const { all, of } = route();
  const every = h("input", { type: "checkbox", id: "summaries-all", checked: Boolean(all), on: { change: () => go({ all: every.checked ? "1" : undefined }, { replace: true }) } });
  const make = doButton("summaries-make", "Make them now", said, async () => {
    const { made, kept = [] } = await api.makeSummaries();
    await view.load();
    return `${count(made.length, "summary", "summaries")} made${kept.length ? `, ${kept.length} unchanged` : ""}.`;
  });
  replace(place,
    heading("Summaries",
      of ? h("a", { class: "quiet", href: address({ ...route(), of: undefined }) }, "‹ All summaries")
        : h("span", { class: "tick" }, every, h("label", { for: "summaries-all" }, "Include older ones")), make),
    said,
    summaries.length > 0 && h("p", { class: "summary" }, `${cut ? "The first " : ""}${count(summaries.length, "conversation")}`),
    summaries.map(one),
    !summaries.length && h("p", { class: "hint" },
      "The program summarises a conversation when it has been quiet for a while. A summary is a file in summaries/; once you edit it, the program does not change it."));
}

function one({ path, of, title, at, turns, edited, old, made_by: by, sections: parts }) {
  const states = [edited && "edited by you", old && "the conversation has continued", by !== "rules" && `by ${by}`].filter(Boolean);
  return h("details", { class: "summary-of", open: Boolean(route().of) },
    h("summary", {}, h("span", { class: "fact-name" }, title.replace(/^Summary: /, "")), " ", h("span", { class: "hint" }, count(turns, "turn"), ", ", when(at)),
      states.map((state) => h("span", { class: "fact-state" }, ` ${state}`))),
    h("p", { class: "fact-more" }, cite(path), cite(of)),
    sections(parts));
}
