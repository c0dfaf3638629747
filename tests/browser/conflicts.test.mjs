// The person sees which notes were changed in two places, how they differ, and settles each; that can be taken back.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, focused, inBrowser, overflow, text, violations } from "./support.mjs";

const HOSTILE = "<img src=x onerror=window.__xss=7>";
const COPY = "notes/plan.sync-conflict-20260105-183012-ABC2DEF.md";
const OURS = "# Plan\n\nSow beans.\n";
const THEIRS = `# Plan\n\nSow peas. ${HOSTILE}\n`;
const MARKED = "# List\n\n<<<<<<< HEAD\nBeans.\n=======\nPeas.\n>>>>>>> phone\n";

const { vault, tabs } = inBrowser();

const listed = async () => (await vault.get("/api/conflicts")).conflicts.map(({ path }) => path).sort();
const there = (path) => existsSync(join(vault.folder, path));

/** Writes files, and waits until so many conflicts are known. */
async function written(files, count) {
  Object.entries(files).forEach(([path, content]) => vault.write(path, content));
  await eventually("the conflicts", async () => (await listed()).length === count);
}

/** The changes in a tab that `vault open` opened. */
async function opened(options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  await page.goto(`${vault.origin}/#/changes`);
  await page.waitForSelector("#conflicts", { state: "attached" });
  return page;
}

const row = (page, path) => page.locator("#conflicts li", { has: page.getByRole("link", { name: path, exact: true }) });
const press = (page, name, path) => page.getByRole("button", { name: `${name}: ${path}`, exact: true }).click();

describe("what was changed in two places", () => {
  test("nothing is shown while nothing was", async () => {
    const page = await opened();
    await page.waitForSelector("#change-log");
    assert.equal(await page.locator("#conflicts").isVisible(), false);
  });

  test("a copy is listed with its difference, which is text, and the side that is kept can be taken back", async () => {
    await written({ "notes/plan.md": OURS, [COPY]: THEIRS }, 1);
    const page = await opened();
    await row(page, COPY).waitFor();
    assert.match(await row(page, COPY).innerText(), /of notes\/plan\.md, by Syncthing/);
    await press(page, "Difference", COPY);
    await page.waitForSelector("#conflicts pre:not([hidden])");
    const difference = await text(page, "#conflicts pre");
    assert.ok(difference.includes("-Sow beans.") && difference.includes(`+Sow peas. ${HOSTILE}`), difference);
    assert.deepEqual(await violations(page), []);
    await press(page, "Keep theirs", COPY);
    await page.waitForSelector("#conflicts", { state: "hidden" });
    await focused(page, "#main");
    assert.match(await page.locator("#said").textContent(), /Kept notes\/plan\.md; you can undo 2 changes/);
    assert.equal(vault.read("notes/plan.md"), THEIRS);
    assert.equal(there(COPY), false);
    const { checkpoints } = await vault.get("/api/user-memory/checkpoints");
    for (const { id } of checkpoints.slice(0, 2)) {
      const response = await vault.ask(`/api/user-memory/checkpoints/${encodeURIComponent(id)}/restore`, {
        method: "POST", headers: { "Content-Type": "application/json" }, body: "{}",
      });
      assert.equal(response.status, 200, await response.text());
    }
    assert.deepEqual([vault.read("notes/plan.md"), vault.read(COPY)], [OURS, THEIRS]);
    await eventually("the conflict again", async () => (await listed()).includes(COPY));
  });

  test("of several each is settled by itself, and both sides may stay", async () => {
    await written({ "notes/list.md": MARKED }, 2);
    const page = await opened();
    await row(page, "notes/list.md").waitFor();
    assert.match(await row(page, "notes/list.md").innerText(), /conflict markers of git/);
    await press(page, "Keep both", "notes/list.md");
    await row(page, "notes/list.md").waitFor({ state: "detached" });
    await focused(page, "#conflicts button");
    assert.equal(vault.read("notes/list.md"), "# List\n\nBeans.\nPeas.\n");
    await row(page, COPY).waitFor();
    await press(page, "Keep both", COPY);
    await page.waitForSelector("#conflicts", { state: "hidden" });
    assert.deepEqual([vault.read("notes/plan.md"), vault.read("notes/plan 2.md")], [OURS, THEIRS]);
  });

  test("a copy of what is no note is listed and left to the person", async () => {
    const copy = "files/scan.sync-conflict-20260105-183012-ABC2DEF.pdf";
    await written({ "files/scan.pdf": "%PDF one", [copy]: "%PDF the other" }, 1);
    const page = await opened();
    await page.locator("#conflicts li", { hasText: copy }).waitFor();
    assert.equal(await page.locator("#conflicts li a, #conflicts li button").count(), 0);
    [copy, "files/scan.pdf"].forEach((path) => vault.delete(path));
    await eventually("nothing to settle", async () => !(await listed()).length);
  });

  test("a note that has changed meanwhile is not written over, and that is said", async () => {
    await written({ [COPY]: THEIRS }, 1);
    const page = await opened();
    await row(page, COPY).waitFor();
    // The list does not hear of it.
    await page.route(/\/conflicts$/, () => {});
    vault.delete(COPY);
    await press(page, "Keep ours", COPY);
    await page.locator(".toast.failed", { hasText: "Not done" }).waitFor();
    assert.equal(vault.read("notes/plan.md"), OURS);
  });

  test("a narrow window holds it", async () => {
    await written({ [COPY]: THEIRS.repeat(3) }, 1);
    const page = await opened({ width: 340, height: 640, touch: true });
    await row(page, COPY).waitFor();
    await press(page, "Difference", COPY);
    await page.waitForSelector("#conflicts pre:not([hidden])");
    assert.deepEqual(await overflow(page), []);
  });
});
