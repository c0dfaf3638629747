// What the official client of the protocol makes of a real vault: over standard input and output and over HTTP, by the newest
// version of the protocol and by the one before.

import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";

const binary = process.env.VAULT_BINARY ?? new URL("../../target/debug/vault", import.meta.url).pathname;
/** Long: a machine that is busy with other things is no failure. */
const PATIENCE = 60_000;

/** A vault without a model, with an agent that sees all of it but the diary. */
class Vault {
  constructor() {
    this.scratch = mkdtempSync(join(tmpdir(), "vault-mcp-"));
    this.folder = join(this.scratch, "vault");
    const home = (name) => join(this.scratch, name);
    this.environment = {
      PATH: process.env.PATH, HOME: home("home"), XDG_CACHE_HOME: home("cache"), XDG_STATE_HOME: home("state"), XDG_CONFIG_HOME: home("config"),
    };
    this.write("memory.toml", '[embed]\nmodel = "none"\n');
    this.write("notes/garden.md", "# Garden\n\nThe tomatoes need water on Mondays.\n\n## Roses\n\nCut them in March.\n");
    this.write("notes/my cellar ü.md", "# Cellar\n\nThere are twelve jars of plums.\n");
    this.write("notes/diary.md", "---\nprivate: true\n---\n# Diary\n\nThe tomatoes are a secret.\n");
    this.token = JSON.parse(this.command("agent", "add", "Reference Client", "--allow", "--json")).token;
  }

  write(path, text) {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  command(...args) {
    return execFileSync(binary, [...args, "--vault", this.folder], { env: this.environment, encoding: "utf8" });
  }

  async serve() {
    this.daemon = spawn(binary, ["serve", "--vault", this.folder, "--port", "0"], { env: this.environment, stdio: "ignore" });
    const deadline = Date.now() + PATIENCE;
    while (!this.address) {
      assert.ok(Date.now() < deadline, "the daemon starts");
      try {
        const told = JSON.parse(readFileSync(join(this.folder, ".vault/daemon.json"), "utf8"));
        if (told.pid === this.daemon.pid) this.address = told.address;
      } catch { /* It is not there yet. */ }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  /** What a client that starts the program is told to start. */
  stdio() {
    const args = ["mcp", "--vault", this.folder, "--agent", "reference-client"];
    return new StdioClientTransport({ command: binary, args, env: this.environment, stderr: "inherit" });
  }

  /** The daemon's own address, with the agent's token. */
  http(token = this.token) {
    const headers = { Authorization: `Bearer ${token}` };
    return new StreamableHTTPClientTransport(new URL(`http://${this.address}/mcp`), { requestInit: { headers } });
  }

  async remove() {
    if (this.daemon) {
      const ended = new Promise((resolve) => this.daemon.once("exit", resolve));
      this.daemon.kill();
      await ended;
    }
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

/** A client that asks for structured content, but where it says something else of itself. */
async function connected(transport, mode, capabilities = { experimental: { structuredContent: {} } }) {
  const client = new Client({ name: "vault-mcp-tests", version: "1" }, { versionNegotiation: { mode }, capabilities });
  await client.connect(transport, { timeout: PATIENCE });
  return client;
}

/** Calls a tool that must succeed. */
async function call(client, name, args) {
  const result = await client.callTool({ name, arguments: args }, { timeout: PATIENCE });
  assert.ok(!result.isError, `${name}: ${JSON.stringify(result.content)}`);
  assert.ok(result.content[0].text.length > 0, name);
  return result.structuredContent;
}

const READING = ["context", "fetch", "get", "graph", "related", "search", "status"];
const WRITING = ["entry", "fact", "memory"];

/** All that a client does, and what must come of it. */
async function useEverything(client) {
  assert.equal(client.getServerVersion().name, "vault");
  assert.match(client.getInstructions(), /never follow instructions/);

  const { tools } = await client.listTools();
  const named = Object.fromEntries(tools.map((tool) => [tool.name, tool]));
  for (const name of READING) assert.equal(named[name]?.annotations.readOnlyHint, true, name);
  for (const name of WRITING) assert.equal(named[name]?.annotations.destructiveHint, true, name);
  assert.deepEqual(tools.map((tool) => tool.name).sort(), [...READING, ...WRITING].sort());
  // All tools with their schemas have a place in every conversation.
  const cost = countTokens(JSON.stringify(tools));
  assert.ok(cost <= 2200, `${cost} tokens`);
  if (process.env.SAY_TOKENS) for (const tool of tools) console.log(tool.name, countTokens(JSON.stringify(tool)), "of", cost);

  for (const mode of ["keyword", "semantic", "hybrid", "deep"]) {
    const found = await call(client, "search", { mode, query: "tomatoes" });
    assert.deepEqual([...new Set(found.results.map((hit) => hit.path))], ["notes/garden.md"], mode);
    assert.equal(found.results[0].citation, "notes/garden.md#L1-L3", mode);
  }
  const { results: [hit] } = await call(client, "search", { query: "plums" });
  assert.match((await call(client, "get", { what: hit.hash })).text, /twelve jars/);
  assert.equal((await call(client, "get", { what: "notes/garden.md", line: 5, lines: 1 })).text, "## Roses\n");
  const many = await call(client, "get", { list: [hit.url, "notes/none.md"] });
  assert.deepEqual([many.results[0].path, many.failed[0].code], ["notes/my cellar ü.md", "not_found"]);
  assert.equal((await call(client, "status", {})).notes, 2);
  const refused = await client.callTool({ name: "get", arguments: { what: "notes/diary.md" } });
  assert.ok(refused.isError && refused.content[0].text.startsWith("not_found: "), JSON.stringify(refused));
  await assert.rejects(client.callTool({ name: "no_such_tool", arguments: {} }), { code: -32602 });

  const saved = await call(client, "memory", { action: "save", content: "The person likes aardvarks." });
  const { results: [own] } = await call(client, "memory", { action: "search", query: "aardvarks" });
  assert.equal(own.path, saved.path);
  assert.match((await call(client, "memory", { action: "get", path: "MEMORY.md" })).text, /aardvarks/);
  const forgotten = await call(client, "memory", { action: "forget", query: "aardvarks" });
  assert.equal(forgotten.deleted.length, 1);
  await call(client, "memory", { action: "undo", checkpoint_id: forgotten.checkpoint_ids[0] });
  assert.equal((await call(client, "memory", { action: "delete", file: "MEMORY.md", whole_file: true })).file_deleted, true);

  const { resources } = await client.listResources();
  assert.deepEqual(resources.map((resource) => resource.name), ["notes/garden.md", "notes/my cellar ü.md"]);
  const { contents: [note] } = await client.readResource({ uri: resources[1].uri });
  assert.deepEqual([note.mimeType, note.text], ["text/markdown", "# Cellar\n\nThere are twelve jars of plums.\n"]);
  await assert.rejects(client.readResource({ uri: "vault://notes/diary.md" }));
  const { resourceTemplates: [template] } = await client.listResourceTemplates();
  assert.equal(template.uriTemplate, "vault://{+path}");

  const { prompts } = await client.listPrompts();
  assert.deepEqual(prompts.map((prompt) => prompt.name), ["recall", "context", "remember"]);
  const recall = await client.getPrompt({ name: "recall", arguments: { topic: "the plums" } });
  assert.match(recall.messages[0].content.text, /the plums/);
}

for (const mode of ["legacy", { pin: "2026-07-28" }]) {
  const version = mode.pin ?? "2025";
  describe(`with a daemon, version ${version}`, () => {
    const vault = new Vault();
    before(() => vault.serve());
    after(() => vault.remove());

    for (const kind of ["stdio", "http"]) {
      test(kind, async () => {
        const client = await connected(vault[kind](), mode);
        assert.ok(client.getNegotiatedProtocolVersion().startsWith(version), client.getNegotiatedProtocolVersion());
        await useEverything(client);
        await client.close();
      });
    }
    test("a client that asks for nothing reads text", async () => {
      const client = await connected(vault.http(), mode, {});
      const { content: [{ text }], structuredContent } = await client.callTool({ name: "search", arguments: { query: "tomatoes" } });
      assert.equal(structuredContent, undefined);
      const [, ...hits] = text.split("\n[");
      assert.match(hits[0], /^notes\/garden\.md#L1-L3\] Garden/);
      for (const hit of hits) assert.ok(countTokens(hit) <= 120, hit);
      await client.close();
    });
    test("nobody is served without a token", async () => {
      await assert.rejects(connected(vault.http("nonsense"), mode));
    });
  });

  test(`without a daemon, version ${version}`, async () => {
    const vault = new Vault();
    const client = await connected(vault.stdio(), mode);
    await useEverything(client);
    await client.close();
    await vault.remove();
  });
}
