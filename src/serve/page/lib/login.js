// How the page comes to a session: by the code that `vault open` puts into the address, or by a token that is pasted.

import { ApiError, VAULT, api, key, onSignedIn } from "./api.js";
import { byId, h, replace } from "./dom.js";
import { address } from "./route.js";

/** Trades the code in the address, if there is one, for a session, and goes to the note that is named beside it, or to where the page was. */
export async function tradeCode(before) {
  const { code, note } = Object.fromEntries(new URLSearchParams(location.hash.slice(1)));
  if (!code) return undefined;
  const place = note ? address({ view: "search", note }) : before?.startsWith("#/") ? before : "#/search";
  history.replaceState(null, "", place);
  try {
    key.set((await api.trade(code)).key);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Whether an assistant has sent the browser here, to be let in: then the page is asked from outside, where `vault open` leads nowhere. */
export const isAsked = () => location.pathname === `${VAULT}/oauth/authorize`;

/** Asks for a token; calls `then` when there is a session. */
export function showLogin(error, then) {
  const login = byId("login");
  const said = h("p", { class: "failure", role: "alert", hidden: !error }, error ? words(error) : "");
  const field = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true,
  });
  const enter = () => {
    login.hidden = true;
    replace(login);
    then();
  };
  const submit = async (event) => {
    event.preventDefault();
    try {
      key.set((await api.signIn(field.value.trim())).key);
      enter();
    } catch (problem) {
      said.textContent = problem.status === 401 || problem.status === 403 ? "This token is not valid for this vault." : words(problem);
      said.hidden = false;
      field.select();
    }
  };
  const { note } = Object.fromEntries(new URLSearchParams(location.hash.split("?")[1]));
  replace(login, h("main", { class: "login" },
    h("h1", {}, "My memory"),
    isAsked() && h("p", {}, "An assistant asks to be let in. Open your vault here first; then you decide."),
    said,
    h("p", {}, "Only you can see your vault on this page. To open it, run"),
    h("pre", {}, "vault open"),
    h("p", {}, "in a terminal on this machine. Your browser then opens with a key that works once."),
    location.hash.length > "#/search".length
      && h("p", {}, "This tab then shows the place that its address names", note && [": ", h("span", { class: "cite" }, note)], "."),
    VAULT && h("p", {}, h("a", { href: `/v/#${new URLSearchParams({ to: `${location.pathname}${location.search}${location.hash}` })}` }, "Sign in with your name"), " if this server knows you."),
    h("details", { open: isAsked() },
      h("summary", {}, "I have a token"),
      h("form", { on: { submit } },
        h("label", { for: "token" }, "Token from the vault’s ", h("code", {}, ".vault/owner-token")),
        h("div", { class: "row" }, field, h("button", { class: "primary" }, "Open")),
        h("p", { class: "hint" }, "It is sent only to this vault, and not stored: this browser gets a session of its own.")))));
  byId("app").hidden = true;
  login.hidden = false;
  document.title = "My memory";
  waiting = enter;
}

let waiting;
onSignedIn(() => byId("login").hidden || waiting());

function words(error) {
  if (error instanceof ApiError && error.status === 401) {
    return error.message.includes("code") ? "This key was already used, or has expired." : "Your session has ended.";
  }
  return `${error.message} ${error.hint ?? ""}`.trim();
}
