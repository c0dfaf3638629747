// Where the person is: in the address, after `#/`, so that the browser's own buttons work.

const VIEWS = ["search", "browse", "stats", "settings", "agents", "facts", "graph", "entries", "review", "profile", "summaries", "digest", "processing", "ask", "capture"];
const listeners = [];
let current = parse();

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const view = VIEWS.includes(path) ? path : "search";
  return { ...Object.fromEntries(new URLSearchParams(query ?? "")), view };
}

/** The address of a place. */
export function address({ view = "search", ...params }) {
  const told = Object.entries(params).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  const query = new URLSearchParams(told).toString();
  return `#/${view}${query ? `?${query}` : ""}`;
}

export const route = () => current;

/** Goes to another place, given what changes; `replace` keeps the place before out of the history. */
export function go(changes, { replace = false } = {}) {
  move(address({ ...current, ...changes }), replace);
}

/** Goes to a place of its own. */
export function visit(place) {
  move(address(place), false);
}

function move(to, replace) {
  if (to === location.hash) return;
  if (replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  arrive();
}

export function onRoute(listener) {
  listeners.push(listener);
}

export function arrive() {
  const before = current;
  current = parse();
  for (const listener of listeners) listener(current, before);
}

window.addEventListener("popstate", arrive);
