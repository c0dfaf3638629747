// A server of several vaults: people sign in by name or with an OpenID provider, accept an invitation, and see their vaults.

import { api, key } from "../lib/api.js";
import { byId, failure, h, replace } from "../lib/dom.js";
import { sessionList } from "./sessions.js";

/** What the address says: an invitation, or the vault to go on to. */
const said = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

const paint = (...children) => {
  byId("app").hidden = true;
  byId("login").hidden = false;
  document.title = "My vaults";
  replace(byId("login"), h("main", { class: "login" }, h("h1", {}, "My vaults"), children));
};

/** What the address said when the page went to the provider. */
const BEFORE = "before-provider";

/** Opens a session with what a provider sent back in the address, where it stays for nobody; gives the error. */
async function returned() {
  const back = new URLSearchParams(location.search);
  if (!back.has("state")) return undefined;
  const before = sessionStorage.getItem(BEFORE) ?? "";
  sessionStorage.removeItem(BEFORE);
  history.replaceState(null, "", location.pathname);
  const sent = ["state", "code", "iss", "error"].filter((name) => back.has(name)).map((name) => [name, back.get(name)]);
  const failed = await api.backFromProvider(Object.fromEntries(sent)).then((session) => key.set(session.key), (error) => error);
  if (failed || !before.startsWith("#invite=")) history.replaceState(null, "", `${location.pathname}${before}`);
  if (failed?.status === 401) failed.message = "You could not be signed in. Whoever runs this server finds the reason in its log.";
  return failed;
}

export async function show() {
  const failed = await returned();
  if (said().invite) return invited(said().invite, failed);
  if (failed) return signIn(failed);
  try {
    const me = await api.me();
    const to = said().to;
    if (/^\/v\/[a-z0-9_-]+\//.test(to ?? "")) location.replace(to);
    else home(me);
  } catch (error) {
    if (error.status === 401) key.drop();
    await signIn(error.status === 401 ? undefined : error);
  }
}

function field(name, label, kind, complete) {
  const input = h("input", { id: name, name, type: kind, autocomplete: complete, required: true, spellcheck: "false", autocapitalize: "none" });
  return [h("label", { for: name }, label), input];
}

/** A form that opens a session with what was typed; `ask` gives the key. */
function form(button, fields, ask, wrong) {
  const problem = h("div", {});
  const submit = async (event) => {
    event.preventDefault();
    const typed = Object.fromEntries(new FormData(event.target));
    try {
      key.set((await ask(typed)).key);
      if (said().invite) history.replaceState(null, "", location.pathname);
      await show();
    } catch (error) {
      replace(problem, failure(error.status === 401 ? { message: wrong } : error));
      event.target.querySelector("input[type=password]").select();
    }
  };
  return h("form", { on: { submit } }, problem, fields, h("button", { class: "primary" }, button));
}

/** The other way to sign in, where the server has one; `invitation` is accepted by it. */
async function provider(invitation) {
  const { openid } = await api.waysToSignIn().catch(() => ({}));
  if (!openid) return undefined;
  const problem = h("div", {});
  const go = async () => {
    try {
      const { address } = await api.goToProvider({ invitation });
      sessionStorage.setItem(BEFORE, location.hash);
      location.assign(address);
    } catch (error) {
      replace(problem, failure(error));
    }
  };
  return h("div", {}, h("p", { class: "hint" }, "or"), problem, h("button", { type: "button", id: "provider", on: { click: go } }, `Sign in with ${openid}`));
}

async function signIn(error) {
  const other = await provider();
  const fields = [...field("name", "Name", "text", "username"), ...field("passphrase", "Passphrase", "password", "current-password")];
  paint(error && failure(error), form("Sign in", fields, api.signInAs, "The name or the passphrase is wrong."), other);
  byId("name").focus();
}

async function invited(code, error) {
  const other = await provider(code);
  const fields = field("passphrase", "Choose a passphrase of 10 characters at least: several words that you remember", "password", "new-password");
  paint(h("p", {}, "You are invited to this server."), error && failure(error), form("Join", fields, ({ passphrase }) => api.join({ code, passphrase }),
    "This invitation was already used, or has expired. Ask for another."), other);
  byId("passphrase").minLength = 10;
  byId("passphrase").focus();
}

const RIGHTS = { owner: "yours", editor: "you may read and edit", reader: "you may read" };

function home({ name, title, vaults }) {
  const sessions = sessionList({ list: async () => ({ sessions: (await api.me()).sessions }), end: api.endMine });
  const leave = async () => {
    await api.leave().catch(() => {});
    key.drop();
    await signIn();
  };
  paint(h("p", {}, `Signed in as ${title === name ? name : `${title} (${name})`}.`),
    vaults.length > 0
      ? h("ul", { class: "changes", "aria-label": "Vaults" }, vaults.map((vault) =>
        h("li", {}, h("a", { href: `/v/${encodeURIComponent(vault.name)}/` }, vault.name), h("span", { class: "hint" }, RIGHTS[vault.right]))))
      : h("p", { class: "hint" }, "You have no vault yet. Whoever runs this server can give you one."),
    sessions.section, h("p", {}, h("button", { type: "button", on: { click: leave } }, "Sign out")));
  sessions.refresh();
}
