// Asking the vault: a chat model's answer as it comes, with a passage for each sentence.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, describe, test } from "node:test";
import { focused, inBrowser, overflow, text, violations } from "./support.mjs";

/** What the model says next: parts, each of which waits for `next`. */
let parts = [];
let next = () => Promise.resolve();
let closed;
const model = createServer(async (request, response) => {
  closed = new Promise((resolve) => response.once("close", resolve));
  for await (const _ of request);
  response.writeHead(200, { "Content-Type": "text/event-stream" });
  for (const content of parts) {
    await next();
    response.write(`data: ${JSON.stringify({ choices: [{ delta: { content } }] })}\n\n`);
  }
  response.end("data: [DONE]\n\n");
});

const { vault, tabs } = inBrowser(async (vault) => {
  await new Promise((resolve) => model.listen(0, "127.0.0.1", resolve));
  vault.write("memory.toml", `[chat]\nendpoint = "127.0.0.1:${model.address().port}"\nmodel = "teller"\n`);
  vault.write("notes/gate.md", "# Garden gate\n\nThe garden gate was painted green in May.\n");
});
after(() => model.close());

async function asking(options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  await page.goto(`${vault.origin}/#/ask?q=which+colour+has+the+garden+gate`);
  await page.waitForSelector("#question");
  return page;
}

describe("asking", () => {
  test("each sentence comes with its passage, which is shown and opened, and one without is marked", async () => {
    const page = await asking();
    await focused(page, "#question");
    let go;
    const held = new Promise((resolve) => (go = resolve));
    parts = ["It was ", "painted green, ", "e.g. in May. ", "[1]", " It is <b>made</b> of oak [99].", " Nothing", " more."];
    let at = 0;
    next = () => (++at === parts.length ? held : Promise.resolve());
    await page.keyboard.press("Enter");
    await page.waitForSelector(".answer .unsourced");
    assert.deepEqual(await page.locator(".answer .sentence").allTextContents().then((all) => all.length), 2);
    assert.match(await text(page, ".pending"), /Nothing/, "it is not over");
    assert.equal(await text(page, "#said"), "It is <b>made</b> of oak. (no source)");
    go();
    await page.waitForFunction(() => document.querySelectorAll(".answer .unsourced").length === 2);
    const source = page.locator(".answer .source");
    assert.equal(await source.count(), 1);
    assert.equal(await page.locator(".peek").isVisible(), false);
    await source.hover();
    assert.match(await text(page, ".peek"), /painted green in May/);
    assert.equal(await page.locator(".peek").isVisible(), true);
    assert.deepEqual(await violations(page), []);
    await page.mouse.move(0, 0);
    // By keyboard: from the field over the buttons to the source.
    for (let step = 0; step < 4 && !(await source.evaluate((one) => one === document.activeElement)); step += 1) await page.keyboard.press("Tab");
    assert.equal(await page.locator(".peek").isVisible(), true);
    await page.keyboard.press("Enter");
    await page.waitForSelector("#reader:not([hidden])");
    assert.match(page.url(), /#\/ask\?.*note=notes%2Fgate\.md&lines=\d/);
  });

  test("Escape stops the model, and what has come stays", async () => {
    const page = await asking({ width: 360, height: 740, scheme: "dark" });
    parts = ["The gate is green. [1] ", ...Array(2000).fill("And ")];
    next = () => new Promise((resolve) => setTimeout(resolve, 5));
    await focused(page, "#question");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".answer .sentence");
    await page.keyboard.press("Escape");
    await closed;
    assert.match(await text(page, ".answers"), /Stopped\./);
    assert.match(await text(page, ".answer .sentence"), /The gate is green/);
    await focused(page, "#question");
    assert.deepEqual(await overflow(page), []);
    assert.deepEqual(await violations(page), []);
  });
});
