// Files that were changed in two places: what a sync service left beside a note, or a merge in it. Nothing is merged by itself.

import { api } from "../lib/api.js";
import { append, byId, failure, h, replace, say } from "../lib/dom.js";
import { address, route } from "../lib/route.js";
import { sentence, toast } from "../note/change.js";

const SIDES = [["ours", "Keep ours"], ["theirs", "Keep theirs"], ["both", "Keep both"]];

/** The conflicts as a section, which is not shown while there are none; `refresh` reads them again. */
export function conflictList() {
  const list = h("ul", { class: "changes" });
  const section = h("section", { id: "conflicts", hidden: true }, h("h3", {}, "Changed in two places"),
    h("p", { class: "hint" }, "A sync service or a merge left both versions. Nothing is merged automatically; you can undo your choice."), list);
  const refresh = async () => {
    try {
      const { conflicts } = await api.conflicts();
      section.hidden = !conflicts.length;
      replace(list, conflicts.map((conflict) => item(conflict, refresh)));
    } catch (error) {
      section.hidden = false;
      replace(list, failure(error, refresh));
    }
  };
  return { section, refresh };
}

/** Beside the list, which is read anew meanwhile. */
const refused = (error) => toast(`Not done: ${sentence(error)}`, undefined, { failed: true });

function item({ path, of, made_by: by, same, by_hand: byHand }, refresh) {
  const about = path === of ? `conflict markers of ${by}` : `of ${of}, by ${by}${same ? "; the same content" : ""}${byHand ? `; ${byHand}` : ""}`;
  const shown = /\.(md|markdown)$/i.test(path) && !byHand ? h("a", { class: "cite", href: address({ ...route(), note: path }) }, path) : h("span", {}, path);
  const difference = h("pre", { hidden: true, tabindex: "0", "aria-label": `The difference in ${path}` });
  const row = h("li", {}, shown, h("span", { class: "hint" }, about));
  if (byHand) return row;
  const button = (name, act) => h("button", { type: "button", class: "quiet", "aria-label": `${name}: ${path}`, on: { click: () => act().catch(refused) } }, name);
  append(row, button("Difference", async () => {
    const { diff } = await api.conflict(path);
    difference.textContent = diff || "Both have the same content.";
    difference.hidden = false;
  }), SIDES.map(([side, name]) => button(name, async () => {
    const { path: kept, checkpoint_ids: undo } = await api.keep(path, side);
    say(`Kept ${kept}; you can undo ${undo.length} change${undo.length === 1 ? "" : "s"} below`);
    await refresh();
    // The button that was pressed is gone.
    (document.querySelector("#conflicts:not([hidden]) button") ?? byId("main")).focus();
  })), difference);
  return row;
}
