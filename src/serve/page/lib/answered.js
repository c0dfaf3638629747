// What a view shows of an answer: asked for anew when files change, and drawn again only where it says something else.

import { keepingFocusById } from "./dom.js";

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
