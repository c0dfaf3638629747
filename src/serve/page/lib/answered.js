// What a view shows of an answer: asked for anew when files change, and drawn again only where it says something else.

import { byId, failure, h, keepingFocusById, replace } from "./dom.js";
import { route } from "./route.js";

/** Pending while the pointer is held down: a click counts only where what it began on is still there when it ends. */
let press = Promise.resolve();
let released;

document.addEventListener("pointerdown", () => {
  press = new Promise((resolve) => {
    released = resolve;
  });
}, { capture: true });
// The click itself comes after these events, in the same turn.
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => setTimeout(released), { capture: true });

/**
 * `ask(options)` gives the answer; `draw(answer, options)` shows it; `fail(error, again)` says why there is none. `form()` gives
 * the form that is open within it, where drawing would take it away: such a form stays. The answer to an earlier question never comes after
 * that to a later one.
 */
export function answered({ ask, draw, fail, form = () => null }) {
  let asked = 0;
  /** The answer that is shown, as it came. */
  let told;

  /** Says whether it was drawn. `quiet`: nobody has asked for it. */
  async function load(options = {}) {
    const { quiet = false } = options;
    const before = form();
    if (quiet && before) return false;
    asked += 1;
    const mine = asked;
    try {
      const answer = await ask(options);
      await press;
      if (mine !== asked || (form() ?? before) !== before) return false;
      const text = JSON.stringify(answer);
      if (quiet && text === told) return false;
      told = text;
      keepingFocusById(() => draw(answer, options));
      return true;
    } catch (error) {
      // What is shown is better than nothing, where nobody asked for it anew.
      if (mine !== asked || (quiet && error.status === 0)) return false;
      told = undefined;
      fail(error, () => load());
      return false;
    }
  }

  return {
    load,
    /** Loads it for a view that shows nothing yet. */
    begin() {
      told = undefined;
      return load();
    },
  };
}

/** The heading of a view, for those who do not see which tab it is in, and the buttons beside it. */
export const heading = (title, ...buttons) => h("div", { class: "head" }, h("h2", { id: "view-title", tabindex: -1, class: "unseen" }, title), buttons);

/**
 * A view that shows one answer. It is asked anew when one of the `params` of the address is another, for which `moved` may be called instead;
 * `frame()` gives what stands above an answer that failed. The other functions are those of `answered`; `draw` gets the element as well.
 */
export function answerView({ title, kind = "ledger", params = [], frame = () => heading(title), moved, begin, ask, draw, form, fail }) {
  const place = h("div", { class: kind });
  const answers = answered({
    ask,
    form: form ?? (() => place.querySelector(".fact-form")),
    draw: (answer) => draw(answer, place),
    fail: fail ?? ((error, again) => replace(place, frame(), failure(error, again))),
  });
  return {
    place,
    load: answers.load,
    show(main) {
      begin?.();
      replace(place, frame());
      replace(main, place);
      answers.begin();
    },
    update(now, before) {
      if (!params.some((name) => now[name] !== before[name])) return;
      if (moved) moved(now, before);
      else answers.load();
    },
    changed: () => answers.load({ quiet: true }),
  };
}

/** A button that does something and puts what it says, or why it failed, into `said`. */
export function doButton(id, text, said, act) {
  const button = h("button", { type: "button", id, on: { click: async () => {
    button.disabled = true;
    try {
      replace(said, await act());
    } catch (error) {
      replace(said, failure(error));
    } finally {
      for (const one of [button, byId(id)]) if (one) one.disabled = false;
    }
  } } }, text);
  return button;
}

/** Filters behind one button, which says how many are set; `names` are theirs in the address. */
export function folded(names, ...filters) {
  const set = names.filter((name) => route()[name]).length;
  const made = h("details", { class: "folded", open: set > 0 || folded.open },
    h("summary", { on: { click: () => (folded.open = !made.open) } }, set ? `Filters: ${set}` : "Filters"), h("div", { class: "filters" }, filters));
  return made;
}
