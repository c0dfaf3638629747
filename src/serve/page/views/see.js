// Today, or another day: a month to choose from, what was saved, the week's digest, what agents read, and how the vault is.

import { answerView, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { cite } from "../lib/cited.js";
import { byId, count, dayName, dayOf, h, replace, when } from "../lib/dom.js";
import { address, go, route } from "../lib/route.js";
import { save } from "../note/change.js";
import { conflictList } from "./conflicts.js";
import { later } from "./digest.js";
import { sections } from "./summary-lines.js";

/** Notes of a day that are listed. */
const MOST = 100;
const WEEK = 7;
/** Requests of an agent that are looked through. */
const LOGGED = 1000;
const NAMES = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];

const today = () => dayOf(Date.now());
const chosen = () => (/^\d{4}-\d\d-\d\d$/.test(route().day ?? "") ? route().day : today());
const conflicts = conflictList();

export const view = answerView({
  title: "Today",
  kind: "ledger see",
  params: ["day"],
  async ask() {
    const day = chosen();
    const grid = weeks(day);
    const [first, last] = [grid[0], grid.at(-1)];
    const [{ days }, notes, digest, read, status] = await Promise.all([
      api.days(first, last), api.notes({ since: day, until: day, limit: MOST }), api.digest({ week: day }), reads(day), api.status(),
    ]);
    return { day, grid, days, notes, digest, read, status };
  },
  draw,
  moved(now, before) {
    const from = document.activeElement?.closest?.(".month");
    view.load().then((drawn) => drawn && from && byId(`day-${chosen()}`)?.focus());
    conflicts.refresh();
  },
});

/** The days of the weeks that a month is in. */
function weeks(day) {
  const first = `${day.slice(0, 7)}-01`;
  const start = later(first, -((new Date(`${first}T12:00:00`).getDay() + 6) % WEEK));
  const days = Array.from({ length: 6 * WEEK }, (_, at) => later(start, at));
  const isNeeded = (at) => days.slice(at, at + WEEK).some((one) => one.startsWith(day.slice(0, 7)));
  return days.filter((_, at) => isNeeded(at - (at % WEEK)));
}

/** How often each agent asked on the seven days up to one, and how many places it was given. */
async function reads(day) {
  const { agents } = await api.agents();
  const logs = await Promise.all(agents.map(({ slug }) => api.agentLog(slug, LOGGED)));
  const days = Array.from({ length: WEEK }, (_, at) => later(day, -at));
  return days.flatMap((one) => agents.map(({ slug, name }, at) => {
    const those = logs[at].entries.filter((entry) => dayOf(entry.at) === one);
    return { day: one, slug, name, asked: those.length, given: those.reduce((sum, { given = [] }) => sum + given.length, 0) };
  })).filter(({ asked }) => asked > 0);
}

function draw({ day, grid, days, notes, digest, read, status }, place) {
  const isToday = day === today();
  const known = new Map(days.map((one) => [one.day, one]));
  const daily = known.get(day)?.daily;
  const name = dayName(day);
  const part = (title, ...children) => h("section", {}, h("h3", {}, title), children);
  conflicts.refresh();
  replace(place, heading(name),
    h("div", { class: "see-day" }, month(day, grid, known),
      part(isToday ? `Today, ${day}` : name,
        daily ? h("p", {}, h("a", { href: address({ ...route(), note: daily }) }, "The daily note")) : h("p", { class: "hint" }, `No daily note: one is called ${day}.md.`),
        notes.total ? h("ul", { class: "note-list", "aria-label": "Saved" }, notes.notes.filter(({ path }) => path !== daily).map(saved))
          : [h("p", { class: "hint" }, "Nothing was saved."), isToday && h("p", {}, h("button", { type: "button", id: "see-save", on: { click: save } }, "Save the first thing"))],
        notes.total > MOST && h("p", { class: "hint" }, `${count(notes.total - MOST, "more note")}, in the `, h("a", { href: address({ view: "digest", day }) }, "digest")))),
    part(`Week ${digest.name.split("-W").at(-1)}`,
      digest.sections.length ? h("details", {}, h("summary", {}, `What was written and decided from ${digest.first_day} to ${digest.last_day}`), sections(digest.sections)) : h("p", { class: "hint" }, "Nothing was written or captured."),
      h("p", {}, h("a", { href: address({ view: "digest", day, week: "1" }) }, "The whole digest"))),
    part("What agents read", read.length ? h("div", { class: "table" }, h("table", {},
      h("thead", {}, h("tr", {}, ["Day", "Agent", "Asked", "Places given"].map((text) => h("th", { scope: "col" }, text)))),
      h("tbody", {}, read.map((one) => h("tr", {}, h("td", {}, dayName(one.day)), h("td", {}, h("a", { href: address({ view: "agents", agent: one.slug }) }, one.name)),
        h("td", {}, one.asked.toLocaleString()), h("td", {}, one.given.toLocaleString()))))))
      : h("p", { class: "hint" }, "No agent asked anything in these seven days.")),
    isToday && [
      part("How far indexing is", progress(status).map((text) => h("p", {}, text))),
      status.problems.length > 0 && part("Files that could not be read",
        h("ul", { class: "changes" }, status.problems.map(({ path, reason }) => h("li", {}, /\.(md|markdown)$/i.test(path) ? cite(path) : h("span", { class: "cite" }, path), h("span", { class: "hint" }, reason))))),
      conflicts.section]);
}

const saved = ({ path, title, updated_at: at }) => h("li", {}, h("a", { href: address({ ...route(), note: path, lines: undefined }), title: path }, title), " ", when(at));

/** How far the index is, in words. */
function progress({ caught_up: isCaughtUp, files, pending_files: reading, chunks, embedded, embeddable, pending_embeddings: embedding, withheld = 0, model, failure }) {
  const meaning = model.state === "failed" ? `Searches go by words only: ${model.detail ?? "the model could not be loaded"}.`
    : embedding ? `${embedded.toLocaleString()} of ${count(embeddable, "passage")} can be found by meaning; ${embedding.toLocaleString()} are waiting.`
      : `All ${count(embedded, "passage")} with text can be found by meaning.`;
  return [
    failure && `${failure}.`,
    isCaughtUp && !reading ? `All ${count(files, "note")} are read, in ${count(chunks, "passage")}.` : `${count(files, "note")} are read; ${reading ? `${reading.toLocaleString()} are waiting` : "the others are being compared with the index"}.`,
    meaning,
    withheld > 0 && `${count(withheld, "passage")} of private notes are found by words only: they are not sent to another machine.`,
  ].filter(Boolean);
}

/** A month as a grid: a dot where there is a daily note, a tint for how much was saved. */
function month(day, grid, known) {
  const most = Math.max(1, ...[...known.values()].map(({ notes }) => notes));
  const title = new Date(`${day}T12:00:00`).toLocaleDateString("en", { month: "long", year: "numeric" });
  const to = (one) => go({ day: one === today() ? undefined : one }, { replace: true });
  const cell = (one) => {
    const { notes = 0, daily } = known.get(one) ?? {};
    const tint = notes && Math.ceil((Math.log(notes + 1) / Math.log(most + 1)) * 4);
    const written = new Date(`${one}T12:00:00`).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
    const said = [written, notes ? `${count(notes, "note")} saved` : "nothing saved", daily && "a daily note"].filter(Boolean).join(", ");
    return h("td", {}, h("button", {
      type: "button", id: `day-${one}`, class: `tint-${tint}${one.startsWith(day.slice(0, 7)) ? "" : " beside"}${one === today() ? " is-today" : ""}`,
      tabindex: one === day ? 0 : -1, "aria-label": said, title: said, "aria-current": one === day && "date", on: { click: () => to(one) },
    }, String(Number(one.slice(8))), daily && h("span", { class: "daily", "aria-hidden": "true" })));
  };
  const moves = { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -WEEK, ArrowDown: WEEK, PageUp: "month", PageDown: "month" };
  const keys = (event) => {
    const by = moves[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    // As it is by now: a key may come before the answer to the last one.
    to(by === "month" ? monthOff(chosen(), event.key === "PageUp" ? -1 : 1) : later(chosen(), by));
  };
  const turn = (id, name, text, by) => h("button", { type: "button", id: `month-${id}`, "aria-label": name, on: { click: () => to(monthOff(day, by)) } }, text);
  return h("section", { class: "month", on: { keydown: keys } },
    h("p", { class: "row" }, turn("before", "Previous month", "‹", -1), h("strong", { "aria-live": "polite" }, title), turn("after", "Next month", "›", 1),
      day !== today() && h("button", { type: "button", id: "month-today", on: { click: () => to(today()) } }, "Today")),
    h("table", { "aria-label": title },
      h("thead", {}, h("tr", {}, NAMES.map((name) => h("th", { scope: "col", abbr: name }, name.slice(0, 2))))),
      h("tbody", {}, Array.from({ length: grid.length / WEEK }, (_, at) => h("tr", {}, grid.slice(at * WEEK, (at + 1) * WEEK).map(cell))))));
}

/** The same day of a month so many months off, or its last. */
function monthOff(day, by) {
  const [year, number, date] = day.split("-").map(Number);
  const last = new Date(year, number + by, 0, 12);
  return dayOf(new Date(last.getFullYear(), last.getMonth(), Math.min(date, last.getDate()), 12));
}
