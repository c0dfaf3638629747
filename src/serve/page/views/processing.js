// What the chat model of the memory does, and what it costs.

import { answerView, doButton, heading } from "../lib/answered.js";
import { api } from "../lib/api.js";
import { bytes, count, h, percent, replace, when } from "../lib/dom.js";

const said = h("p", { class: "hint", role: "status" });

export const view = answerView({ title: "Processing", kind: "stats", ask: () => api.processing(), draw: render });

function render(now, place) {
  const number = (value, name) => h("div", {}, h("dd", {}, value), h("dt", {}, name));
  const since = now.since ? ["since ", when(now.since)] : "since the vault was created";
  replace(place, heading("Processing"), said,
    h("p", {}, now.model ? `${now.model}: ${now.state}` : "No model reads conversations. Name one under [memory] in memory.toml."),
    now.reason && h("p", { class: "hint" }, now.reason),
    h("dl", { class: "numbers" },
      number(now.calls.toLocaleString(), [now.calls === 1 ? "call " : "calls ", since]),
      number(bytes(now.bytes_sent), "sent"),
      number(now.prompt_tokens.toLocaleString(), "tokens read, as counted by the service"),
      number(now.answer_tokens.toLocaleString(), "tokens written"),
      now.success !== undefined && number(percent(now.success), "answered"),
      now.p50_ms !== undefined && number(`${now.p50_ms.toLocaleString()} ms`, "median response time"),
      now.p95_ms !== undefined && number(`${now.p95_ms.toLocaleString()} ms`, "95th percentile")),
    h("p", { class: "hint" }, `In 24 hours: ${now.day.calls} of ${now.day.calls_limit} calls and ${now.day.tokens} of ${now.day.tokens_limit} tokens. `
      + `${count(now.queued, "conversation")} waiting, ${now.withheld} private and not sent.`),
    now.model && h("p", {}, button("Process waiting conversations now", () => api.syncMemory(), "Started")),
    h("section", {}, h("h3", {}, "Failed"), now.dead_letters.length === 0 ? h("p", {}, "Nothing.") : [
      h("p", {}, button("Retry all", () => api.retryProcessing({}), "Retrying all")),
      h("ul", {}, now.dead_letters.map((dead) => h("li", {},
        `${dead.path ?? "a deleted conversation"}: ${dead.reason} (tried ${count(dead.attempts, "time")}) `,
        button("Try again", () => api.retryProcessing({ id: dead.id }), "Retrying")))),
    ]),
    now.outcomes.length > 0 && h("section", {}, h("h3", {}, "Call outcomes"),
      h("ul", {}, now.outcomes.map(({ outcome, calls }) => h("li", {}, `${outcome}: ${calls.toLocaleString()}`)))),
    now.recent.length > 0 && h("section", {}, h("h3", {}, "Newest calls"), h("div", { class: "table" }, h("table", {},
      h("thead", {}, h("tr", {}, ["When", "Outcome", "Tokens", "Time", "Sent", "Kept", "Dropped"].map((name) => h("th", { scope: "col" }, name)))),
      h("tbody", {}, now.recent.map((call) => h("tr", {}, h("th", { scope: "row" }, when(call.at)),
        [call.outcome, `${call.prompt_tokens} + ${call.answer_tokens}`, `${call.ms} ms`, bytes(call.bytes), call.kept, call.dropped].map((cell) => h("td", {}, String(cell))))))))),
    h("section", {}, h("h3", {}, "Disk space"), h("ul", {},
      h("li", {}, `Notes: ${bytes(now.stores.notes)}, including entries, summaries and the profile: ${bytes(now.stores.layers)}`),
      h("li", {}, `Index: ${bytes(now.stores.index)}`),
      h("li", {}, `State: ${bytes(now.stores.state)}`))));
}

const button = (name, act, done) => doButton(undefined, name, said, async () => {
  await act();
  await view.load();
  return done;
});
