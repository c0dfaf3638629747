// How the page comes to a token: by the code that `vault open` puts into the address, or by one that is pasted.

import { ApiError, api, token } from "./api.js";
import { byId, h, replace } from "./dom.js";

/** Trades the code in the address, if there is one, and takes it out of the address and the history. */
export async function tradeCode() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (!code) return undefined;
  history.replaceState(null, "", "#/search");
  try {
    token.set((await api.trade(code)).token);
    return undefined;
  } catch (error) {
    return error;
  }
}

/** Asks for a token; calls `then` when there is one that the vault knows. */
export function showLogin(error, then) {
  const place = byId("login");
  const said = h("p", { class: "failure", role: "alert", hidden: !error }, error ? words(error) : "");
  const field = h("input", {
    id: "token", name: "token", type: "password", autocomplete: "off", spellcheck: "false", required: true,
  });
  const submit = async (event) => {
    event.preventDefault();
    const pasted = field.value.trim();
    try {
      await api.check(pasted);
      token.set(pasted);
      place.hidden = true;
      replace(place);
      then();
    } catch (problem) {
      said.textContent = problem.status === 401 ? "This token is not valid for this vault." : words(problem);
      said.hidden = false;
      field.select();
    }
  };
  replace(place, h("main", { class: "login" },
    h("h1", {}, "My memory"),
    said,
    h("p", {}, "Only you can see your vault on this page. To open it, run"),
    h("pre", {}, "vault open"),
    h("p", {}, "in a terminal on this machine. Your browser then opens with a key that works once."),
    h("details", {},
      h("summary", {}, "I have a token"),
      h("form", { on: { submit } },
        h("label", { for: "token" }, "Token from the vault’s ", h("code", {}, ".vault/owner-token")),
        h("div", { class: "row" }, field, h("button", { class: "primary" }, "Open")),
        h("p", { class: "hint" }, "This tab stores it until you close it, and sends it only to this vault.")))));
  byId("app").hidden = true;
  place.hidden = false;
  document.title = "My memory";
}

function words(error) {
  if (error instanceof ApiError && error.status === 401) {
    return error.message.includes("code") ? "This key was already used, or has expired." : "Your session has ended.";
  }
  return `${error.message} ${error.hint ?? ""}`.trim();
}
