// The person sees who agents take them for, and what a chat model did and cost.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import { after, describe, test } from "node:test";
import { eventually, goTo, inBrowser, overflow, ROOMS, text, values, violations } from "./support.mjs";

const HOSTILE = "&lt;img src=x onerror=window.__xss=9>";

/** A chat model that answers nothing of use until it is told to. */
let answers = "no JSON";
const model = createServer((request, response) => {
  request.resume().on("end", () => {
    const content = answers;
    response.writeHead(200, { "Content-Type": "application/json" });
    response.end(JSON.stringify({ choices: [{ message: { role: "assistant", content } }], usage: { prompt_tokens: 7, completion_tokens: 3, total_tokens: 10 } }));
  });
});

const { vault, tabs } = inBrowser(async (vault) => {
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  const config = readFileSync(`${vault.folder}/memory.toml`, "utf8");
  // The last section is that of the memory.
  vault.write("memory.toml", `${config}model = "played"\nendpoint = "http://127.0.0.1:${model.address().port}"\nsummary_debounce_seconds = 10\n`);
  vault.write("conversations/a.md", "# A\n\n**10:00 · user:** I prefer tabs. We decided to keep them.\n");
  vault.write("profile/overrides.md", `- Answer in German. ${HOSTILE}\n`);
  vault.write("USER.md", "---\nname: Maya\nlocation_place: Wien\n---\n");
  vault.write("memories/user.md", "- [preference] Prefers tabs ^e-1\n");
});

after(() => {
  model.close();
  model.closeAllConnections();
});

async function opened(place, options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector("#main > *");
  await page.goto(`${vault.origin}/#/${place}`);
  return page;
}

/** What was put aside of a conversation. */
const asideOf = async (path) => (await vault.get("/api/processing")).dead_letters.filter((dead) => dead.path === path);

describe("the profile", () => {
  test("shows what is said in any case, who the person is and what was made, each with its file", async () => {
    const page = await opened("profile");
    await page.waitForSelector("#profile-state");
    const said = await text(page, "#main");
    assert.match(said, /profile\/overrides\.md[^]*Answer in German\.[^]*You: Maya[^]*Wien/);
    assert.equal(await page.evaluate(() => window.__xss), undefined);
    assert.ok((await overflow(page)) <= 0);
    assert.deepEqual(await violations(page), []);
  });

  test("is made anew when asked, and says what of", async () => {
    const page = await opened("profile");
    await page.click("#profile-make");
    await page.locator(".hint[role=status]", { hasText: /Made again|Already up to date/ }).waitFor();
    await page.locator(".profile-text", { hasText: "Prefers tabs" }).waitFor();
    assert.match(await text(page, "#profile-state"), /^Version \d+, made from 1 line;/);
    assert.match(vault.read("profile/profile.md"), /Prefers tabs\. \^\[memories\/user\.md#\^e-1\]/);
    assert.match(await page.locator(".profile-text", { hasText: "Prefers tabs" }).innerText(), /Prefers tabs\. memories\/user\.md#\^e-1/);
    await page.locator(".profile-text a.cite", { hasText: "memories/user.md#^e-1" }).click();
    await page.waitForFunction(() => document.querySelector("#reader:not([hidden])")?.textContent.includes("Prefers tabs"));
    await page.keyboard.press("Escape");
  });

  test("that the person has edited is theirs, and the page says so by itself", async () => {
    const page = await opened("profile");
    await page.waitForSelector("#profile-state");
    vault.write("profile/profile.md", "# Mine\n\nI am Maya.\n");
    await page.locator("#profile-state", { hasText: "You edited it" }).waitFor();
    await page.locator(".profile-text", { hasText: "I am Maya." }).waitFor();
  });
});

describe("processing", () => {
  test("shows calls, what they cost and what was put aside, which can be tried again", async () => {
    const page = await opened("processing");
    await page.locator("button", { hasText: "Process waiting conversations now" }).click();
    await eventually("the conversation to be put aside", async () => (await asideOf("conversations/a.md")).length === 1);
    await page.goto(`${vault.origin}/#/settings`);
    await page.goto(`${vault.origin}/#/processing`);
    const letter = page.locator("li", { hasText: "conversations/a.md" });
    await letter.waitFor();
    const said = await text(page, "#main");
    assert.match(said, /calls? since/);
    assert.match(said, /tokens read, as counted by the service/);
    assert.match(said, /In 24 hours: \d+ of [\d,]+ calls/);
    assert.match(said, /Disk space/);
    assert.ok((await overflow(page)) <= 0);
    assert.deepEqual(await violations(page), []);
    const { calls } = await vault.get("/api/processing");
    answers = JSON.stringify({ entries: [], summary: {} });
    await letter.locator("button", { hasText: "Try again" }).click();
    await eventually("it to be read", async () => {
      const now = await vault.get("/api/processing");
      return (await asideOf("conversations/a.md")).length === 0 && now.calls > calls;
    });
  });

  test("on a narrow screen scrolls the table and not the page", async () => {
    const page = await opened("processing", { width: 360, height: 700 });
    await page.waitForSelector(".numbers");
    assert.ok((await overflow(page)) <= 0);
  });
});

/** The views, each with what it shows once it has its answer. */
const VIEWS = {
  search: ".hit", notes: ".note-list .hit", see: ".month", graph: ".graph .summary:not(:empty)", review: ".summary", facts: ".summary", entries: ".fact",
  profile: "#profile-state", summaries: ".summary", digest: ".summary", ask: "#question", agents: ".head + .hint", settings: ".switch", changes: "#change-log :is(li, div p)",
  stats: ".collections td", processing: ".numbers",
};

describe("every view", () => {
  test("is in the bar, and shows texts alone, never a value of the program", async () => {
    const page = await opened("search");
    const names = [];
    for (const room of await page.locator("#rooms a").all()) {
      await room.click();
      await page.waitForFunction((wanted) => document.querySelector("#rooms [aria-current]")?.dataset.room === wanted, await room.getAttribute("data-room"));
      names.push(...(await page.locator("#tabs a").evaluateAll((links) => links.map((link) => link.dataset.view))));
    }
    assert.deepEqual(names, Object.keys(VIEWS));
    assert.deepEqual(names, Object.values(ROOMS).flat());
    for (const [name, sign] of Object.entries(VIEWS)) {
      await goTo(page, name);
      await page.waitForSelector(`#main ${sign}`);
      assert.deepEqual(await values(page, { inSentences: true }), [], name);
      assert.deepEqual(await violations(page), [], name);
      const times = await page.locator("#main time").evaluateAll((all) => all.map((time) => [time.innerText, time.title]));
      assert.deepEqual(times.filter(([shown, whole]) => !/^(\d{4}-\d\d-\d\d|\d\d:\d\d)$/.test(shown) || !/^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d$/.test(whole)), [], name);
    }
  });
});
