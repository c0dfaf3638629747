// How each program is set up for an agent: what goes where, with a button that copies it.

import { VAULT, api } from "../lib/api.js";
import { failure, h, replace, say } from "../lib/dom.js";

/** A text with a button that copies it. */
export function copyable(text, { id, of = "", primary = false } = {}) {
  const said = h("div", {});
  const shown = h("span", {}, "Copy");
  const button = h("button", { type: "button", class: primary ? "primary" : undefined, autofocus: primary, on: { click: async () => {
    try {
      await navigator.clipboard.writeText(text);
      shown.textContent = "Copied";
      say("Copied");
    } catch {
      replace(said, failure({ message: "The browser does not let this page copy text. Select it and copy it yourself." }));
    }
  } } }, shown, of && h("span", { class: "unseen" }, ` ${of}`));
  return h("div", {}, h("div", { class: "row" }, h("code", { id, class: "token", tabindex: 0 }, text), button), said);
}

const json = (value) => JSON.stringify(value, undefined, 2);

/** What `docs/mcp.md` says of each: its name, where it goes, and the text. Programs without a field for a token start `vault mcp`. */
function programs({ slug, token, vault, origin }) {
  const args = ["mcp", "--vault", vault, "--agent", slug];
  const server = { command: "vault", args };
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  return [
    ["Claude Code", "In a terminal:", `claude mcp add --scope user --transport http vault ${origin}/mcp --header "Authorization: Bearer ${token}"`],
    ["Claude Desktop", "Settings → Developer → Edit Config; then restart it:", json({ mcpServers: { vault: server } })],
    ["Codex", "In ~/.codex/config.toml:", `[mcp_servers.vault]\ncommand = "vault"\nargs = ${JSON.stringify(args)}`],
    ["Cursor", "In ~/.cursor/mcp.json; then switch it on in its settings, under MCP:", json({ mcpServers: { vault: { url: `${origin}/mcp`, headers: { Authorization: `Bearer ${token}` } } } })],
    ["VS Code", "MCP: Open User Configuration, in the palette:", json({ servers: { vault: { type: "http", url: `${origin}/mcp`, headers: { Authorization: `Bearer ${token}` } } } })],
    ["Moltis", "In ~/.config/moltis/moltis.toml; then restart its gateway:", `[mcp.servers.vault]\ncommand = "vault"\nargs = ${JSON.stringify(args)}`],
    ["OpenClaw", "In a terminal; then restart its gateway:", `openclaw mcp set vault ${quoted(JSON.stringify(server))}`],
    ["Other programs", "Over HTTP; the log of the agent is on this page, and at `vault agent log`:", `Authorization: Bearer ${token}\n${origin}/mcp\n${origin}/api/user-memory/search?q=…\n${origin.replace("://", `://${token}@`)}`],
  ];
}

/** The set-ups for an agent, filled in when the vault's folder is known. */
export function setups(slug, token) {
  const place = h("div", { class: "setups" });
  api.status().then(({ vault }) => replace(place,
    programs({ slug, token, vault, origin: location.origin + VAULT }).map(([name, where, text]) =>
      h("details", { name: "setup" }, h("summary", {}, name), h("p", { class: "hint" }, where), copyable(text, { of: `the set-up of ${name}` })))),
  (error) => replace(place, failure(error)));
  return place;
}
