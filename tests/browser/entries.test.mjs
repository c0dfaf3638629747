// The person looks entries up on the page, changes them, and goes through what is proposed.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { describe, test } from "node:test";
import { eventually, inBrowser, overflow, text, unfold, violations } from "./support.mjs";

const HOSTILE = "<img src=x onerror=window.__xss=9>";

const { vault, tabs } = inBrowser((vault) => {
  vault.write("conversations/a.md", "# A\n\n> I test with make quick.\n");
  vault.write("memories/user.md", "# Known\n\n- [preference] Prefers tabs #editor ^e-1\n- [fact] User likes tea ^e-2\n- Likes ![x](x) and hostile &lt;img src=x onerror=window.__xss=9> ^e-3\n");
  vault.write("memories/pending.md", `---\nprivate: true\n---\n\n- [preference] Tests with make quick (confidence 0.8, source conversations/a.md#L3, trust agent) ^e-a\n- [fact] User does not like tea ^e-b\n- [fact] Third ${HOSTILE.replaceAll("<", "&lt;")} (source conversations/a.md#L3) ^e-c\n`);
  vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\n---\n");
  vault.write("agents/ada/entries.md", "- [skill] Bakes rye bread ^e-r\n");
});

async function opened(place, options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector("#main > *");
  await page.goto(vault.origin + "/" + place);
  await page.waitForSelector(".fact-list > .fact");
  return page;
}

/** What a file says; nothing where it is not there yet. */
const file = (path) => (existsSync(`${vault.folder}/${path}`) ? vault.read(path) : "");
const row = (page, words) => page.locator(".fact-list > .fact", { hasText: words });

describe("entries", () => {
  test("are listed, of the person and of an agent", async () => {
    const page = await opened("#/entries");
    assert.match(await row(page, "Prefers tabs").innerText(), /preference\s+Prefers tabs\s+#editor[^]*memories\/user\.md#L3/);
    await page.selectOption("#entry-agent", "ada");
    await row(page, "Bakes rye bread").waitFor();
    assert.equal(await row(page, "Prefers tabs").count(), 0);
    assert.equal(await page.evaluate(() => window.__xss), undefined);
    assert.deepEqual(await violations(page), []);
  });

  test("stay as they are while a button is held down", async () => {
    const page = await opened("#/entries");
    await row(page, "Prefers tabs").locator("button", { hasText: "Edit" }).hover();
    await page.mouse.down();
    const answer = page.waitForResponse(/\/api\/entries(\?|$)/);
    vault.write("memories/user.md", file("memories/user.md") + "- [fact] Rides a bicycle ^e-4\n");
    await answer;
    // Long enough for the list to be drawn, were it drawn now.
    await page.waitForTimeout(300);
    assert.equal(await row(page, "Rides a bicycle").count(), 0);
    await page.mouse.up();
    await page.waitForSelector("#entry-text");
  });

  test("are added, changed and set aside", async () => {
    const page = await opened("#/entries");
    await page.click("#add-entry");
    await page.fill("#entry-text", "Sails on Sundays");
    await page.click(".fact-form button[type=submit]");
    await row(page, "Sails on Sundays").waitFor();
    await row(page, "Sails on Sundays").locator("button", { hasText: "Edit" }).click();
    await page.fill("#entry-text", "Sails on Mondays");
    await page.click(".fact-form button[type=submit]");
    await row(page, "Sails on Mondays").waitFor();
    await row(page, "Sails on Mondays").locator("button", { hasText: "Archive" }).click();
    await row(page, "Sails on Mondays").waitFor({ state: "detached" });
    await unfold(page);
    await page.selectOption("#entry-status", "archived");
    await row(page, "Sails on Mondays").waitFor();
  });
});

describe("what is compared by its words alone", () => {
  const degraded = "compared by words alone: no model is ready";
  /** Has answers say more, within the page: the driver of Firefox does not know what a request sends, and cannot send it on. */
  const answering = (page, more) => page.evaluate((more) => {
    const ask = globalThis.fetch;
    globalThis.fetch = async (path, options) => {
      const answer = await ask(path, options);
      const isMeant = /^\/api\/review(\?|$)/.test(path) || (path === "/api/entries" && options.method === "POST");
      return isMeant ? Response.json({ ...(await answer.json()), ...more }) : answer;
    };
  }, more);

  test("is told beside the proposals, and when an entry is written", async () => {
    const page = await opened("#/entries");
    await answering(page, { degraded });
    assert.equal(await page.locator(".degraded").count(), 0);
    await page.click("#add-entry");
    await page.fill("#entry-text", "Rows on Wednesdays");
    await page.click(".fact-form button[type=submit]");
    await row(page, "Rows on Wednesdays").waitFor();
    assert.equal(await text(page, ".degraded"), degraded);
    assert.equal(await text(page, "#said"), `Saved; ${degraded}`);
    await row(page, "Rows on Wednesdays").locator("button", { hasText: "Remove" }).click();
    await row(page, "Rows on Wednesdays").waitFor({ state: "detached" });
    await page.goto(vault.origin + "/#/review");
    await page.waitForSelector(".proposal");
    assert.equal(await text(page, ".degraded"), degraded);
    assert.deepEqual(await violations(page), []);
  });
});

describe("review", () => {
  test("a proposal is accepted in its place, edited, or rejected with a reason", async () => {
    const page = await opened("#/review");
    assert.match(await text(page, ".summary"), /^3 proposals$/);
    assert.match(await row(page, "Tests with make quick").innerText(), /I test with make quick/);
    assert.match(await row(page, "does not like").innerText(), /contradicts[^]*User likes tea/);
    assert.ok((await overflow(page)) <= 0);
    await page.click("#replace-e-b");
    await row(page, "does not like").waitFor({ state: "detached" });
    await eventually("the other is superseded", () => /User likes tea \(superseded by e-b\)/.test(file("memories/user.md")));
    await page.click("#edit-e-a");
    await page.fill("#review-text", "Tests with make quick in Rust");
    await page.click(".fact-form button[type=submit]");
    await eventually("it counts", () => /Tests with make quick in Rust/.test(file("memories/user.md")));
    await page.click("#reject-e-c");
    await page.fill("#review-text", "a joke");
    await page.click(".fact-form button[type=submit]");
    await eventually("the mark", () => /rejected: a joke/.test(file("memories/archive.md")));
    await eventually("nothing waits", async () => /No proposals/.test(await text(page, ".summary")));
    assert.equal(await page.evaluate(() => window.__xss), undefined);
  });

  test("what has aged is asked about: yes, changed or gone, one key each, and undone", async () => {
    const known = file("memories/user.md");
    vault.write("memories/user.md", `${known}- Rides a bike (check 2020-01) ^e-7\n- Plays the cello (check 2020-02) ^e-8\n- Lives in Graz (confirmed 2021-03-04) ^e-9\n`);
    const before = file("memories/user.md");
    const page = await opened("#/review");
    await page.waitForSelector("#checks-title");
    assert.match(await text(page, "#checks-title"), /Still true\? 3 lines/);
    assert.match(await row(page, "Lives in Graz").innerText(), /last confirmed 2021-03-04/);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("y");
    await eventually("the first is confirmed", () => /Rides a bike \(confirmed \d{4}-\d\d-\d\d\)/.test(file("memories/user.md")));
    await row(page, "Rides a bike").waitFor({ state: "detached" });
    await page.keyboard.press("c");
    await page.locator("#review-text").waitFor();
    await page.fill("#review-text", "Plays the viola");
    await page.keyboard.press("Enter");
    await eventually("the second has changed", () => /Plays the cello \(check 2020-02, superseded by e-/.test(file("memories/user.md")));
    await row(page, "Plays the cello").waitFor({ state: "detached" });
    await page.keyboard.press("g");
    await eventually("the third is over", () => /Lives in Graz \(until /.test(file("memories/user.md")));
    await row(page, "Lives in Graz").waitFor({ state: "detached" });
    await page.keyboard.press("z");
    await eventually("the last is taken back", () => /Lives in Graz \(confirmed 2021-03-04\)/.test(file("memories/user.md")));
    assert.match(file("memories/user.md"), /Plays the viola/);
    assert.ok(before.startsWith(known));
  });
});
