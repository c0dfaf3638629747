// What a view shows of an answer: asked for anew when files change, and drawn again only where it says something else.

import { keepingFocusById } from "./dom.js";

/**
 * `ask(options)` gives the answer, or nothing where none is to be shown now; `draw(answer, options)` shows it; `fail(error, again)` says why
 * there is none. The answer to an earlier question never comes after that to a later one.
 */
export function answered({ ask, draw, fail }) {
  let asked = 0;
  /** The answer that is shown, as it came. */
  let told;

  /** Says whether it was drawn. `quiet`: nobody has asked for it. */
  async function load(options = {}) {
    const { quiet = false } = options;
    asked += 1;
    const mine = asked;
    try {
      const answer = await ask(options);
      if (mine !== asked || answer === undefined) return false;
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
