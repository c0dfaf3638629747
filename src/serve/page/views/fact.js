// One fact: its value, and what can be done with it. Values are texts, lists and maps, and are only ever shown as text.

import { api } from "../lib/api.js";
import { append, byId, failure, h, replace, say } from "../lib/dom.js";
import { changed as vaultChanged, dialog, offerUndo, sentence, toast } from "../note/change.js";

/** What is said beside a fact that is not true at the moment that is shown. */
export const STATES = { expired: "expired", future: "not yet true", retracted: "never true", unset: "no longer true" };

export const nameOf = ({ namespace, key }) => (namespace ? `${namespace}/${key}` : key);

/** A value on one line. */
export function shown(value) {
  if (value === null || value === undefined) return "—";
  if (typeof value === "string") return value;
  if (Array.isArray(value)) return `[${value.map(shown).join(", ")}]`;
  return `{${Object.entries(value).map(([key, inner]) => `${key}: ${shown(inner)}`).join(", ")}}`;
}

/** The id of a part of a fact: ids have no blanks. */
export const idOf = (what, { scope, ...fact }) => [what, scope, nameOf(fact)].map(encodeURIComponent).join("-");

const isText = (value) => value === null || value === undefined || typeof value === "string";

/** What was typed, as a value: lists and maps as JSON, where the fact had one. */
function typedValue(text, before) {
  if (isText(before)) return text;
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('This value is a list or a map. Write it as JSON: ["a", "b"]');
  }
}

/** A moment as it is typed: a day where it begins one here, else as it is. */
function typedMoment(moment) {
  const at = new Date(moment);
  const two = (number) => String(number).padStart(2, "0");
  const day = `${String(at.getFullYear()).padStart(4, "0")}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
  return new Date(`${day}T00:00`).getTime() === at.getTime() ? day : moment;
}

/** From when and until when a fact says itself that it is true; what is over is said anew. */
function saidWindow({ valid_from: from, valid_to: until, learned, state }) {
  const isTrueAtAll = state !== "retracted" && state !== "unset";
  const always = isTrueAtAll && learned && !from ? "0" : "";
  return {
    // What is true from when it was learned says nothing.
    from: from && from !== learned ? typedMoment(from) : always,
    until: until && new Date(until) > new Date() ? typedMoment(until) : "",
  };
}

/** A field for a moment; for a time of a day, one that can hold it. */
const momentField = (id, value = "") => h("input", { id, type: /^(\d{4}-\d\d-\d\d)?$/.test(value) ? "date" : "text", autocomplete: "off", value });

async function act(what, send) {
  try {
    const { checkpoint_id: checkpoint } = await send();
    vaultChanged();
    offerUndo(what, checkpoint);
  } catch (error) {
    toast(`Not done: ${sentence(error)}`, undefined, { failed: true });
  }
}

/** The buttons of a fact: change it, end it, take it back. */
export function factActions(fact, changed) {
  const { scope, namespace, key } = fact;
  const name = nameOf(fact);
  const has = fact.state !== "retracted" && fact.state !== "unset";
  const button = (what, text, click) => h("button", { type: "button", class: "quiet", id: idOf(what, fact), on: { click } },
    text, h("span", { class: "unseen" }, `: ${name}`));
  const body = { scope, namespace, key };
  return [
    button("edit", "Edit", (event) => edit(event.currentTarget, fact, changed)),
    has && button("unset", "No longer true", () => act(`${name} is no longer true`, () => api.unsetFact(body))),
    has && button("retract", "Never true", () => act(`${name} was never true`, () => api.retractFact(body))),
  ];
}

/** Has the value of a fact changed where it stands. */
function edit(button, fact, changed) {
  const place = button.closest(".fact");
  place.querySelector(".fact-form")?.remove();
  const name = nameOf(fact);
  const field = h("input", { id: idOf("value", fact), name: "value", required: true, autocomplete: "off", value: isText(fact.value) ? fact.value ?? "" : JSON.stringify(fact.value), "aria-label": `Value of ${name}` });
  const stated = saidWindow(fact);
  const from = momentField(idOf("from", fact));
  // It is seen, and can be cleared: nothing that stood there goes unsaid.
  const until = momentField(idOf("until", fact), stated.until);
  const wrong = h("input", { id: idOf("wrong", fact), type: "checkbox" });
  const said = h("div", {});
  const leave = () => {
    made.remove();
    byId(button.id)?.focus();
  };
  const send = async (event) => {
    event.preventDefault();
    try {
      const value = typedValue(field.value, fact.value);
      // The same value, and one that was right all along, are true from when it was said; another one from now on.
      const stays = wrong.checked || JSON.stringify(value) === JSON.stringify(fact.value);
      const { checkpoint_id: checkpoint } = await api.setFact({
        scope: fact.scope, namespace: fact.namespace, key: fact.key, value,
        from: from.value || (stays && stated.from) || undefined, until: until.value || undefined, correct: wrong.checked || undefined,
        // Whoever was faster is not written over.
        if_value: fact.value === null || fact.value === undefined ? "" : JSON.stringify(fact.value),
      });
      leave();
      changed();
      vaultChanged();
      offerUndo(`Set ${name}`, checkpoint);
      say(`Set ${name}`);
    } catch (error) {
      replace(said, failure(error));
    }
  };
  const had = fact.value !== null && fact.value !== undefined;
  const made = h("form", { class: "fact-form", "aria-label": `Change ${name}`, on: {
    submit: send,
    keydown: (event) => {
      if (event.key !== "Escape") return;
      event.preventDefault();
      event.stopPropagation();
      leave();
    },
  } },
  h("div", { class: "row" }, field, h("button", { class: "primary" }, "Save"), h("button", { type: "button", on: { click: leave } }, "Cancel")),
  h("div", { class: "row wraps" },
    h("span", { class: "tick" }, h("label", { for: from.id }, stated.from ? `True from (default: now; the old value: ${stated.from})` : "True from (default: now)"), from),
    h("span", { class: "tick" }, h("label", { for: until.id }, "Until (exclusive)"), until),
    had && h("span", { class: "tick" }, wrong, h("label", { for: wrong.id }, "The old value was never true"))),
  said);
  append(place, made);
  field.focus();
  field.select();
}

/** Asks for a fact, and sets it. */
export function setFact({ scope, scopes }, changed) {
  dialog("Set a fact", [
    h("label", { for: "fact-name" }, "Name"),
    h("input", { id: "fact-name", name: "name", required: true, autofocus: true, autocomplete: "off", spellcheck: "false", placeholder: "namespace/key" }),
    h("label", { for: "fact-value" }, "Value"),
    h("input", { id: "fact-value", name: "value", required: true, autocomplete: "off" }),
    h("div", { class: "two" },
      h("div", {}, h("label", { for: "fact-from" }, "True from"), h("input", { id: "fact-from", name: "from", type: "date" })),
      h("div", {}, h("label", { for: "fact-until" }, "Until (exclusive)"), h("input", { id: "fact-until", name: "until", type: "date" }))),
    h("label", { for: "fact-in" }, "Memory scope"),
    h("input", { id: "fact-in", name: "scope", list: "fact-scopes", value: scope || "user", autocomplete: "off", spellcheck: "false" }),
    h("datalist", { id: "fact-scopes" }, [...new Set(["user", ...scopes])].map((name) => h("option", { value: name }))),
  ], "Set", async ({ name, value, from, until, scope: within }) => {
    const at = name.trim().lastIndexOf("/");
    const written = await api.setFact({
      scope: within.trim() || "user", namespace: at < 0 ? "" : name.trim().slice(0, at).toLowerCase(), key: name.trim().slice(at + 1), value,
      from: from || undefined, until: until || undefined,
    });
    changed();
    vaultChanged();
    return () => offerUndo(`Set ${nameOf(written)} in ${written.path}`, written.checkpoint_id);
  });
}
