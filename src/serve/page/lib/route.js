// Where the person is: in the address, after `#/`, so that the browser's own buttons work.

/** The rooms of the bar, each with its views and their names. */
export const ROOMS = {
  search: { search: "Search" },
  notes: { notes: "Notes", see: "Today", graph: "Graph" },
  memory: { review: "Review", facts: "Facts", entries: "Entries", profile: "Profile", summaries: "Summaries", digest: "Digest", ask: "Ask" },
  agents: { agents: "Agents" },
  settings: { settings: "Settings", changes: "Changes", stats: "Statistics", processing: "Processing" },
};

/** What each view is called; one for captures alone is in no room. */
export const NAMES = Object.assign({ capture: "Capture" }, ...Object.values(ROOMS));

/** The room that a view is in. */
export const roomOf = (view) => Object.keys(ROOMS).find((room) => view in ROOMS[room]) ?? "search";

const listeners = [];
let current = parse();

function parse() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
  const params = Object.fromEntries(new URLSearchParams(query ?? ""));
  // An address of before: pages of passages were browsed by collection or day.
  if (path === "browse") return { folder: params.collection, ...params, view: params.day ? "see" : "notes" };
  return { ...params, view: path in NAMES ? path : "search" };
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
