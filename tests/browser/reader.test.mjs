// A note as Obsidian shows it, in a real browser: properties, callouts, tasks, marks, footnotes, code, pictures, embeds, outline, what is below.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { diff } from "../../src/serve/page/lib/diff.js";
import { PATIENCE, eventually, focused, inBrowser, overflow, text, violations } from "./support.mjs";

const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR42mM4o6SEBzGMSmNDAJweakGa2WFkAAAAAElFTkSuQmCC", "base64");
const SVG = `<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20" onload="window.__xss=1"><script>parent.__xss=2; top.__xss=3</script><rect width="20" height="20"/></svg>`;

const SHOWN = `---
up: "[[Quay#Where|the quay]]"
seen:
  - 2026-01-05
  - "[[nobody]]"
site: https://example.org/a
status: in progress
tags: [boats]
crew:
  cook: Ann
private: false
empty:
---
# Shown

First line, with ==a **marked** part== and #boats but not #1 or a==b.
Second line with H<sub>2</sub>O, $x^2$ and ~~gone~~. %%not shown%% <i onclick="x">no</i>

> [!warning]- Mind **the** gap
> Under the fold.

> [!tip]
> Without a title.

> [!note] Title
> - a list

- [ ] open task
- [x] done task
- [/] begun task
  1. [ ] inner task

| left | centre | right |
|---|:-:|--:|
| 1 | 2 | ${"wide ".repeat(4)}|

A note[^one] and again[^one], and another[^2].

[^one]: The first footnote.
[^2]: The second.

\`\`\`js
const answer = "forty" + 2; // not more
\`\`\`

\`\`\`constructor
const plain = 1;
\`\`\`

A named block. ^named

- item one
- item two ^item

## Far

${"More text.\n\n".repeat(40)}## Further

The end.
`;

const { vault, tabs } = inBrowser((vault) => {
  vault.write("notes/Shown.md", SHOWN);
  vault.write("notes/Quay.md", "# Quay\n\nBoats lie here.\n\n## Where\n\nAt the mouth of the river. ^mouth\n\n- one\n- two ^item\n\n## Nowhere\n\nNot this, ![[Shown]].\n");
  vault.write("notes/only-properties.md", "---\nkind: lighthouse\nheight: 31\nlit: true\n---\n");
  vault.write("notes/many.md", `---\n${Array.from({ length: 12 }, (_, at) => `key${at}: value ${at}`).join("\n")}\n---\nText.\n`);
  vault.write("img/red dot.png", PNG);
  vault.write("img/hostile.svg", SVG);
  vault.write("img/broken.png", "no picture");
  vault.write("img/paper.pdf", "%PDF-1.1\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Count 0/Kids[]>>endobj trailer<</Root 1 0 R>>\n%%EOF\n");
  vault.write("notes/pictures.md", `# Pictures\n\n![[img/red dot.png|120]] ![a dot|30x40](../img/red%20dot.png) ![[img/hostile.svg]]\n\n![[img/broken.png]] ![[img/none.png]] ![far](https://example.org/x.png) ![[img/paper.pdf]]\n`);
  vault.write("notes/svg.md", "# SVG\n\n[[img/hostile.svg]] ![[img/hostile.svg]] [a file](../img/hostile.svg)\n\n<object data=\"../img/hostile.svg\"></object>\n");
  vault.write("notes/embeds.md", `# Embeds\n\n![[Quay]]\n\n![[Quay#Where]]\n\n![[Quay#^item]]\n\n![[Quay#^none]]\n\n![[embeds]]\n\n![[nobody]]\n\n${"![[Quay#Where]]\n\n".repeat(12)}`);
  vault.write("notes/mentions.md", "# Harbour\n\nThe Quay is named here without a link; [[Quay]] with one.\n");
  vault.write(`notes/${"n".repeat(200)}.md`, `---\n${"k".repeat(90)}: ${"v".repeat(200)}\n---\n# ${"T".repeat(200)}\n\n[[${"m".repeat(200)}]] ![[${"p".repeat(190)}.png]]\n`);
});

async function reading(path, options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForFunction(() => !location.hash.includes("code="));
  await page.goto(`${vault.origin}/#/search?note=${encodeURIComponent(path)}`);
  await page.waitForFunction((wanted) => document.querySelector("#reader .cite")?.textContent === wanted, path);
  return page;
}

const parameters = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);
const texts = (page, selector) => page.locator(selector).allInnerTexts();

describe("properties", () => {
  test("stand in a table; links are followed, and a value searches for its like", async () => {
    const page = await reading("notes/Shown.md");
    assert.deepEqual(await texts(page, ".properties th"), ["up", "seen", "site", "status", "tags", "crew.cook", "private", "empty"]);
    assert.equal(await page.getAttribute(".properties a[href^=https]", "href"), "https://example.org/a");
    assert.match(await page.locator(".properties a", { hasText: "2026-01-05" }).getAttribute("href"), /day=2026-01-05/);
    assert.equal(await page.locator(".properties .nowhere").innerText(), "nobody");
    await page.locator(".properties a", { hasText: "in progress" }).click();
    await page.waitForFunction(() => new URLSearchParams(location.hash.split("?")[1]).get("q") === 'status:"in progress"');
    await page.waitForSelector(".hit");
    await page.goBack();
    await page.locator(".properties a", { hasText: "the quay" }).click();
    await page.waitForFunction(() => document.querySelector("#reader h2")?.textContent === "Quay");
  });

  test("a note of properties alone shows them, and many are folded", async () => {
    const page = await reading("notes/only-properties.md");
    assert.match(await text(page, ".properties table"), /kind\s+lighthouse[^]*height\s+31[^]*lit\s+true/);
    assert.equal(await page.locator("#reader .body > *").count(), 0);
    const many = await reading("notes/many.md");
    assert.equal(await many.locator(".properties table").isVisible(), false);
    await many.focus(".properties summary");
    await many.keyboard.press("Enter");
    await many.waitForSelector(".properties table", { state: "visible" });
  });
});

describe("text", () => {
  test("marks, tags, HTML that sets type, tasks, tables and callouts", async () => {
    const page = await reading("notes/Shown.md");
    const body = page.locator("#reader .body");
    assert.deepEqual(await texts(page, ".body mark"), ["a marked part"]);
    assert.equal(await body.locator("mark strong").innerText(), "marked");
    assert.deepEqual(await texts(page, ".body a.tag"), ["#boats"]);
    assert.equal(await body.locator("sub").innerText(), "2");
    assert.equal(await body.locator("code.math").innerText(), "x^2");
    assert.equal(await body.locator("del").innerText(), "gone");
    assert.deepEqual(await texts(page, ".body code.html"), ["<i onclick=\"x\">", "</i>"]);
    const whole = await body.innerText();
    assert.doesNotMatch(whole, /not shown|\^named|\^item|\[!|☐|☑/);
    assert.match(whole, /a==b\.\n+Second line/);
    assert.deepEqual(await texts(page, ".body .callout-title"), ["Warning Mind the gap", "Tip", "Note Title"]);
    assert.equal(await page.getByText("Under the fold.", { exact: true }).isVisible(), false);
    await page.focus(".callout summary");
    await page.keyboard.press("Enter");
    assert.equal(await page.getByText("Under the fold.", { exact: true }).isVisible(), true);
    assert.equal(await page.getByText("Without a title.", { exact: true }).isVisible(), true);
    const lines = SHOWN.split("\n");
    const found = await page.locator(".body input").evaluateAll((all) => all.map((box) => [box.checked, box.disabled, box.ariaLabel, Number(box.dataset.line)]));
    assert.deepEqual(found.map(([checked, disabled, label, line]) => [checked, disabled, label, lines[line - 1].trim()]), [
      [false, false, "open task", "- [ ] open task"], [true, false, "done task", "- [x] done task"],
      [true, false, "begun task", "- [/] begun task"], [false, false, "inner task", "1. [ ] inner task"],
    ]);
    assert.deepEqual(await page.locator(".body tr:nth-child(2) td").evaluateAll((all) => all.map((cell) => getComputedStyle(cell).textAlign)), ["left", "center", "right"]);
  });

  test("code is coloured where the language is known", async () => {
    const page = await reading("notes/Shown.md");
    assert.deepEqual(await texts(page, ".body pre:first-of-type .code-word"), ["const"]);
    assert.deepEqual(await texts(page, ".code-string"), ['"forty"']);
    assert.deepEqual(await texts(page, ".code-comment"), ["// not more"]);
    assert.equal(await page.locator(".body pre[title=constructor] *").count(), 0);
  });

  test("footnotes stand at the end, with links there and back", async () => {
    const page = await reading("notes/Shown.md");
    assert.match(await page.locator(".body > :last-child").innerText(), /The first footnote\.[^]*The second\./);
    await page.locator("sup.footnote a").nth(1).click();
    await focused(page, "div.footnote");
    assert.match(await page.evaluate(() => document.activeElement.textContent), /The first footnote/);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await focused(page, "sup.footnote a");
    assert.equal(parameters(page).get("note"), "notes/Shown.md");
  });

  test("the outline leads to each heading, by keyboard", async () => {
    const page = await reading("notes/Shown.md");
    await page.focus(".outline summary");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".outline li");
    assert.deepEqual(await texts(page, ".outline li"), ["Far", "Further"]);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    await page.keyboard.press("Enter");
    await focused(page, ".body h3");
    assert.equal(await page.evaluate(() => document.activeElement.textContent), "Further");
    await page.waitForFunction(() => document.activeElement.getBoundingClientRect().top < innerHeight);
  });

  test("a block that a link names is in view", async () => {
    vault.write("notes/to-block.md", "To [[Shown#^item|the item]].\n");
    await eventually("the note", async () => (await vault.ask("/api/user-memory/note?path=notes/to-block.md")).ok);
    const page = await reading("notes/to-block.md");
    await page.click(".body a.inside");
    await page.waitForFunction(() => {
      const item = [...document.querySelectorAll("#reader .body li")].find((one) => one.textContent === "item two");
      const top = item?.getBoundingClientRect().top;
      return top >= 0 && top < innerHeight;
    });
  });
});

describe("other files", () => {
  test("pictures of the vault are shown, none of elsewhere, and what cannot be shown says why", async (context) => {
    if (!(await vault.has("GET", "/api/user-memory/file"))) return context.skip("this server gives no files yet");
    const page = await reading("notes/pictures.md");
    await page.waitForFunction(() => document.querySelectorAll("#reader img").length === 3);
    const shown = await page.locator("#reader img").evaluateAll((all) => all.map((one) => [one.alt, one.width, one.height, one.naturalWidth]));
    assert.deepEqual(shown, [["red dot.png", 120, 120, 10], ["a dot", 30, 40, 10], ["hostile.svg", 20, 20, 20]]);
    await page.waitForFunction(() => document.querySelectorAll("#reader .picture .missing").length === 2);
    assert.match((await texts(page, "#reader .picture .missing")).join("\n"), /^broken\.png: .+\nnone\.png: .+/);
    assert.equal(await page.getAttribute("#reader a.image", "href"), "https://example.org/x.png");
    const opened = page.waitForEvent("popup");
    await page.click("#reader .paper button");
    assert.match((await opened).url(), /^(blob:|about:blank|:)/);
  });

  test("an SVG of the vault is a picture, and never a document", async () => {
    const page = await reading("notes/svg.md");
    await page.waitForFunction(() => document.querySelectorAll("#reader img").length === 3);
    assert.equal(await page.locator("#reader :is(svg, iframe, object, embed), #reader .body a[href]").count(), 0);
    const sources = await page.locator("#reader img").evaluateAll((all) => all.map(({ src }) => src));
    const { headers } = await vault.ask("/api/user-memory/file?path=img/hostile.svg");
    assert.deepEqual(["content-disposition", "content-security-policy", "x-content-type-options"].map((name) => headers.get(name)),
      ["attachment", "sandbox; default-src 'none'", "nosniff"]);
    for (const address of [...sources, `${vault.origin}/api/user-memory/file?path=img/hostile.svg`, `${vault.origin}/img/hostile.svg`]) {
      const other = await page.context().newPage();
      const isShown = await other.goto(address).then((response) => response?.ok() ?? true, () => false);
      assert.equal(isShown, false, address);
      await other.close();
    }
  });

  test("notes are shown within a note, one level deep and not without end", async () => {
    const page = await reading("notes/embeds.md");
    await page.waitForFunction(() => /two/.test(document.querySelectorAll("#reader .embed")[2]?.textContent));
    const embeds = await texts(page, "#reader .embed");
    assert.equal(embeds.length, 10);
    assert.match(embeds[0], /^Quay[^]*Boats lie here[^]*Not this/);
    assert.match(embeds[1], /^Quay › Where\s+Where\s+At the mouth of the river\.[^]*two$/);
    assert.match(embeds[2], /^Quay › item\s+one\s+two$|^Quay › item\s+two$/);
    await page.waitForFunction(() => /has no block none/.test(document.querySelectorAll("#reader .embed")[3]?.textContent));
    assert.equal(await page.locator("#reader .embed .embed").count(), 0);
    assert.equal(await page.locator("#reader .embed [data-from]").count(), 0);
    assert.equal(await page.locator("#reader .body > p > a.image.inside").count(), 7, "its own, and those that are too many");
    await page.locator("#reader .embed > a").nth(1).click();
    await page.waitForFunction(() => document.querySelector("#reader h2")?.textContent === "Quay");
  });
});

describe("about the note", () => {
  test("it can be opened elsewhere", async () => {
    const page = await reading("notes/Shown.md");
    await page.click(".menu summary");
    const file = `${vault.folder}/notes/Shown.md`;
    assert.equal(await page.getByRole("link", { name: "VS Code" }).getAttribute("href"), `vscode://file${file}:1`);
    assert.equal(await page.getByRole("link", { name: "Zed" }).getAttribute("href"), `zed://file${file}:1`);
    await page.click(".menu button");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), `$EDITOR '${file}'`);
  });

  test("where it is named without a link", async (context) => {
    if (!(await vault.has("GET", "/api/user-memory/mentions"))) return context.skip("this server tells of no mentions yet");
    const page = await reading("notes/Quay.md");
    await page.click(".near summary:has-text('Unlinked mentions')");
    await page.waitForSelector(".near details:has-text('Unlinked mentions') li");
    assert.match(await text(page, ".near details:has-text('Unlinked mentions')"), /Harbour[^]*named here without a link/);
  });

  test("a name without a link becomes one, and is taken back", async () => {
    const path = "notes/teas.md";
    const before = "# Teas\r\n\r\n`Rooibos` or [[Rooibos]]: rooibos.\r\n\r\n| Red Bush | hot |\r\n| --- | --- |\r\n";
    vault.write("notes/Rooibos.md", "---\naliases: [Red Bush]\n---\n# Rooibos\n\nA tea.\n");
    vault.write(path, before);
    await eventually("both in the index", async () => (await vault.get("/api/user-memory/mentions?path=notes/Rooibos.md")).mentions?.length === 2);
    const page = await reading("notes/Rooibos.md");
    const list = page.locator(".near details", { hasText: "Unlinked mentions" });
    await list.locator("summary").click();
    await list.getByRole("button", { name: "Link it: Teas, line 3" }).click();
    await list.locator("li").nth(1).waitFor({ state: "detached" });
    const linked = before.replace(": rooibos", ": [[rooibos]]");
    assert.equal(vault.read(path), linked);
    await list.getByRole("button", { name: "Link it: Teas, line 5" }).click();
    await list.locator("li").waitFor({ state: "detached" });
    assert.equal(vault.read(path), linked.replace("Red Bush", "[[Rooibos\\|Red Bush]]"));
    await page.locator("#reader").press("z");
    await eventually("the links to be undone", () => vault.read(path) === before);
    await list.locator("li").nth(1).waitFor();
  });

  test("what it was before is shown by lines, and brought back", async (context) => {
    if (!(await vault.has("GET", "/api/user-memory/versions"))) return context.skip("this server tells of no versions yet");
    const before = "one\ntwo\nthree\nfour\nfive\nsix\n";
    vault.write("notes/changing.md", before);
    const read = () => vault.ask("/api/user-memory/text?path=notes/changing.md");
    await eventually("the note", async () => (await read()).ok);
    const { hash } = await (await read()).json();
    const changed = await vault.ask("/api/user-memory/note", { method: "PUT", headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ path: "notes/changing.md", if_hash: hash, text: before.replace("five", "FIVE") }) });
    assert.ok(changed.ok);
    const page = await reading("notes/changing.md");
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("FIVE"));
    await page.click(".near summary:has-text('Versions')");
    await page.click(".near li summary");
    await page.waitForSelector(".diff");
    assert.match(await text(page, ".diff del"), /^- FIVE\s*$/);
    assert.match(await text(page, ".diff ins"), /^\+ five\s*$/);
    assert.doesNotMatch(await text(page, ".diff"), /one|two/);
    assert.deepEqual(await violations(page), []);
    await page.click(".near button:has-text('Bring this back')");
    await eventually("the text before", () => vault.read("notes/changing.md") === before);
  });
});

test("a difference makes one list of the other", () => {
  let seed = 1;
  const random = (below) => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const list = () => Array.from({ length: random(9) }, () => "abc"[random(3)]);
  for (let round = 0; round < 5000; round += 1) {
    const [a, b] = [list(), list()];
    const parts = diff(a, b);
    const of = (kind) => parts.filter(({ op }) => op === "=" || op === kind).flatMap(({ items }) => items);
    assert.deepEqual([of("-"), of("+")], [a, b]);
  }
  assert.deepEqual(diff(["a", "b", "d"], ["a", "c", "d"]).map(({ op, items }) => op + items), ["=a", "-b", "+c", "=d"]);
});

describe("looks", () => {
  for (const [scheme, size] of [["light", { width: 1280, height: 800 }], ["dark", { width: 360, height: 740, touch: true }]]) {
    test(`${scheme}, ${size.width} pixels: nothing overflows, and WCAG AA holds`, async () => {
      const page = await reading("notes/Shown.md", { scheme, ...size });
      for (const path of ["notes/Shown.md", "notes/embeds.md", "notes/pictures.md", `notes/${"n".repeat(200)}.md`]) {
        await page.goto(`${vault.origin}/#/search?note=${encodeURIComponent(path)}`);
        await page.waitForFunction((wanted) => document.querySelector("#reader .cite")?.textContent === wanted, path);
        await page.evaluate(() => document.querySelectorAll("#reader details").forEach((one) => (one.open = true)));
        await page.waitForFunction(() => ![...document.querySelectorAll(".near > details > div > .hint")].some((one) => one.textContent === "…"));
        assert.deepEqual(await overflow(page), [], path);
        assert.deepEqual(await violations(page), [], path);
        if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${scheme}-${path.slice(6, 14)}.png` });
      }
    });
  }

  test("a note of 5 MB with 10,000 headings opens at its passage", async () => {
    const section = (at) => `## Heading ${at}\n\n${"An ordinary line of a long log, of which there is more than can be read. ".repeat(7)}${at === 7777 ? "The purple heron." : ""}\n\n`;
    vault.write("notes/huge.md", Array.from({ length: 10_000 }, (_, at) => section(at)).join(""));
    await eventually("the note", async () => (await vault.get("/api/user-memory/search?mode=keyword&q=%22purple+heron%22")).results.length > 0);
    const { results: [{ line_start: from, line_end: to }] } = await vault.get("/api/user-memory/search?mode=keyword&q=%22purple+heron%22");
    const page = await reading("notes/Quay.md");
    const start = Date.now();
    await page.evaluate((hash) => (location.hash = hash), `#/search?note=notes/huge.md&lines=${from}-${to}`);
    await page.waitForFunction(() => {
      const pane = document.getElementById("reader").getBoundingClientRect();
      return [...document.querySelectorAll("#reader .passage")].some((one) => /purple heron/.test(one.textContent) && one.getBoundingClientRect().top < pane.bottom && one.getBoundingClientRect().bottom > pane.top);
    }, undefined, { timeout: PATIENCE });
    const opened = Date.now() - start;
    // A key is answered while such a note is there.
    const pressed = await page.evaluate(() => new Promise((resolve) => {
      const at = performance.now();
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "n", bubbles: true }));
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - at)));
    }));
    console.log(`5 MB: opened in ${opened} ms, a key to the next picture ${Math.round(pressed)} ms`);
    await page.click(".outline summary");
    await page.waitForSelector(".outline li");
    vault.delete("notes/huge.md");
  });
});
