// What is asked of the person about agents: who, what it may read, and whether really.

import { api } from "../lib/api.js";
import { dayOf, h, say } from "../lib/dom.js";
import { changed as vaultChanged, dialog, offerUndo, show } from "../note/change.js";
import { go } from "../lib/route.js";
import { copyable, setups } from "./agent-setup.js";

const WRITE_MODES = [
  ["hybrid", "MEMORY.md, and files in memory/"],
  ["prompt-only", "Only MEMORY.md, which is put into prompts"],
  ["search-only", "Only files in memory/, which searches find"],
  ["off", "Nothing"],
];
/** The agents' own folder is given to none of them. */
const AGENTS = "agents";

/** The collections that an agent may be given. */
export async function collectionNames() {
  const { collections } = await api.collections().catch(() => ({ collections: [] }));
  return collections.filter((name) => name !== AGENTS);
}

/** Asks for a new agent, and shows its token. */
export async function addAgent(changed) {
  const rules = fields({ collections: ["*"], exclude_tags: [], paths: [], write_mode: "hybrid", can_suggest: false, write_collections: [] }, await collectionNames());
  dialog("Add an agent", [
    h("label", { for: "agent-name" }, "Name"),
    h("input", { id: "agent-name", name: "name", required: true, maxlength: 60, autofocus: true, autocomplete: "off", placeholder: "Claude" }),
    tick({ id: "agent-allow", name: "allow", "aria-describedby": "agent-allow-hint" }, "May read your memory"),
    h("p", { class: "hint", id: "agent-allow-hint" }, "Private notes always stay hidden. The agent always has its own memory."),
    rules,
  ], "Add", async ({ name, allow }, form) => {
    const made = await api.addAgent({ name, rules: { can_read_user_memory: allow !== undefined, ...rulesOf(form) } });
    changed();
    return () => showToken(made, "Added");
  });
}

/** Asks what of its page is to be otherwise. */
export async function changeRules(agent, changed) {
  const names = await collectionNames();
  const form = dialog(`Permissions of ${agent.name}`, [h("p", { class: "hint" }, "If it may not read your memory, only the last two settings apply."), fields(agent, names)], "Change", async () => {
    const rules = Object.fromEntries(Object.entries(rulesOf(form)).filter(([key, value]) => JSON.stringify(value) !== JSON.stringify(before[key])));
    if (!Object.keys(rules).length) return;
    const now = await api.changeAgent(agent.slug, rules);
    say(`Changed ${now.name}`);
    changed();
  });
  // What is not touched is not sent: the page may say it in other words.
  const before = rulesOf(form);
}

/** What is asked of its rules. */
export function fields({ collections, exclude_tags: tags, paths, write_mode: mode, expires, can_suggest: suggests, write_collections: writes }, names) {
  const every = collections.includes("*");
  const chosen = collections.filter((name) => name !== "*");
  const some = h("div", { class: "choices", hidden: every },
    [...new Set([...names, ...chosen])].map((name, at) => tick({ id: `collection-${at}`, name: "collections", value: name, checked: chosen.includes(name) }, name)));
  const all = h("input", { type: "checkbox", id: "collection-all", name: "all", checked: every, on: { change: () => (some.hidden = all.checked) } });
  const last = expires && dayOf(Date.parse(expires) - 1);
  return [
    h("fieldset", {}, h("legend", {}, "Collections it may read"),
      h("div", { class: "tick" }, all, h("label", { for: "collection-all" }, "All, including new ones")), some),
    h("label", { for: "agent-tags" }, "Hidden tags"),
    h("input", { id: "agent-tags", name: "exclude_tags", value: tags.join(" "), placeholder: "optional, separated by spaces", autocomplete: "off", spellcheck: "false" }),
    h("label", { for: "agent-paths" }, "Paths"),
    h("textarea", { id: "agent-paths", name: "paths", rows: 2, spellcheck: "false", placeholder: "notes/work/**", "aria-describedby": "agent-paths-hint" }, paths.join("\n")),
    h("p", { class: "hint", id: "agent-paths-hint" }, "One per line; a line with ! in front excludes a path. Empty: all paths."),
    tick({ id: "agent-suggests", name: "can_suggest", checked: suggests }, "May suggest edits of notes that it reads; they wait in Review"),
    h("label", { for: "agent-write-collections" }, "Collections in which it may write notes itself"),
    h("input", { id: "agent-write-collections", name: "write_collections", value: writes.join(", "), placeholder: "none; separated by commas", autocomplete: "off", spellcheck: "false" }),
    h("div", { class: "two" },
      h("div", {}, h("label", { for: "agent-writes" }, "May write to its own memory"),
        h("select", { id: "agent-writes", name: "write_mode" }, WRITE_MODES.map(([value, text]) => h("option", { value, selected: value === mode }, text)))),
      h("div", {}, h("label", { for: "agent-expires" }, "Last day (optional)"),
        h("input", { id: "agent-expires", name: "expires", type: "date", value: last }))),
  ];
}

/** A box to tick, with what it means. */
export function tick(attributes, text) {
  return h("div", { class: "tick" }, h("input", { type: "checkbox", ...attributes }), h("label", { for: attributes.id }, text));
}

/** What a form says, as the API takes it. */
export function rulesOf(form) {
  const data = new FormData(form);
  const texts = (name, apart) => data.get(name).split(apart).map((text) => text.trim()).filter(Boolean);
  return {
    collections: data.has("all") ? ["*"] : data.getAll("collections"),
    exclude_tags: texts("exclude_tags", /[\s,]+/).map((tag) => tag.replace(/^#/, "")).filter(Boolean),
    paths: texts("paths", "\n"),
    write_mode: data.get("write_mode"),
    can_suggest: data.has("can_suggest"),
    write_collections: texts("write_collections", ","),
    expires: data.get("expires"),
  };
}

/** Asks whether the token shall be replaced, and shows the new one. */
export function rotate(agent, changed) {
  const text = agent.token_since ? "Its present token stops working at once." : "It has no token now.";
  dialog(`A new token for ${agent.name}?`, [h("p", {}, text)], "New token", async () => {
    const made = await api.rotateAgent(agent.slug);
    changed();
    return () => showToken(made, "A new token for");
  });
}

/** Asks whether an agent shall go, and offers to take that back. */
export function remove({ slug, name }) {
  dialog(`Remove ${name}?`, [
    h("p", {}, "Its token stops working at once. Its page is moved to .trash/; its memory and the log of what it read stay."),
  ], "Remove", async () => {
    const { checkpoint_id: checkpoint } = await api.removeAgent(slug);
    return () => {
      go({ agent: undefined }, { replace: true });
      vaultChanged();
      offerUndo(`Removed ${name}`, checkpoint);
    };
  });
}

/** Shows a token, this once, and where it goes. */
function showToken({ agent: { name, slug }, token }, done) {
  const made = show(h("dialog", { "aria-labelledby": "token-title", class: "wide-dialog" },
    h("h2", { id: "token-title" }, `${done} ${name}`),
    h("p", {}, "This is its token. It is shown only once: put it into the configuration of the agent’s program."),
    copyable(token, { id: "agent-token", primary: true }),
    h("h3", {}, "Set up its program"),
    h("p", { class: "hint" }, "On this machine, ", h("code", {}, `vault connect PROGRAM --agent ${slug}`), " writes the settings itself. By hand:"),
    setups(slug, token),
    h("div", { class: "row end" }, h("button", { type: "button", on: { click: () => made.close() } }, "Done"))));
}
