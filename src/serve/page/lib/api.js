// Asks the vault. A session is a cookie, which no script can read, and a key in localStorage, which no other page can read; neither opens
// anything alone.

/** The path before all addresses, where the server has several vaults; else empty. */
export const VAULT = location.pathname.match(/^\/v\/[^/]+/)?.[0] ?? "";

/** What this vault keeps in the browser under a name. */
export const own = (name) => (VAULT ? `${VAULT}/${name}` : name);

const KEY = own("vault-key");
/** The key of a person's session at a server of several vaults, which opens all that they have. */
const PERSONS = "vault-key";

export class ApiError extends Error {
  constructor(status, { code = "unreachable", message, hint } = {}) {
    super(message ?? `The vault answered ${status}`);
    Object.assign(this, { status, code, hint });
  }
}

/** The key of the browser's session; `id` names the session. */
export const key = {
  get: () => localStorage.getItem(KEY) ?? localStorage.getItem(PERSONS),
  set: (value) => localStorage.setItem(KEY, value),
  drop: () => localStorage.removeItem(KEY),
  id: () => key.get()?.split(".")[0],
  isPersons: () => !localStorage.getItem(KEY),
};

/** What the person may do in this vault, where they are not its only one: `owner`, `editor` or `reader`. */
export const right = { is: undefined };

/** Whether the vault is another's. */
export const isGuest = () => Boolean(right.is && right.is !== "owner");

/** Has `then` called when another tab has signed in. */
export function onSignedIn(then) {
  window.addEventListener("storage", (event) => event.key === KEY && event.newValue && then());
}

let refused = () => {};

/** Has `then` called when the vault does not know the session any more. */
export function onRefused(then) {
  refused = then;
}

/** Sends a request in the session, or with a token; gives the response. */
export async function ask(path, { method = "GET", body, signal, token, at = VAULT } = {}) {
  const mine = key.get();
  const headers = { "X-Vault-Key": mine ?? "" };
  if (token) headers.Authorization = `Bearer ${token}`;
  const isFile = body instanceof Blob;
  if (body !== undefined) headers["Content-Type"] = isFile ? "application/octet-stream" : "application/json";
  let response;
  try {
    const sent = body === undefined || isFile ? body : JSON.stringify(body);
    response = await fetch(at + path, { method, headers, body: sent, signal, cache: "no-store", credentials: "same-origin" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    const hint = "Start it with `vault serve`; this page then reconnects by itself.";
    throw new ApiError(0, { message: "The vault does not answer.", hint });
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  const error = Object.assign(new ApiError(response.status, said.error), { now: said.now });
  // Only the vault says so; what stands before it may refuse for a moment.
  if (error.code === "unauthorized" && mine === key.get() && !token && !path.startsWith("/page/")) refused(error);
  throw error;
}

async function json(path, options) {
  const response = await ask(path, options);
  return response.json();
}

function query(path, params) {
  const told = Object.entries(params).filter(([, value]) => value !== undefined && value !== "" && value !== null);
  return `${path}?${new URLSearchParams(told)}`;
}

const BASE = "/api/user-memory";
const AGENTS = "/api/agents";
const FACTS = "/api/facts";
const agent = (slug, more = "") => `${AGENTS}/${encodeURIComponent(slug)}${more}`;

export const api = {
  trade: (code) => json("/page/token", { method: "POST", body: { code } }),
  signIn: (token) => json("/api/sessions", { method: "POST", token }),
  leave: () => ask("/page/token", { method: "DELETE", at: key.isPersons() ? "" : VAULT }),
  signInAs: (body) => json("/page/sign-in", { method: "POST", body, at: "" }),
  join: (body) => json("/page/join", { method: "POST", body, at: "" }),
  waysToSignIn: () => json("/page/sign-in", { at: "" }),
  goToProvider: (body) => json("/page/openid/start", { method: "POST", body, at: "" }),
  backFromProvider: (body) => json("/page/openid/finish", { method: "POST", body, at: "" }),
  me: () => json("/page/me", { at: "" }),
  endMine: (body) => json("/page/me/end", { method: "POST", body, at: "" }),
  sessions: () => json("/api/sessions"),
  endSessions: (body) => json("/api/sessions/end", { method: "POST", body }),
  shares: () => json("/api/shares"),
  share: (body) => json("/api/shares", { method: "POST", body }),
  endShare: (link) => json("/api/shares/end", { method: "POST", body: { link } }),
  status: () => json("/status"),
  search: (params, signal) => json(query(`${BASE}/search`, { ...params, highlight: true }), { signal }),
  browse: (params, signal) => json(query(`${BASE}/browse`, params), { signal }),
  notes: (params, signal) => json(query(`${BASE}/notes`, params), { signal }),
  find: (params, signal) => json(query(`${BASE}/find`, params), { signal }),
  make: (body) => json(`${BASE}/note`, { method: "POST", body }),
  collections: () => json(`${BASE}/collections`),
  folders: () => json(`${BASE}/folders`),
  days: (from, until) => json(query(`${BASE}/days`, { from, until })),
  tags: () => json(`${BASE}/tags`),
  stats: () => json(`${BASE}/stats`),
  note: (path, line) => json(query(`${BASE}/note`, { path, line })),
  text: (path) => json(query(`${BASE}/text`, { path })),
  write: (body) => json(`${BASE}/note`, { method: "PUT", body }),
  tick: (body) => json(`${BASE}/task`, { method: "POST", body }),
  links: (path) => json(query(`${BASE}/links`, { path, limit: 50 })),
  mentions: (path) => json(query(`${BASE}/mentions`, { path })),
  versions: (path) => json(query(`${BASE}/versions`, { path })),
  version: (id) => json(query(`${BASE}/version`, { id })),
  file: async (path) => (await ask(query(`${BASE}/file`, { path }))).blob(),
  related: (path) => json(query(`${BASE}/related`, { path, limit: 6 })),
  chunk: (hash) => json(`${BASE}/chunk/${encodeURIComponent(hash)}`),
  save: (body) => json(`${BASE}/save`, { method: "POST", body }),
  capture: (body) => json(`${BASE}/capture`, { method: "POST", body }),
  drop: (name, body) => json(query(`${BASE}/drop`, { name }), { method: "POST", body }),
  annotate: (hash, note) => json(`${BASE}/annotate`, { method: "POST", body: { hash, note } }),
  remove: (hash) => json(`${BASE}/chunk/${encodeURIComponent(hash)}`, { method: "DELETE" }),
  checkpoints: () => json(`${BASE}/checkpoints`),
  restore: (id, force = false) =>
    json(`${BASE}/checkpoints/${encodeURIComponent(id)}/restore`, { method: "POST", body: { force } }),
  conflicts: () => json("/api/conflicts"),
  conflict: (path) => json(query("/api/conflicts/difference", { path })),
  keep: (path, keep) => json("/api/conflicts/keep", { method: "POST", body: { path, keep } }),
  changes: (limit) => json(query("/api/log", { limit })),
  settings: () => json(`${BASE}/settings`),
  change: (settings) => json(`${BASE}/settings`, { method: "PUT", body: settings }),
  // No namespace is another question than any.
  facts: ({ namespace, ...params }) => json(query(FACTS, params) + (namespace === undefined ? "" : `&${new URLSearchParams({ namespace })}`)),
  processing: () => json("/api/processing"),
  retryProcessing: (body) => json("/api/processing/retry", { method: "POST", body }),
  syncMemory: () => json("/api/processing/sync", { method: "POST", body: {} }),
  graph: (params) => json(query("/api/graph", params)),
  setFact: (body) => json(FACTS, { method: "PUT", body }),
  unsetFact: (body) => json(`${FACTS}/unset`, { method: "POST", body }),
  retractFact: (body) => json(`${FACTS}/retract`, { method: "POST", body }),
  profile: () => json("/api/profile"),
  makeProfile: () => json("/api/profile/regenerate", { method: "POST", body: {} }),
  summaries: (params) => json(query("/api/summaries", params)),
  makeSummaries: () => json("/api/summaries/make", { method: "POST", body: {} }),
  digest: (params) => json(query("/api/digest", params)),
  writeDigest: (body) => json("/api/digest", { method: "POST", body }),
  entries: (params) => json(query("/api/entries", params)),
  addEntry: (body) => json("/api/entries", { method: "POST", body }),
  editEntry: (body) => json("/api/entries/edit", { method: "POST", body }),
  removeEntry: (body) => json("/api/entries/remove", { method: "POST", body }),
  proposals: (params) => json(query("/api/review", params)),
  decide: (body) => json("/api/review", { method: "POST", body }),
  answerCheck: (body) => json("/api/review/checks", { method: "POST", body }),
  decideSuggestions: (body) => json("/api/review/suggestions", { method: "POST", body }),
  agents: () => json(AGENTS),
  agent: (slug) => json(agent(slug)),
  previewAgent: (rules) => json("/api/agent-preview", { method: "POST", body: rules }),
  askedConsent: (query) => json("/api/remote/request", { method: "POST", body: { query } }),
  decideConsent: (body) => json("/api/remote/consent", { method: "POST", body }),
  addAgent: (body) => json(AGENTS, { method: "POST", body }),
  changeAgent: (slug, rules) => json(agent(slug), { method: "PATCH", body: rules }),
  removeAgent: (slug) => json(agent(slug), { method: "DELETE" }),
  rotateAgent: (slug) => json(agent(slug, "/rotate"), { method: "POST", body: {} }),
  explain: (slug, what) => json(query(agent(slug, "/explain"), { what })),
  agentLog: (slug, limit) => json(query(agent(slug, "/log"), { limit })),
};
