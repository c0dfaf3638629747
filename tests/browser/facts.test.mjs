// The person looks facts up on the page, as of any day, and changes them.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, test } from "node:test";
import { eventually, focused, inBrowser, overflow, text, unfold, violations } from "./support.mjs";

const PAYLOADS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));
const HOSTILE = "<img src=x onerror=window.__xss=9>";

const { vault, tabs } = inBrowser((vault) => {
  vault.write("projects/mech/facts.md", "## Build\n\n- command: make\n- command: make test\n- flags: [-O2, -g]\n- broken: [1\n");
  vault.write("projects/hostile/facts.md", `## ${HOSTILE.replaceAll("<", "&lt;")}\n\n${PAYLOADS.map((payload, at) => `- p${at}: "${payload.replaceAll("\n", " ").replaceAll("\\", "").replaceAll('"', "'")}"\n`).join("")}- long: ${"x".repeat(3000)}\n`);
  vault.write("projects/hostile/facts.history.md", `- 2026-01-05T10:00:00Z \`h/${"k".repeat(60)}\`: — → \`${HOSTILE}\` · by ${HOSTILE} · source \`${HOSTILE}#L1\` ^h1\n`);
});

/** A tab that `vault open` opened, at a place. */
async function opened(place = "#/facts", options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  await page.goto(vault.origin + "/" + place);
  return page;
}

const put = (body) => vault.ask("/api/facts", { method: "PUT", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
const value = async (namespace, key, scope = "user") => (await vault.get(`/api/facts?${new URLSearchParams({ scope, namespace, key })}`)).facts[0]?.value;
const row = (page, key) => page.locator(".fact-list > .fact", { has: page.locator(".fact-name", { hasText: new RegExp(`^${key},`) }) });
const ofFact = (fact, of = "user", more = "") => `#/facts?of=${encodeURIComponent(of)}&fact=${encodeURIComponent(fact)}${more}`;
/** A fact of the test's own, so that no test needs another. */
const own = async (key, first = "one") => assert.equal((await put({ namespace: "own", key, value: first })).status, 200);

describe("looking facts up", () => {
  test("all scopes, one scope, a filter, and what is wrong in a file", async () => {
    const page = await opened();
    await row(page, "loan_record").waitFor();
    assert.match(await row(page, "loan_record").innerText(), /loans-2026\.ods\s+#decision[^]*facts\.md#L14/);
    assert.equal(await row(page, "sheet_trial").count(), 0, "its time is over");
    assert.match(await text(page, ".problems"), /projects\/mech\/facts\.md#L4[^]*also at line 3; the last one counts[^]*#L6[^]*broken/);
    await unfold(page);
    assert.deepEqual(await page.locator("#fact-scope option").allInnerTexts(), ["All memory scopes", "project:hostile", "project:mech", "user"]);
    await page.selectOption("#fact-scope", "project:mech");
    await row(page, "flags").waitFor();
    await row(page, "loan_record").waitFor({ state: "detached" });
    assert.match(await row(page, "flags").innerText(), /\[-O2, -g\]/);
    assert.match(await row(page, "command").innerText(), /make test/, "the last one counts");
    assert.equal(await page.locator("#fact-scope option").count(), 4);
    await page.fill("#fact-find", "FLAG");
    await eventually("the filter", async () => (await page.locator(".fact:visible").count()) === 1);
    assert.match(await text(page, ".summary"), /^1 fact$/);
    await focused(page, "#fact-find");
    await page.reload();
    await eventually("the same after a reload", async () => (await page.locator(".fact:visible").count()) === 1);
    await page.goto(vault.origin + "/#/facts");
    await unfold(page);
    await page.check("#fact-all");
    await row(page, "sheet_trial").waitFor();
    assert.match(await row(page, "sheet_trial").innerText(), /running\s+expired/);
    await page.locator(".problems a.cite", { hasText: "mech" }).first().click();
    await page.waitForFunction(() => [...document.querySelectorAll("#reader .passage")].some((one) => one.textContent.includes("command")));
  });

  test("another day: what was true then, and nothing to change", async () => {
    const page = await opened();
    await row(page, "loan_record").waitFor();
    await unfold(page);
    await page.fill("#fact-day", "2026-01-04");
    await eventually("that day", async () => /paper cards/.test(await row(page, "loan_record").innerText()));
    assert.equal(await page.locator(".fact-more button").count(), 0);
    assert.match(await text(page, ".summary"), /true on 2026-01-04/);
    await page.click("#fact-today");
    await eventually("today", async () => /loans-2026/.test(await row(page, "loan_record").innerText()));
    await page.fill("#fact-day", "2026-02-01");
    await row(page, "sheet_trial").waitFor();
  });

  test("a timeline has each value with its time, its changes, and what was known before", async () => {
    const page = await opened(ofFact("tools/loan_record"));
    await page.waitForSelector(".windows > li");
    const windows = await page.locator(".windows > li").allInnerTexts();
    assert.match(windows[0], /paper cards\s+from 2025-03-01 until 2026-01-05/);
    assert.match(windows[1], /loans-2026\.ods now\s+from 2026-01-05 until further notice/);
    assert.equal(await page.locator(".window-bar .bar").count(), 2);
    const changes = await page.locator(".changes > li").allInnerTexts();
    assert.match(changes[0], /by you, conversations\/2026-01-05-tool-library-meeting\.md#L21-L22\s+paper cards → loans-2026\.ods from 2026-01-05/);
    assert.match(changes[1], /by an edit of the file\s+set to paper cards from 2025-03-01/);
    await page.fill("#fact-known", "2026-01-04");
    await eventually("what was known", async () => (await page.locator(".windows > li").count()) === 1);
    assert.match(await text(page, ".windows"), /paper cards[^]*until further notice/);
    await page.click("#fact-known-now");
    await eventually("what is known", async () => (await page.locator(".windows > li").count()) === 2);
    await page.locator(".changes a.cite").click();
    await page.waitForFunction(() => document.querySelector("#reader .passage")?.textContent.includes("shared sheet"));
    await page.goto(`${vault.origin}/${ofFact("tools/monthly_income")}`);
    await page.waitForFunction(() => /40 €\s+never true/.test(document.querySelector(".windows")?.innerText));
    assert.match(await text(page, ".changes"), /40 € was never true: 50 €/);
    // One below no heading is another than one of the same key below one.
    await own("alone", "below a heading");
    await page.goto(`${vault.origin}/${ofFact("alone")}`);
    await page.waitForFunction(() => document.querySelector(".ledger").innerText.includes("No fact with this name in user"));
    await put({ key: "alone", value: "below none" });
    await page.waitForFunction(() => document.querySelector(".now-value")?.innerText.includes("below none"));
    await page.goto(`${vault.origin}/${ofFact("tools/none")}`);
    await page.waitForFunction(() => document.querySelector(".ledger").innerText.includes("No fact with this name in user"));
  });
});

describe("changing facts", () => {
  test("a value is edited in place, by keyboard, and taken back", async () => {
    await own("edited");
    const page = await opened();
    await row(page, "edited").waitFor();
    await row(page, "edited").getByRole("button", { name: /^Edit/ }).focus();
    await page.keyboard.press("Enter");
    await focused(page, ".fact-form input[name=value]");
    await page.keyboard.type("two");
    await page.keyboard.press("Escape");
    await focused(page, ".fact-more button");
    assert.equal(await page.locator(".fact-form").count(), 0);
    await page.keyboard.press("Enter");
    await page.keyboard.type("two");
    // What changes meanwhile does not take the field away.
    await own("beside");
    await row(page, "beside").waitFor();
    await focused(page, ".fact-form input[name=value]");
    assert.equal(await page.inputValue(".fact-form input[name=value]"), "two");
    await page.keyboard.press("Enter");
    await eventually("the value", async () => (await value("own", "edited")) === "two");
    await eventually("the page", async () => /two/.test(await row(page, "edited").innerText()));
    await focused(page, ".fact-more button");
    await page.click(".undo");
    await eventually("the value before", async () => (await value("own", "edited")) === "one");
    await eventually("the page again", async () => /one/.test(await row(page, "edited").innerText()));
  });

  test("whoever was faster is not written over, and a list stays a list", async () => {
    await own("raced");
    assert.equal((await put({ namespace: "own", key: "listed", value: ["a", "b"] })).status, 200);
    const page = await opened();
    await row(page, "raced").getByRole("button", { name: /^Edit/ }).click();
    await page.fill(".fact-form input[name=value]", "mine");
    await put({ namespace: "own", key: "raced", value: "theirs" });
    await page.keyboard.press("Enter");
    await page.waitForSelector(".fact-form .failure");
    assert.match(await text(page, ".fact-form .failure"), /`raced` is `theirs` now; nothing was written/);
    assert.equal(await value("own", "raced"), "theirs");
    await page.click(".fact-form >> text=Cancel");
    await row(page, "listed").getByRole("button", { name: /^Edit/ }).click();
    await page.fill(".fact-form input[name=value]", '["a"');
    await page.keyboard.press("Enter");
    await page.waitForSelector(".fact-form .failure");
    await page.fill(".fact-form input[name=value]", '["a", "c"]');
    await page.keyboard.press("Enter");
    await eventually("the list", async () => JSON.stringify(await value("own", "listed")) === '["a","c"]');
  });

  test("when it is true stays, as far as it holds for the new value", async () => {
    const window = { from: "2026-01-05", until: "2199-01-01" };
    for (const key of ["same", "other", "corrected"]) {
      assert.equal((await put({ namespace: "timed", key, value: "one", ...window })).status, 200);
    }
    const page = await opened();
    const change = async (key, typed, wrong = false) => {
      await row(page, key).getByRole("button", { name: /^Edit/ }).click();
      assert.equal(await page.locator(".fact-form").getByLabel("Until (exclusive)").inputValue(), "2199-01-01");
      await page.fill(".fact-form input[name=value]", typed);
      if (wrong) await page.getByLabel("The old value was never true").check();
      await page.locator(".fact-form input[name=value]").press("Enter");
      await page.locator(".fact-form").waitFor({ state: "detached" });
    };
    await row(page, "same").waitFor();
    await change("other", "two");
    assert.match(vault.read("facts.md"), /- other: two \(until 2199-01-01\)\n/);
    await change("corrected", "two", true);
    assert.match(vault.read("facts.md"), /- corrected: ~~one~~ two \(from 2026-01-05, until 2199-01-01\)\n/);
    await change("same", "one");
    assert.match(vault.read("facts.md"), /- same: one \(from 2026-01-05, until 2199-01-01\)\n/);
    // What is cleared is gone.
    await row(page, "other").getByRole("button", { name: /^Edit/ }).click();
    await page.locator(".fact-form").getByLabel("Until (exclusive)").fill("");
    await page.locator(".fact-form input[name=value]").press("Enter");
    await eventually("no end", () => /- other: two\n/.test(vault.read("facts.md")));
  });

  test("no longer true, never true, and corrected", async () => {
    for (const key of ["ended", "wrong", "mended"]) await own(key);
    const page = await opened();
    await row(page, "ended").getByRole("button", { name: /^No longer true/ }).click();
    await row(page, "ended").waitFor({ state: "detached" });
    await page.goto(`${vault.origin}/${ofFact("own/ended")}`);
    await page.waitForFunction(() => /one is no longer true/.test(document.querySelector(".changes")?.innerText));
    await page.goto(`${vault.origin}/${ofFact("own/wrong")}`);
    await page.getByRole("button", { name: /^Never true/ }).click();
    await page.waitForFunction(() => /one\s+never true/.test(document.querySelector(".windows")?.innerText));
    assert.match(vault.read("facts.md"), /- wrong: ~~one~~\n/);
    await page.locator(".toast", { hasText: "was never true" }).locator(".undo").click();
    await eventually("it to be back", async () => (await value("own", "wrong")) === "one");
    await page.goto(`${vault.origin}/${ofFact("own/mended")}`);
    await page.getByRole("button", { name: /^Edit/ }).click();
    await page.fill(".fact-form input[name=value]", "right");
    await page.getByLabel("The old value was never true").check();
    await page.keyboard.press("Enter");
    await eventually("the correction", () => /- mended: ~~one~~ right\n/.test(vault.read("facts.md")));
    await page.waitForFunction(() => /one was never true: right/.test(document.querySelector(".changes")?.innerText));
  });

  test("a new fact goes where it is said, and what is wrong is told", async () => {
    const page = await opened("#/facts?scope=project:mech");
    await page.click("#add-fact");
    await focused(page, "#fact-name");
    assert.equal(await page.inputValue("#fact-in"), "project:mech");
    await page.fill("#fact-name", "build/two words");
    await page.fill("#fact-value", "fast");
    await page.click("dialog .primary");
    await page.waitForSelector("dialog .failure:not([hidden])");
    assert.match(await text(page, "dialog .failure"), /`key` is "two words"/);
    await page.fill("#fact-name", "Build/profile");
    await page.fill("#fact-from", "2026-01-01");
    await page.click("dialog .primary");
    await row(page, "profile").waitFor();
    assert.match(vault.read("projects/mech/facts.md"), /- profile: fast \(from 2026-01-01\)\n/);
    await focused(page, "#add-fact");
  });

  test("an edit by hand, and the end of a fact's time, are shown as they come", async () => {
    await own("watched");
    const page = await opened();
    await row(page, "watched").waitFor();
    vault.write("facts.md", vault.read("facts.md").replace("watched: one", "watched: by hand"));
    await eventually("the edit", async () => /by hand/.test(await row(page, "watched").innerText()));
    const until = new Date(Date.now() + 3000).toISOString();
    await put({ namespace: "own", key: "short", value: "now", until });
    await row(page, "short").waitFor();
    await row(page, "short").waitFor({ state: "detached" });
  });
});

describe("the keyboard and looks", () => {
  test("all of it by keyboard", async () => {
    const page = await opened("#/search");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("3");
    await page.waitForSelector("#tabs [data-view=review][aria-current]");
    await page.keyboard.press("]");
    await row(page, "loan_record").waitFor();
    await tabTo(page, "a.fact-name");
    const name = await page.evaluate(() => document.activeElement.id);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".windows");
    await focused(page, ".ledger h2");
    await tabTo(page, "#fact-known");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Escape");
    await page.waitForSelector("#add-fact");
    await focused(page, `[id="${name}"]`);
  });

  async function tabTo(page, selector) {
    for (let step = 0; step < 90; step += 1) {
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
      await page.keyboard.press("Tab");
    }
    assert.fail(`the tab key does not reach ${selector}`);
  }

  test("hostile names, values and histories are texts", async () => {
    const page = await opened("#/facts?scope=project:hostile");
    await row(page, "p1").waitFor();
    const bad = () => page.evaluate(() => [...document.querySelectorAll("main *, dialog *, #toasts *")]
      .filter((one) => /^(script|style|iframe|img|object|embed|base|meta|link|math|template)$/i.test(one.tagName)
        || [...one.attributes].some(({ name, value }) => name.startsWith("on") || name === "style" || /^\s*(javascript|data|vbscript):/i.test(value)))
      .map((one) => one.outerHTML));
    assert.deepEqual(await bad(), []);
    assert.equal(await page.locator(".fact").count(), PAYLOADS.length + 1);
    assert.deepEqual(await overflow(page), []);
    await row(page, "p0").getByRole("button", { name: /^Edit/ }).click();
    assert.deepEqual(await bad(), []);
    await page.goto(`${vault.origin}/${ofFact(`h/${"k".repeat(60)}`, "project:hostile")}`);
    await page.waitForFunction((wanted) => document.querySelector(".changes")?.innerText.includes(wanted), HOSTILE);
    assert.deepEqual(await bad(), []);
    await page.goto(`${vault.origin}/${ofFact(HOSTILE, HOSTILE)}`);
    await page.waitForSelector(".ledger .failure");
    assert.deepEqual(await bad(), []);
  });

  test("no width is too narrow, and none falls between two", async () => {
    const page = await opened();
    await row(page, "loan_record").waitFor();
    for (const width of [320, 500, 640, 641, 760, 860, 861, 999, 1000]) {
      await page.setViewportSize({ width, height: 700 });
      assert.deepEqual(await overflow(page), [], `${width} pixels`);
    }
  });

  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740, touch: true } };
  for (const scheme of ["light", "dark"]) {
    for (const [name, size] of Object.entries(sizes)) {
      test(`${scheme}, ${name}: nothing overflows, and WCAG AA holds`, async () => {
        const page = await opened("#/facts?all=1", { scheme, ...size });
        const check = async (place) => {
          assert.deepEqual(await overflow(page), [], place);
          assert.deepEqual(await violations(page), [], place);
        };
        await row(page, "sheet_trial").waitFor();
        await check("facts");
        await row(page, "loan_record").getByRole("button", { name: /^Edit/ }).click();
        await check("edit");
        await page.click("#add-fact");
        await page.waitForSelector("dialog");
        await check("set");
        await page.keyboard.press("Escape");
        await page.goto(`${vault.origin}/${ofFact("tools/monthly_income")}`);
        await page.waitForSelector(".windows");
        await check("timeline");
        await page.goto(`${vault.origin}/#/facts?day=2026-01-04`);
        await page.waitForFunction(() => /true on/.test(document.querySelector(".summary")?.textContent));
        await check("another day");
      });
    }
  }
});
