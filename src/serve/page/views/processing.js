// What the chat model of the memory does, and what it costs.

import { api } from "../lib/api.js";
import { bytes, count, failure, h, percent, replace, say, when } from "../lib/dom.js";

let place;

export function show(main) {
  place = h("div", { class: "stats" });
  replace(main, h("h2", {}, "Processing"), place);
  changed();
}

export function update() {}

export async function changed() {
  try {
    render(await api.processing());
  } catch (error) {
    replace(place, failure(error, changed));
  }
}

function render(view) {
  const number = (value, name) => h("div", {}, h("dd", {}, value), h("dt", {}, name));
  const since = view.since ? ["since ", when(view.since)] : "since the vault was created";
  replace(place,
    h("p", {}, view.model ? `${view.model}: ${view.state}` : "No model reads conversations. Name one under [memory] in memory.toml."),
    view.reason && h("p", { class: "hint" }, view.reason),
    h("dl", { class: "numbers" },
      number(view.calls.toLocaleString(), [view.calls === 1 ? "call " : "calls ", since]),
      number(bytes(view.bytes_sent), "sent"),
      number(view.prompt_tokens.toLocaleString(), "tokens read, as counted by the service"),
      number(view.answer_tokens.toLocaleString(), "tokens written"),
      view.success !== undefined && number(percent(view.success), "answered"),
      view.p50_ms !== undefined && number(`${view.p50_ms.toLocaleString()} ms`, "median response time"),
      view.p95_ms !== undefined && number(`${view.p95_ms.toLocaleString()} ms`, "95th percentile")),
    h("p", { class: "hint" }, `In 24 hours: ${view.day.calls} of ${view.day.calls_limit} calls and ${view.day.tokens} of ${view.day.tokens_limit} tokens. `
      + `${count(view.queued, "conversation")} waiting, ${view.withheld} private and not sent.`),
    view.model && h("p", {}, button("Process waiting conversations now", () => api.syncMemory(), "Started")),
    h("section", {}, h("h3", {}, "Failed"), view.dead_letters.length === 0 ? h("p", {}, "Nothing.") : [
      h("p", {}, button("Retry all", () => api.retryProcessing({}), "Retrying all")),
      h("ul", {}, view.dead_letters.map((dead) => h("li", {},
        `${dead.path ?? "a deleted conversation"}: ${dead.reason} (tried ${count(dead.attempts, "time")}) `,
        button("Try again", () => api.retryProcessing({ id: dead.id }), "Retrying")))),
    ]),
    view.outcomes.length > 0 && h("section", {}, h("h3", {}, "Call outcomes"),
      h("ul", {}, view.outcomes.map(({ outcome, calls }) => h("li", {}, `${outcome}: ${calls.toLocaleString()}`)))),
    view.recent.length > 0 && h("section", {}, h("h3", {}, "Newest calls"), h("div", { class: "table" }, h("table", {},
      h("thead", {}, h("tr", {}, ["When", "Outcome", "Tokens", "Time", "Sent", "Kept", "Dropped"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, view.recent.map((call) => h("tr", {}, h("th", { scope: "row" }, when(call.at)),
        [call.outcome, `${call.prompt_tokens} + ${call.answer_tokens}`, `${call.ms} ms`, bytes(call.bytes), call.kept, call.dropped].map((cell) => h("td", {}, String(cell))))))))),
    h("section", {}, h("h3", {}, "Disk space"), h("ul", {},
      h("li", {}, `Notes: ${bytes(view.stores.notes)}, including entries, summaries and the profile: ${bytes(view.stores.layers)}`),
      h("li", {}, `Index: ${bytes(view.stores.index)}`),
      h("li", {}, `State: ${bytes(view.stores.state)}`))));
}

function button(name, act, done) {
  return h("button", { type: "button", on: { click: async (event) => {
    try {
      await act();
      say(done);
      await changed();
    } catch (error) {
      event.target.after(failure(error));
    }
  } } }, name);
}
