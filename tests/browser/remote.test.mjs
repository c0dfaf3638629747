// An assistant from outside is let in on the page: by the official TypeScript SDK's OAuth client, and a person in a real browser.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createServer as createListener } from "node:net";
import { after, before, describe, test } from "node:test";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { eventually, focused, inBrowser, overflow, text, violations } from "./support.mjs";

const HOSTILE = "<img src=x onerror=window.__xss=8>";

/** A port that was free a moment ago: the address of the vault is in its configuration. */
async function freePort() {
  const listener = createListener().listen(0, "127.0.0.1");
  await new Promise((resolve) => listener.once("listening", resolve));
  const { port } = listener.address();
  await new Promise((resolve) => listener.close(resolve));
  return port;
}

const port = await freePort();
const { vault, tabs } = inBrowser((vault) => {
  vault.write("memory.toml", vault.read("memory.toml").replace(/port = \d+/, `port = ${port}\npublic_url = "http://127.0.0.1:${port}"`));
  vault.write("notes/pangolin.md", "Pangolins have scales.\n");
  vault.write("work/plan.md", "Pangolins at work.\n");
  vault.write("notes/diary.md", "---\nprivate: true\n---\nPangolins are my secret.\n");
  const start = vault.start.bind(vault);
  vault.start = () => start({ port: String(port) });
});

/** Where the assistant hears of what the person has decided. */
const heard = [];
let listening;
let callback;
before(async () => {
  listening = createServer((request, response) => {
    if (request.url.startsWith("/cb")) heard.push(new URL(request.url, callback));
    response.setHeader("Content-Type", "text/html");
    response.end("<!doctype html><title>The assistant</title><link rel=icon href=data:,><h1>Back at the assistant</h1>");
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => listening.once("listening", resolve));
  callback = `http://127.0.0.1:${listening.address().port}/cb`;
});
after(() => listening.close());

/** What the SDK keeps of one assistant. */
class Assistant {
  constructor(name = "TypeScript SDK") {
    this.name = name;
  }

  get redirectUrl() {
    return callback;
  }

  get clientMetadata() {
    return { client_name: this.name, redirect_uris: [callback], token_endpoint_auth_method: "none", grant_types: ["authorization_code", "refresh_token"], response_types: ["code"] };
  }

  state() {
    return `state-${this.name.length}`;
  }

  clientInformation() {
    return this.information;
  }

  saveClientInformation(information) {
    this.information = information;
  }

  tokens() {
    return this.kept;
  }

  saveTokens(tokens) {
    this.kept = tokens;
  }

  redirectToAuthorization(address) {
    this.address = address.href;
  }

  saveCodeVerifier(verifier) {
    this.verifier = verifier;
  }

  codeVerifier() {
    return this.verifier;
  }

  transport() {
    return new StreamableHTTPClientTransport(new URL(`${vault.origin}/mcp`), { authProvider: this });
  }

  /** Goes as far as it can without the person; gives the transport that waits for the code. */
  async begin() {
    const transport = this.transport();
    await assert.rejects(() => new Client({ name: this.name, version: "1" }).connect(transport), UnauthorizedError);
    return transport;
  }

  async connected() {
    const client = new Client({ name: this.name, version: "1" });
    await client.connect(this.transport());
    return client;
  }
}

const answer = (result) => result.content.map((part) => part.text).join("\n");
const search = async (client, query) => answer(await client.callTool({ name: "search", arguments: { query } }));

/** A tab that is signed in. */
async function signedIn(options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  return page;
}

async function backAt(page) {
  await page.waitForSelector("text=Back at the assistant");
  return heard.pop();
}

describe("consent", () => {
  test("the SDK signs in, the person chooses what it sees, and it sees that", async () => {
    const assistant = new Assistant();
    const transport = await assistant.begin();
    const page = await signedIn();
    await page.goto(assistant.address);
    await page.waitForSelector("#consent-allow");
    assert.equal(await text(page, "h1[tabindex]"), "Let TypeScript SDK into your memory?");
    await focused(page, ".consent h1");
    assert.match(await text(page, ".consent"), /nobody has checked that[^]*goes to 127\.0\.0\.1/);
    await page.waitForFunction(() => /It would see \d+ notes?; never (this|these) \d+ private ones?\./.test(document.getElementById("consent-sees").textContent));
    const all = Number((await text(page, "#consent-sees")).match(/\d+/)[0]);
    await page.uncheck("#collection-all");
    await page.check(".choices input[value=work]");
    await page.waitForFunction(() => document.getElementById("consent-sees").textContent.startsWith("It would see 1 note;"));
    await page.uncheck("#agent-allow");
    await page.waitForFunction(() => document.getElementById("consent-sees").textContent.startsWith("It would see 0 notes;"));
    await page.check("#agent-allow");
    await page.fill("#agent-paths", "!work/**");
    await page.waitForFunction(() => document.getElementById("consent-sees").textContent.startsWith("It would see 0 notes;"));
    await page.fill("#agent-paths", "");
    await page.waitForFunction(() => document.getElementById("consent-sees").textContent.startsWith("It would see 1 note;"));
    assert.ok(all > 1);
    await page.click("#consent-sees summary");
    assert.match(await text(page, "#consent-sees"), /notes\/diary\.md/);
    await page.fill("#agent-expires", "2099-12-31");
    assert.deepEqual(await violations(page), []);
    await page.click("#consent-allow");
    const back = await backAt(page);
    assert.deepEqual([back.searchParams.get("state"), back.searchParams.get("iss")], ["state-14", vault.origin]);
    await transport.finishAuth(back.searchParams.get("code"));
    const client = await assistant.connected();
    const found = await search(client, "pangolins");
    assert.match(found, /work\/plan\.md/);
    assert.doesNotMatch(found, /notes\//);
    assert.match(vault.read("agents/typescript-sdk/agent.md"), /expires: "?2099-12-31/);
    // Its token is over: the SDK renews it by itself, once.
    const { refresh_token: before } = assistant.kept;
    assistant.kept.access_token = "0".repeat(64);
    assert.match(await search(client, "pangolins"), /work\/plan\.md/);
    assert.notEqual(assistant.kept.refresh_token, before);
    // Taking it back is deleting its page.
    vault.delete("agents/typescript-sdk/agent.md");
    await assert.rejects(() => search(client, "pangolins"));
    await client.close();
  });

  test("whoever is not signed in signs in first; who says no gives no code", async () => {
    const assistant = new Assistant("Says No");
    await assistant.begin();
    const page = await tabs.tab();
    await page.goto(assistant.address);
    await page.waitForSelector("#token");
    assert.match(await text(page, ".login"), /An assistant asks to be let in/);
    await page.fill("#token", vault.token);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#consent-deny");
    await page.click("#consent-deny");
    const back = await backAt(page);
    assert.deepEqual([back.searchParams.get("error"), back.searchParams.get("code")], ["access_denied", null]);
  });

  test("one that comes again may be let in as before", async () => {
    const page = await signedIn();
    for (const round of [1, 2]) {
      const assistant = new Assistant("Again");
      const transport = await assistant.begin();
      await page.goto(assistant.address);
      await page.waitForSelector("#consent-allow");
      if (round === 2) {
        await page.click("#consent-allow");
        await page.waitForSelector("text=the agent `again` already exists");
        await page.click("#consent-existing");
      } else {
        await page.click("#consent-allow");
      }
      await transport.finishAuth((await backAt(page)).searchParams.get("code"));
      const client = await assistant.connected();
      assert.match(await search(client, "pangolins"), /pangolin\.md/);
      await client.close();
    }
  });

  test("a hostile assistant shows as text, and is sent nowhere that it did not name", async () => {
    const register = await fetch(`${vault.origin}/oauth/register`, {
      method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ client_name: HOSTILE, redirect_uris: [callback] }),
    });
    const { client_id: id } = await register.json();
    const asks = (more) => `${vault.origin}/oauth/authorize?${new URLSearchParams({
      response_type: "code", client_id: id, redirect_uri: callback, code_challenge: "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM", code_challenge_method: "S256", ...more,
    })}`;
    const page = await signedIn();
    await page.goto(asks({}));
    await page.waitForSelector("#consent-allow");
    assert.equal(await text(page, ".consent h1"), `Let ${HOSTILE} into your memory?`);
    for (const wrong of [{ redirect_uri: "https://evil.example/" }, { redirect_uri: "javascript:window.__xss=9" }, { client_id: "x" }]) {
      await page.goto(asks(wrong));
      await page.waitForSelector("text=This cannot be let in");
      assert.equal(await page.locator(".consent button").count(), 0);
    }
    await page.goto(asks({ code_challenge_method: "plain" }));
    await page.click("text=Back to 127.0.0.1");
    assert.equal((await backAt(page)).searchParams.get("error"), "invalid_request");
  });

  test("it fits a phone, and goes by keyboard alone", async () => {
    const assistant = new Assistant("Phone");
    await assistant.begin();
    const page = await signedIn({ width: 360, height: 640, scheme: "dark" });
    await page.goto(assistant.address);
    await page.waitForFunction(() => document.getElementById("consent-sees")?.textContent.includes("It would see"));
    assert.deepEqual(await overflow(page), []);
    assert.deepEqual(await violations(page), []);
    await page.focus("#agent-name");
    await page.keyboard.press("Enter");
    await eventually("the code", async () => heard.length > 0);
    assert.ok((await backAt(page)).searchParams.get("code"));
  });
});
