// The person shows one note to somebody else by a link, and ends it.

import assert from "node:assert/strict";
import { test } from "node:test";
import { inBrowser, overflow, violations } from "./support.mjs";

const { vault, tabs } = inBrowser();

test("a note is shared by a link, read without scripts by somebody else, and ended", async () => {
  const page = await tabs.tab();
  await page.goto(`${vault.origin}/#/search`);
  await page.locator("details summary").click();
  await page.fill("#token", vault.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#capture");
  vault.write("notes/bread.md", "---\ntitle: Bread\n---\nMix **flour**. <script>document.title = \"run\"</script>\n\n- [ ] knead\n\n[more](https://example.org/)\n");
  await page.goto(`${vault.origin}/#/search?q=knead&note=notes%2Fbread.md`);
  await page.getByRole("heading", { name: "Bread", exact: true }).waitFor();
  await page.getByRole("button", { name: "Share" }).click();
  await page.fill("#share-days", "3");
  await page.keyboard.press("Enter");
  const field = page.getByRole("textbox", { name: "The link" });
  await field.waitFor();
  assert.deepEqual(await violations(page), []);
  const link = await field.inputValue();
  assert.ok(link.startsWith(`${vault.origin}/share/`), link);
  await page.getByRole("button", { name: "Done" }).click();

  const reader = await tabs.tab({ scheme: "dark", width: 360 });
  const asked = [];
  reader.on("request", (request) => asked.push(request.url()));
  await reader.goto(link);
  assert.equal(await reader.title(), "Bread");
  assert.match(await reader.innerText("body"), /Mix flour\. <script>/);
  assert.equal(await reader.locator("strong").innerText(), "flour");
  assert.deepEqual(asked, [link], "it loads nothing");
  assert.deepEqual(await overflow(reader), []);
  assert.deepEqual([await reader.locator("h1").count(), await reader.locator("html").getAttribute("lang")], [1, "en"]);

  await page.goto(`${vault.origin}/#/settings`);
  await page.getByRole("button", { name: "End the link to notes/bread.md" }).click();
  await page.getByText("No note is shared by a link.").waitFor();
  assert.equal((await reader.goto(link)).status(), 404);
  assert.match(await reader.innerText("body"), /has ended/);
});
