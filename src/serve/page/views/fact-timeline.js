// What became of a fact: when which value was true, as bars over one span of time, and the changes that say so.

import { cite } from "../lib/cited.js";
import { dayOf, h, hourOf, s, secondOf } from "../lib/dom.js";
import { factActions, shown, STATES } from "./fact.js";
import { go, route } from "../lib/route.js";

const DAY = 86_400_000;
const [WIDE, HIGH] = [1000, 12];

/** The span of time that the bars are drawn over, with a little room on both sides. */
function span(windows, now) {
  const times = windows.flatMap(({ valid_from: from, valid_to: to }) => [from, to]).filter(Boolean).map((time) => Date.parse(time));
  const first = Math.min(now, ...times);
  const last = Math.max(now, ...times);
  const room = Math.max((last - first) * 0.06, DAY);
  return { first: first - room, last: last + room };
}

function bar({ valid_from: from, valid_to: to, retracted }, { first, last }, now) {
  const at = (time) => ((time - first) / (last - first)) * WIDE;
  const begin = from ? at(Date.parse(from)) : 0;
  const end = to ? at(Date.parse(to)) : WIDE;
  // Beside it stands in words what it shows.
  return s("svg", { class: "window-bar", viewBox: `0 0 ${WIDE} ${HIGH}`, preserveAspectRatio: "none", "aria-hidden": "true" },
    s("rect", { class: "rest", x: 0, y: HIGH / 2 - 1, width: WIDE, height: 2 }),
    s("rect", { class: retracted ? "bar never" : "bar", x: begin.toFixed(1), y: 1, width: Math.max(end - begin, 6).toFixed(1), height: HIGH - 2 }),
    s("rect", { class: "now", x: at(now).toFixed(1), y: 0, width: 3, height: HIGH }));
}

/** A moment as people say it: the day, and the time where it is not a day's beginning. */
function moment(time) {
  const date = new Date(time);
  const isDay = date.getHours() + date.getMinutes() + date.getSeconds() + date.getMilliseconds() === 0;
  return h("time", { datetime: time, title: secondOf(time) }, isDay ? dayOf(time) : `${dayOf(time)} ${hourOf(time)}`);
}

function timeline(windows) {
  const now = Date.now();
  const drawn = span(windows, now);
  return h("ol", { class: "windows", "aria-label": "Values over time" }, windows.map((one) => {
    const { value, valid_from: from, valid_to: to, retracted } = one;
    const isNow = !retracted && (!from || Date.parse(from) <= now) && (!to || now < Date.parse(to));
    return h("li", { class: retracted ? "never" : isNow ? "is-now" : undefined },
      h("p", {}, h(retracted ? "s" : "b", { class: "fact-value" }, shown(value)),
        retracted && h("span", { class: "fact-state" }, " never true"), isNow && h("span", { class: "fact-state" }, " now")),
      bar(one, drawn, now),
      h("p", { class: "hint" }, from ? ["from ", moment(from)] : "always", to ? [" until ", moment(to)] : " until further notice"));
  }));
}

const CHANGES = {
  set: ({ old, new: now }) => (old === null || old === undefined ? ["set to ", shown(now)] : [shown(old), " → ", shown(now)]),
  corrected: ({ old, new: now }) => [h("s", {}, shown(old)), " was never true: ", shown(now)],
  was: ({ new: now }) => ["was ", shown(now)],
  "was-not": ({ old }) => ["was not ", h("s", {}, shown(old))],
  unset: ({ old }) => [shown(old), " is no longer true"],
  retracted: ({ old }) => [h("s", {}, shown(old)), " was never true"],
};

const BY = { owner: "you", edit: "an edit of the file", git: "a commit" };

function change(one) {
  const said = [one.from && ` from ${one.from}`, one.until && ` until ${one.until}`].filter(Boolean).join(",");
  return h("li", {},
    h("p", { class: "hint" }, moment(one.learned), `, by ${BY[one.by] ?? one.by}`, one.source && [", ", cite(one.source)]),
    h("p", { class: "fact-value" }, (CHANGES[one.change] ?? CHANGES.set)(one), said));
}

/** All that is known of a fact. */
export function showTimeline(fact, changed) {
  const { history = [], windows = [] } = fact;
  const known = h("input", { id: "fact-known", type: "date", on: { change: () => go({ known: known.value }, { replace: true }) } });
  known.value = route().known ?? "";
  const made = h("div", { class: `fact ${fact.state}` },
    h("p", { class: "fact-line now-value" },
      h("span", { class: "fact-value" }, shown(fact.value)),
      STATES[fact.state] && h("span", { class: "fact-state" }, STATES[fact.state]),
      (fact.tags ?? []).map((tag) => h("span", { class: "fact-tag" }, `#${tag}`))),
    h("p", { class: "fact-more" },
      cite(fact.citation),
      h("span", { class: "hint" }, fact.scope),
      !route().known && factActions(fact, changed)));
  made.fact = fact;
  return h("div", {}, made,
    h("div", { class: "filters" },
      h("span", { class: "tick" }, h("label", { for: "fact-known" }, "As known on"), known),
      route().known && h("button", { type: "button", id: "fact-known-now", on: { click: () => go({ known: undefined }, { replace: true }) } }, "Now")),
    h("section", {}, h("h3", {}, "When it was true"),
      windows.length ? timeline(windows) : h("p", { class: "hint" }, "No values recorded.")),
    h("section", {}, h("h3", {}, "Changes"),
      history.length ? h("ol", { class: "changes" }, history.toReversed().map(change)) : h("p", { class: "hint" }, "No changes recorded.")));
}
