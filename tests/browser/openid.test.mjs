// A server of several vaults signs people in with an OpenID provider, which here is a form that takes any name.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { createHash, generateKeyPairSync, randomUUID, sign } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, inBrowser, text, violations } from "./support.mjs";

/** A provider that signs in whoever types a name, or answers that they do not want to. */
async function provide() {
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const asked = new Map();
  const encode = (value) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const body = async (request) => new URLSearchParams(Buffer.concat(await request.toArray()).toString());
  const answers = {
    "/.well-known/openid-configuration": (issuer) => ({
      issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token`, jwks_uri: `${issuer}/jwks`,
      response_types_supported: ["code"], subject_types_supported: ["public"], id_token_signing_alg_values_supported: ["ES256"],
    }),
    "/jwks": () => ({ keys: [{ ...publicKey.export({ format: "jwk" }), kid: "one", use: "sig" }] }),
    "/token": async (issuer, request) => {
      const sent = await body(request);
      const { subject, query } = asked.get(sent.get("code"));
      asked.delete(sent.get("code"));
      assert.equal(createHash("sha256").update(sent.get("code_verifier")).digest("base64url"), query.get("code_challenge"));
      const now = Math.floor(Date.now() / 1000);
      const claims = { iss: issuer, aud: query.get("client_id"), sub: subject, nonce: query.get("nonce"), iat: now, exp: now + 300 };
      const signed = `${encode({ alg: "ES256", kid: "one" })}.${encode(claims)}`;
      const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
      return { access_token: "access", token_type: "Bearer", id_token: `${signed}.${signature.toString("base64url")}` };
    },
  };
  const server = createServer(async (request, response) => {
    const issuer = `http://${request.headers.host}`;
    const { pathname, searchParams } = new URL(request.url, issuer);
    if (pathname === "/authorize" && request.method === "GET") {
      response.setHeader("Content-Type", "text/html");
      return response.end(`<form method="post"><label>Name <input name="subject"></label><button>Go on</button><button name="no" value="1">Cancel</button></form>`);
    }
    if (pathname === "/authorize") {
      const sent = await body(request);
      const code = randomUUID();
      asked.set(code, { subject: sent.get("subject"), query: searchParams });
      const said = sent.get("no") ? { error: "access_denied" } : { code };
      const back = new URLSearchParams({ ...said, state: searchParams.get("state"), iss: issuer, session_state: "more" });
      response.writeHead(303, { Location: `${searchParams.get("redirect_uri")}?${back}` });
      return response.end();
    }
    // Browsers ask for an icon.
    if (!answers[pathname]) return response.writeHead(404).end();
    response.setHeader("Content-Type", "application/json");
    return response.end(JSON.stringify(await answers[pathname](issuer, request)));
  });
  await new Promise((listening) => { server.listen(0, listening); });
  // To the browser it is another site than the server, whose cookies it does not send along from there.
  return { server, issuer: `http://localhost:${server.address().port}` };
}

const folder = mkdtempSync(join(tmpdir(), "vault-openid-"));
let provider;
const { vault, tabs } = inBrowser((vault) => {
  mkdirSync(join(folder, "family/notes"), { recursive: true });
  writeFileSync(join(folder, "family/memory.toml"), "[embed]\nmodel = \"none\"\n");
  writeFileSync(join(folder, "family/notes/plan.md"), "# Plan\n\nPangolins on Sunday.\n");
  const { remove, stop } = vault;
  vault.start = async () => {
    provider = await provide();
    writeFileSync(join(folder, "server.toml"), `[sign_in]\nopenid_issuer = "${provider.issuer}"\nopenid_client_id = "vault"\n`);
    vault.daemon = spawn(process.env.VAULT_BINARY ?? "target/debug/vault", ["serve", "--vaults", folder, "--port", "0"], { env: vault.environment });
    let said = "";
    vault.daemon.stdout.on("data", (more) => { said += more; });
    vault.origin = await eventually("the server", () => said.match(/at (http:\/\/\S+)/)?.[1]);
  };
  vault.stop = () => {
    provider.server.close();
    provider.server.closeAllConnections();
    return stop.call(vault);
  };
  vault.remove = () => {
    remove.call(vault);
    rmSync(folder, { recursive: true, force: true });
  };
});
const person = (...args) => vault.command("person", ...args, "--vaults", folder).trim();

/** Types a name at the provider. */
async function goOn(page, name) {
  await page.click("text=Sign in with localhost");
  await page.fill("input[name=subject]", name);
  await page.click("text=Go on");
}

describe("an OpenID provider", () => {
  test("an invitation is accepted there, and later signs in and leads back", async () => {
    const page = await tabs.tab();
    await page.goto(`${vault.origin}/v/#${person("add", "Sam", "--give", "family=editor").split("#")[1]}`);
    await page.waitForSelector("text=Sign in with localhost");
    assert.deepEqual(await violations(page), []);
    // Who thinks better of it is invited still.
    await page.click("text=Sign in with localhost");
    await page.click("text=Cancel");
    assert.match(await text(page, ".failure"), /could not be signed in/);
    await goOn(page, "sam-1");
    await page.waitForSelector("text=Signed in as");
    assert.equal(page.url(), `${vault.origin}/v/`, "nothing of it stays in the address");
    await page.click("text=Sign out");
    await page.waitForSelector("#name");
    await goOn(page, "somebody else");
    assert.match(await text(page, ".failure"), /could not be signed in/);
    // By the keyboard alone, and back to where one wanted to go.
    await page.goto(`${vault.origin}/v/family/#/search?note=notes%2Fplan.md`);
    await page.click("text=Sign in with your name");
    await page.waitForSelector("#provider");
    await page.focus("#passphrase");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await page.fill("input[name=subject]", "sam-1");
    await page.click("text=Go on");
    await page.waitForSelector("#reader .body >> text=Pangolins on Sunday.");
    assert.equal(new URL(page.url()).search, "");
    page.elsewhere = page.elsewhere.filter((address) => !address.startsWith(`${provider.issuer}/`));
  });
});
