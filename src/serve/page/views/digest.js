// What a day or a week was: what was written, captured and decided, each line with what it was made of.

import { answerView, doButton, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite } from "../lib/cited.js";
import { dayName, dayOf, h, replace } from "../lib/dom.js";
import { go, route } from "../lib/route.js";
import { sections } from "./summary-lines.js";

const today = () => dayOf(Date.now());
/** What is asked for. */
const span = () => {
  const { day = today(), week } = route();
  return week ? { week: day } : { day };
};

export const view = answerView({
  title: "Digest", params: ["day", "week"], frame: () => [heading("Digest"), form()], ask: () => api.digest(span()), draw: one,
});

/** A day so many days later. */
export function later(day, days) {
  const date = new Date(`${day}T12:00:00`);
  date.setDate(date.getDate() + days);
  return dayOf(date);
}

function form() {
  const { day = today(), week } = route();
  const to = (changes) => go(changes, { replace: true });
  const date = h("input", { id: "digest-day", type: "date", "aria-label": "Day", value: day, on: { change: () => to({ day: date.value || undefined }) } });
  const whole = h("input", { type: "checkbox", id: "digest-week", checked: Boolean(week), on: { change: () => to({ week: whole.checked ? "1" : undefined }) } });
  const step = (id, text, by) => h("button", { type: "button", id: `digest-${id}`, "aria-label": `${by < 0 ? "Previous" : "Next"} ${week ? "week" : "day"}`,
    on: { click: () => to({ day: later(day, by * (week ? 7 : 1)) }) } }, text);
  return h("div", { class: "filters" }, step("before", "‹", -1), h("span", { class: "tick" }, date), step("after", "›", 1),
    h("span", { class: "tick" }, whole, h("label", { for: "digest-week" }, "Whole week")));
}

function one({ name, first_day: first, last_day: last, sections: parts, file }, place) {
  const said = h("div", { class: "hint", role: "status" });
  const write = doButton("digest-write", "Write the file", said, async () => {
    const { path, written, reason } = await api.writeDigest(span());
    return written ? `Wrote ${path}.` : `Did not write ${path}: ${reason}.`;
  });
  replace(place, heading("Digest", parts.length && write), form(),
    h("p", { class: "summary" }, first === last ? dayName(first) : `${name}: ${first} to ${last}`),
    said, file && h("p", { class: "fact-more" }, cite(file)), sections(parts),
    !parts.length && h("p", { class: "hint" }, "Nothing was written or captured. A digest lists what you wrote and decided on a day, each line with its source, like “Decided: loans go into one spreadsheet”."));
}
