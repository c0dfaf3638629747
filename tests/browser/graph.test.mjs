// The person walks through the graph of notes on the page.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { eventually, focused, inBrowser, overflow, text, unfold, violations } from "./support.mjs";

const PAYLOADS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));

const { vault, tabs } = inBrowser((vault) => {
  vault.write("people/ann.md", "---\ntitle: Ann Lee\naliases: [Annie]\ntype: person\n---\nmanages:: [[Ben]] (from 2026-03-09), [[Cleo]] (until 2026-03-09)\n\n- works_at [[Boatyard]] confidence 0.8\n- knows [[Nobody There]]\n\nShe likes [[Keel]], \\#waiting for **oak**.\n");
  vault.write("people/ben.md", "---\ntitle: Ben\ntype: person\n---\n- reports_to [[Annie]]\n- works_at [[Boatyard]]\n");
  vault.write("people/cleo.md", "---\ntitle: Cleo\ntype: person\n---\n- works_at [[Boatyard]]\n");
  vault.write("companies/boatyard.md", "---\ntitle: Boatyard\ntype: company\n---\nOf oak: [[Keel]].\n");
  vault.write("notes/keel.md", "# Keel\n\nOak.\n");
  vault.write("x/hostile.md", `---\ntitle: Hostile\ntype: ${JSON.stringify(PAYLOADS[0])}\n---\n${PAYLOADS.map((payload) => `- knows [[${payload.replaceAll(/[\n[\]|#^]/g, " ")}]]\n`).join("")}- knows [[${"x".repeat(3000)}]]\n`);
});

/** A tab that `vault open` opened, at a place. */
async function opened(place = "#/graph", options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  await page.goto(vault.origin + "/" + place);
  return page;
}

const group = (page, name) => page.locator(".relation", { has: page.locator("h4", { hasText: new RegExp(`^${name}$`) }) });

describe("the graph on the page", () => {
  test("neighbours by relation and direction, each a link, with its line", async () => {
    const page = await opened();
    await page.locator(".edge .end", { hasText: "Ann Lee" }).waitFor();
    await page.locator(".edge .end", { hasText: "Ann Lee" }).click();
    await page.locator(".entity h3", { hasText: "Ann Lee" }).waitFor();
    assert.match(await text(page, ".entity"), /Ann Lee person[^]*people\/ann\.md also called Annie/);
    assert.deepEqual(await page.locator(".relation h4").allInnerTexts(), ["manages →", "works_at →", "knows →", "← reports_to", "links to"]);
    assert.match(await group(page, "manages →").innerText(), /Ben\s+from 2026-03-09\s+people\/ann\.md#L6/);
    assert.match(await group(page, "works_at →").innerText(), /Boatyard\s+confidence 0\.8/);
    assert.match(await group(page, "links to").innerText(), /She likes Keel, #waiting for oak\./);
    assert.match(await group(page, "knows →").innerText(), /Nobody There \(no note\)/);
    assert.equal(await group(page, "knows →").locator("a.end").count(), 0);
    assert.match(await page.locator("section", { hasText: "Further away" }).last().innerText(), /Cleo\s+—works_at→\s+Boatyard/);
    await unfold(page);
    await page.locator("#graph-all").check();
    await eventually("what is over", async () => /Cleo\s+until 2026-03-09\s+expired/.test(await group(page, "manages →").innerText()));
    await group(page, "← reports_to").locator("a.cite").click();
    await page.waitForFunction(() => document.querySelector("#reader .passage")?.textContent.includes("reports_to"));
    await page.keyboard.press("Escape");
    await group(page, "← reports_to").locator("a.end").click();
    await page.locator(".entity h3", { hasText: "Ben" }).waitFor();
    assert.equal(await page.inputValue("#graph-name"), "people/ben.md");
    await page.goBack();
    await page.locator(".entity h3", { hasText: "Ann Lee" }).waitFor();
  });

  test("a picture shows the same, is still, and marks what has the focus in the list", async () => {
    const page = await opened("#/graph?name=people/ann.md&steps=1");
    await group(page, "works_at →").waitFor();
    await page.locator("summary", { hasText: "Picture" }).click();
    const nodes = page.locator(".picture .node");
    await nodes.first().waitFor();
    const names = await nodes.locator("title").allTextContents();
    assert.deepEqual([...names].sort(), ["Ann Lee", "Ben", "Boatyard", "Keel", "Nobody There"]);
    assert.match(await page.getAttribute(".picture svg", "aria-label"), /^5 notes and \d+ relations/);
    const places = () => nodes.evaluateAll((all) => all.map((one) => one.getAttribute("transform")));
    const before = await places();
    await group(page, "works_at →").locator("a.end").focus();
    assert.equal(await page.locator(".picture .marked title").textContent(), "Boatyard");
    assert.deepEqual(await places(), before);
    assert.deepEqual(await violations(page), []);
    await page.locator(".picture .node", { hasText: "Ben" }).click();
    await page.locator(".entity h3", { hasText: "Ben" }).waitFor();
  });

  test("what is typed narrows it, and what is saved is shown", async () => {
    const page = await opened("#/graph?name=boatyard&steps=1");
    await group(page, "← works_at").waitFor();
    assert.equal(await group(page, "← works_at").locator(".edge").count(), 3);
    await page.fill("#graph-relation", "reports_to");
    await eventually("that relation", async () => /^1 note$/.test(await text(page, ".summary")));
    await focused(page, "#graph-relation");
    await page.fill("#graph-relation", "");
    await group(page, "← works_at").waitFor();
    vault.write("people/dora.md", "---\ntitle: Dora\ntype: person\n---\nworks_at:: [[Boatyard]]\n");
    await eventually("the new one", async () => (await group(page, "← works_at").locator(".edge").count()) === 4);
    vault.delete("people/dora.md");
    await eventually("without it", async () => (await group(page, "← works_at").locator(".edge").count()) === 3);
    await page.fill("#graph-name", "be");
    await page.locator(".entity h3", { hasText: "Ben" }).waitFor();
    await page.fill("#graph-name", "zeppelin");
    await eventually("nothing", async () => /No note with this name/.test(await text(page, ".summary")));
    await page.goto(vault.origin + "/#/graph?relation=works_at");
    await eventually("a relation alone", async () => (await page.locator(".edge").count()) === 3);
    await page.goto(vault.origin + "/#/graph?kind=company");
    await eventually("a type alone", async () => /Boatyard\s+company/.test(await text(page, ".edge-list")));
  });

  test("a layer is searched alone", async () => {
    const page = await opened("#/search");
    await page.click("button[aria-controls=filters]");
    await page.selectOption("select[aria-label='Memory layer']", "graph");
    await eventually("the graph's notes", async () => (await page.locator(".hit").count()) >= 5);
    await page.fill("#query", "oak");
    await eventually("the company", async () => /Boatyard/.test(await text(page, ".hits")) && (await page.locator(".hit", { hasText: "notes/keel.md" }).count()) === 0);
  });

  test("hostile notes are texts, and nothing is too wide or hard to use", async () => {
    for (const options of [{}, { scheme: "dark" }, { width: 360, height: 740, touch: true }]) {
      const page = await opened("#/graph?name=hostile", options);
      await page.locator(".entity .edge").first().waitFor();
      assert.equal(await page.locator(".entity .edge").count() > PAYLOADS.length / 2, true);
      assert.deepEqual(await overflow(page), []);
      assert.deepEqual(await violations(page), []);
      await page.goto(vault.origin + "/#/graph");
      await page.locator(".edge .end").first().waitFor();
      assert.deepEqual(await overflow(page), []);
      assert.deepEqual(await violations(page), []);
    }
  });
});
