// The owner goes through the edits that an agent suggests: by words, by button and by key, and takes a batch back.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, inBrowser, overflow, violations } from "./support.mjs";

const HOSTILE = "<img src=x onerror=window.__xss=9>";
const PLAN = "# Plan\n\nMeet on Monday.\n\nSow beans.\n\nRest.\n";

const { vault, tabs } = inBrowser((vault) => {
  vault.write("notes/plan.md", PLAN);
  vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncan_suggest: true\n---\n");
});

async function suggest(edits, why = "It was moved") {
  const { token } = await (await vault.ask("/api/agents/ada/rotate", { method: "POST", headers: { "Content-Type": "application/json" }, body: "{}" })).json();
  const body = JSON.stringify({ path: "notes/plan.md", why, edits: edits.map(([old, now]) => ({ old, new: now })) });
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const reply = await fetch(`${vault.origin}/api/notes/suggest`, { method: "POST", headers, body });
  assert.equal(reply.status, 200, await reply.text());
}

async function opened(options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector("#main > *");
  await page.goto(`${vault.origin}/#/review`);
  await page.waitForSelector(".suggestion");
  return page;
}

const says = (text) => eventually(`the note to say ${text}`, () => vault.read("notes/plan.md") === text);

describe("suggested edits", () => {
  test("are shown by words, accepted one by one, and rejected", async () => {
    await suggest([["Monday", "Tuesday"], ["beans", `peas ${HOSTILE}`]], `Why ${HOSTILE}`);
    for (const options of [{}, { scheme: "dark", width: 360 }]) {
      const page = await opened(options);
      assert.equal(await page.locator(".suggestion del").first().innerText(), "Monday");
      assert.equal(await page.locator(".suggestion ins").first().innerText(), "Tuesday");
      assert.match(await page.locator(".suggestion").innerText(), /notes\/plan\.md[^]*ada[^]*Line 3/);
      assert.equal(await page.evaluate(() => window.__xss), undefined);
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(await overflow(page), []);
    }
    const page = await opened();
    await page.locator(".hunk button").first().click();
    await says(PLAN.replace("Monday", "Tuesday"));
    await eventually("one edit to be left", async () => (await page.locator(".hunk").count()) === 1);
    await page.locator(".suggestion button", { hasText: "Reject" }).click();
    await eventually("no suggestion to be left", async () => (await page.locator(".suggestion").count()) === 0);
    vault.write("notes/plan.md", PLAN);
  });

  test("are accepted by key, and undone at once", async () => {
    await eventually("the note to be read again", async () => (await vault.get("/status")).caught_up);
    await suggest([["Monday", "Friday"], ["Rest.", "Rest well."]]);
    const page = await opened();
    await page.keyboard.press("a");
    await says(PLAN.replace("Monday", "Friday").replace("Rest.", "Rest well."));
    await eventually("no suggestion to be left", async () => (await page.locator(".suggestion").count()) === 0);
    await page.locator(".toast .undo").first().click();
    await says(PLAN);
    await page.waitForSelector(".suggestion");
    // It has moved on.
    vault.write("notes/plan.md", PLAN.replace("Monday", "Sunday"));
    await page.keyboard.press("a");
    // Said by the answer, or by the list where that was asked again before.
    await page.waitForFunction(() => /has moved on/.test(document.querySelector(".suggestion")?.innerText));
    await page.keyboard.press("r");
    await eventually("no suggestion to be left", async () => (await page.locator(".suggestion").count()) === 0);
    assert.deepEqual(page.problems, []);
  });
});
