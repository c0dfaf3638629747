// The browsers in which the page is open, each of which can be signed out.

import { api, key } from "../lib/api.js";
import { append, byId, count, failure, h, replace, say, when } from "../lib/dom.js";

/** The sessions as a section; `refresh` reads them again. `list` gives them, and `end` ends some. */
export function sessionList({ list: read, end: endThem } = { list: api.sessions, end: api.endSessions }) {
  const list = h("ul", { class: "changes", "aria-label": "Browsers that are signed in" });
  const end = h("div", {});
  const refresh = async () => {
    try {
      const { sessions } = await read();
      const others = sessions.filter(({ id }) => id !== key.id());
      replace(list, sessions.map((session) => item(session, refresh, endThem)));
      replace(end, others.length > 1 && button("Sign out all others", { all_but: key.id() }, refresh, endThem, end));
    } catch (error) {
      replace(end, failure(error, refresh));
    }
  };
  const section = h("section", { id: "sessions" }, h("h3", {}, "Signed-in browsers"),
    h("p", { class: "hint" }, "A browser stays signed in until the page was not used there for 30 days."), list, end);
  return { section, refresh };
}

function item({ id, browser, made_at: made, used_at: used }, refresh, endThem) {
  const row = h("li", {}, browser, h("span", { class: "hint" }, "since ", when(made), ", last used ", when(used)));
  const end = id === key.id() ? h("span", { class: "hint" }, "this browser") : button("Sign out", { id }, refresh, endThem, row, `Sign out ${browser}`);
  return append(row, end);
}

function button(name, which, refresh, endThem, place, label) {
  const click = async () => {
    try {
      const { ended } = await endThem(which);
      await refresh();
      say(`${count(ended, "browser")} signed out`);
      // The button that was pressed is gone.
      (document.querySelector("#sessions button") ?? byId("main")).focus();
    } catch (error) {
      append(place, failure(error));
    }
  };
  return h("button", { type: "button", class: "quiet", "aria-label": label, on: { click } }, name);
}
