// People of a server of several vaults: an invitation, a passphrase, their vaults, and what a reader and an editor see of another's.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, inBrowser, overflow, text, violations } from "./support.mjs";

const folder = mkdtempSync(join(tmpdir(), "vault-people-"));
const write = (path, what) => {
  mkdirSync(join(folder, path, ".."), { recursive: true });
  writeFileSync(join(folder, path), what);
};
const { vault, tabs } = inBrowser((vault) => {
  for (const name of ["sam", "family"]) write(`${name}/memory.toml`, "[embed]\nmodel = \"none\"\n");
  write("family/notes/plan.md", "# Plan\n\nPangolins on Sunday.\n\n- [ ] buy bread\n");
  write("family/notes/secret.md", "---\nprivate: true\n---\nPangolins are a secret.\n");
  write("sam/notes/own.md", "Sam's own pangolin.\n");
  const { remove, stop } = vault;
  vault.start = async () => {
    vault.daemon = spawn(process.env.VAULT_BINARY ?? "target/debug/vault", ["serve", "--vaults", folder, "--port", "0"], { env: vault.environment });
    let said = "";
    vault.daemon.stdout.on("data", (more) => { said += more; });
    vault.origin = await eventually("the server", () => said.match(/at (http:\/\/\S+)/)?.[1]);
  };
  vault.stop = () => stop.call(vault);
  vault.remove = () => {
    remove.call(vault);
    rmSync(folder, { recursive: true, force: true });
  };
});
const person = (...args) => vault.command("person", ...args, "--vaults", folder).trim();
/** The address of an invitation: the configuration's port is not the one that was free. */
const invitation = (...args) => `${vault.origin}/v/#${person("add", ...args).split("#")[1]}`;

async function joined(...args) {
  const page = await tabs.tab();
  await page.goto(invitation(...args));
  await page.fill("#passphrase", "correct horse battery");
  await page.click("text=Join");
  await page.waitForSelector("text=Signed in as");
  return page;
}

const rooms = (page) => page.locator("#rooms a:visible").evaluateAll((all) => all.map((room) => room.dataset.room));

describe("people", () => {
  test("an invitation leads to one's vaults, and one's name back to them", async () => {
    const page = await joined("Sam", "--give", "sam=owner", "--give", "family=reader");
    assert.deepEqual(await page.locator("[aria-label=Vaults] a").allInnerTexts(), ["family", "sam"]);
    assert.deepEqual(await violations(page), []);
    await page.click("text=Sign out");
    await page.fill("#name", "sam");
    await page.fill("#passphrase", "something wrong");
    await page.click("button:has-text('Sign in')");
    assert.match(await text(page, ".failure"), /wrong/);
    await page.fill("#passphrase", "correct horse battery");
    await page.click("button:has-text('Sign in')");
    await page.waitForSelector("text=Signed in as");
    // One's own vault is as ever.
    await page.click("[aria-label=Vaults] >> text=sam");
    await page.fill("#query", "pangolin");
    await page.waitForSelector(".hit");
    assert.deepEqual(await rooms(page), ["search", "notes", "memory", "agents", "settings"]);
    assert.ok(await page.isVisible("#save"));
  });

  test("a reader reads what is not private, and is shown nothing that is the owner's", async () => {
    const page = await joined("Kim", "--give", "family=reader");
    await page.click("[aria-label=Vaults] >> text=family");
    await page.fill("#query", "pangolins");
    await page.waitForSelector(".hit");
    assert.equal(await page.locator(".hit").count(), 1);
    assert.deepEqual(await rooms(page), ["search", "notes"]);
    await page.click(".hit-title");
    await page.waitForSelector("#reader h2");
    assert.ok(!(await page.isVisible("#reader .edit")) && !(await page.isVisible("#reader .danger")) && !(await page.isVisible("#save")) && !(await page.isVisible("#reader .share")));
    assert.ok(await page.isDisabled("#reader .body input[type=checkbox]"));
    assert.deepEqual(await overflow(page), []);
    await page.click("#rooms [data-room=notes]");
    await page.waitForSelector("#view >> text=plan");
  });

  test("an editor edits a note, and who comes without a session is led to sign in and back", async () => {
    const page = await joined("Ann", "--give", "family=editor");
    await page.goto(`${vault.origin}/v/family/#/search?note=notes%2Fplan.md`);
    await page.click("#reader .edit");
    await page.waitForSelector(".cm-content");
    await page.click(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("Ann was here.");
    await page.waitForSelector("#reader >> text=Saved");
    await page.click("#reader .close:visible");
    await page.waitForSelector("#reader .body >> text=Ann was here.");
    const other = await tabs.tab();
    await other.goto(`${vault.origin}/v/family/#/search?note=notes%2Fplan.md`);
    await other.click("text=Sign in with your name");
    await other.fill("#name", "ann");
    await other.fill("#passphrase", "correct horse battery");
    await other.click("button:has-text('Sign in')");
    await other.waitForSelector("#reader .body >> text=Ann was here.");
  });
});
