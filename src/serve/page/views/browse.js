// Browse by collection and by day, the newest first.

import { api } from "../lib/api.js";
import { append, count, dayName, dayOf, failure, h, replace } from "../lib/dom.js";
import { hit, keepingFocus, markOpen } from "../lib/list.js";
import { go, route } from "../lib/route.js";
import { collectionChoice } from "./search.js";

const PAGE = 60;

let view;
let asked = 0;

export function show(main) {
  const { collection, day = "" } = route();
  const date = h("input", {
    type: "date", "aria-label": "Day", max: dayOf(Date.now()), on: { change: () => go({ day: date.value }, { replace: true }) },
  });
  date.value = day;
  const step = (by, name, text) => h("button", {
    type: "button", "aria-label": name, on: { click: () => go({ day: shifted(route().day, by) }, { replace: true }) },
  }, text);
  view = {
    date,
    all: h("button", { type: "button", on: { click: () => go({ day: undefined }, { replace: true }) } }, "All days"),
    summary: h("p", { class: "summary" }),
    list: h("div", { class: "days" }),
  };
  replace(main,
    h("h2", { class: "unseen" }, "Browse"),
    h("div", { class: "ask" }, h("div", { class: "filters" },
      collectionChoice(collection, (chosen) => go({ collection: chosen }, { replace: true })),
      h("span", { class: "days-choice" }, step(-1, "Previous day", "‹"), date, step(1, "Next day", "›")), view.all)),
    view.summary, view.list);
  run();
}

function shifted(day, by) {
  const date = new Date(`${day || dayOf(Date.now())}T12:00:00`);
  date.setDate(date.getDate() + by);
  return dayOf(date);
}

export function update(now, before) {
  if (now.collection !== before.collection || now.day !== before.day) {
    view.date.value = now.day ?? "";
    run();
  } else {
    markOpen();
  }
}

/** The index has changed: as much as is shown is shown anew. */
export function changed() {
  run(0, Math.min(1000, Math.max(PAGE, view.list.querySelectorAll(".hit").length)));
}

async function run(offset = 0, limit = PAGE) {
  const { collection, day } = route();
  asked += 1;
  const mine = asked;
  view.all.hidden = !day;
  try {
    const { chunks, total } = await api.browse({ collection, day, limit, offset });
    if (mine !== asked) return;
    view.list.querySelector(".more")?.remove();
    keepingFocus(() => {
      if (offset === 0) replace(view.list);
      render(chunks);
    });
    const shown = offset + chunks.length;
    const place = [collection ? ` in ${collection}` : "", day ? `, ${dayName(day).replace(/^(Today|Yesterday)/, (one) => one.toLowerCase())}` : ""];
    view.summary.textContent = total ? `${count(total, "passage")}${place.join("")}` : `Nothing${place.join("")}`;
    if (shown < total && chunks.length) {
      append(view.list, h("button", { type: "button", class: "more", on: { click: () => run(shown) } },
        `Show more (${count(total - shown, "passage")} left)`));
    }
    markOpen();
  } catch (error) {
    if (mine === asked) replace(view.list, failure(error, () => run()));
  }
}

/** Adds passages, under the names of their days. */
function render(chunks) {
  for (const chunk of chunks) {
    const day = dayOf(chunk.updated_at);
    let section = view.list.lastElementChild;
    if (section?.dataset.day !== day) {
      section = h("section", { "data-day": day },
        h("h3", { class: "day" }, h("button", { type: "button", class: "quiet", on: { click: () => go({ day }, { replace: true }) } }, dayName(day))),
        h("ol", { class: "hits", "aria-label": dayName(day) }));
      append(view.list, section);
    }
    const list = section.querySelector("ol");
    const item = hit(chunk);
    item.classList.toggle("same", list.lastElementChild?.chunk.path === chunk.path);
    append(list, item);
  }
}
