// The person reads summaries and digests on the page, and has them made and written.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, inBrowser, overflow, text, violations } from "./support.mjs";

const PAYLOADS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));
const TALK = `---
title: Bread
created: 2026-01-05T18:32:00Z
source: capture
---

**18:32 · user:** Which flour is best for a sourdough loaf?

**18:33 · assistant:** We decided to use rye ${PAYLOADS[0].replaceAll("\n", " ")}.
`;

const { vault, tabs } = inBrowser((vault) => {
  vault.write("conversations/2026-01-05-bread.md", TALK);
  vault.write("notes/trip.md", "---\ncreated: 2026-01-05T10:00:00Z\n---\n# Trip\n\nWe decided to visit Lisbon,\nand the **Alfama**, when they are \\#open.\n");
});

async function opened(place, options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  await page.goto(vault.origin + "/" + place);
  return page;
}

describe("summaries and digests", () => {
  test("a summary is made, and each line leads to its turn", async () => {
    const page = await opened("#/summaries?all=1");
    await page.click("#summaries-make");
    const bread = page.locator(".summary-of", { hasText: "2026-01-05-bread.md" });
    await bread.waitFor();
    await bread.locator("summary").click();
    assert.match(await bread.innerText(), /We decided to use rye/);
    await bread.locator(".cited a.cite", { hasText: "2026-01-05-bread.md#L9" }).first().click();
    await page.waitForFunction(() => document.querySelector("#reader:not([hidden])")?.textContent.includes("rye"));
    assert.equal(await page.evaluate(() => window.__xss), undefined);
    assert.deepEqual(await violations(page), []);
  });

  test("a day and its week, and the file of it", async () => {
    const page = await opened("#/digest?day=2026-01-05");
    await page.locator(".cited li", { hasText: "visit Lisbon" }).first().waitFor();
    assert.match(await text(page, "#main"), /We decided to visit Lisbon, and the Alfama, when they are #open\. notes\/trip\.md#L6/);
    await page.check("#digest-week");
    await eventually("the week", async () => /2026-W02: 2026-01-05 to 2026-01-11/.test(await text(page, "#main")));
    await page.uncheck("#digest-week");
    await page.click("#digest-write");
    await eventually("the file", async () => existsSync(join(vault.folder, "summaries/days/2026-01-05.md")));
    await page.click("#digest-before");
    await eventually("the day before", async () => !/visit Lisbon/.test(await text(page, "#main")));
  });

  test("both are for narrow screens", async () => {
    for (const place of ["#/summaries?all=1", "#/digest?day=2026-01-05"]) {
      const page = await opened(place, { width: 320, height: 640 });
      await page.waitForSelector("#main h2");
      assert.deepEqual(await overflow(page), []);
    }
  });
});
