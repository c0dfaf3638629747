// What a day or a week was: what was written, captured and decided, each line with what it was made of.

import { answered } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { dayName, dayOf, failure, h, replace } from "../lib/dom.js";
import { address, go, route } from "../lib/route.js";
import { sections } from "./summary-lines.js";

let view;

export function show(main) {
  view = { place: h("div", { class: "ledger" }) };
  replace(main, view.place);
  answers.begin();
}

/** The route changed within this view. */
export function update(now, before) {
  if (now.day !== before.day || now.week !== before.week) answers.load();
}

/** Files have changed. */
export function changed() {
  answers.load({ quiet: true });
}

const today = () => dayOf(Date.now());
/** What is asked for. */
const span = () => {
  const { day = today(), week } = route();
  return week ? { week: day } : { day };
};

const answers = answered({
  ask: () => api.digest(span()),
  draw: one,
  fail: (error, again) => replace(view.place, h("h2", { tabindex: -1 }, "Digest"), form(), failure(error, again)),
});

/** The day before, or after. */
function moved(step) {
  const { day = today(), week } = route();
  const date = new Date(`${day}T12:00:00`);
  date.setDate(date.getDate() + step * (week ? 7 : 1));
  return dayOf(date);
}

function form() {
  const { day = today(), week } = route();
  const date = h("input", { id: "digest-day", type: "date", "aria-label": "Day", on: { change: () => go({ day: date.value || undefined }, { replace: true }) } });
  date.value = day;
  const whole = h("input", { type: "checkbox", id: "digest-week", checked: Boolean(week), on: { change: () => go({ week: whole.checked ? "1" : undefined }, { replace: true }) } });
  return h("div", { class: "filters" },
    h("button", { type: "button", id: "digest-before", "aria-label": week ? "Previous week" : "Previous day", on: { click: () => go({ day: moved(-1) }, { replace: true }) } }, "‹"),
    h("span", { class: "tick" }, date),
    h("button", { type: "button", id: "digest-after", "aria-label": week ? "Next week" : "Next day", on: { click: () => go({ day: moved(1) }, { replace: true }) } }, "›"),
    h("span", { class: "tick" }, whole, h("label", { for: "digest-week" }, "Whole week")));
}

function one({ name, first_day: first, last_day: last, sections: parts, file }) {
  const write = h("button", { type: "button", id: "digest-write", on: { click: () => writeNow(write) } }, "Write the file");
  view.said = h("p", { class: "hint", role: "status" });
  replace(view.place,
    h("div", { class: "agents-head" }, h("h2", { tabindex: -1 }, "Digest"), parts.length ? write : ""),
    form(),
    h("p", { class: "summary" }, first === last ? dayName(first) : `${name}: ${first} to ${last}`),
    view.said,
    file ? h("p", { class: "fact-more" }, h("a", { class: "cite", href: address({ ...route(), note: file, lines: undefined }) }, file)) : "",
    sections(parts),
    parts.length ? "" : h("p", { class: "hint" }, "Nothing was written or captured."));
}

async function writeNow(button) {
  button.disabled = true;
  try {
    const { path, written, reason } = await api.writeDigest(span());
    view.said.textContent = written ? `Wrote ${path}.` : `Did not write ${path}: ${reason}.`;
  } catch (error) {
    replace(view.said, failure(error));
  } finally {
    button.disabled = false;
  }
}
