// One box for notes, headings, tags and commands; and what the search shows of conditions, notes and nothing.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { eventually, focused, inBrowser, overflow, text, violations } from "./support.mjs";

const { vault, tabs } = inBrowser((vault) => {
  vault.write("notes/Heron.md", "---\naliases: [Grey wader]\ntags: [birds, birds/water]\n---\n# Heron\n\nIt waits.\n\n## Nesting season\n\nIn spring.\n");
  vault.write("work/Quarterly plan.md", "---\ntags: [work]\n---\n# Quarterly plan\n\nA budget.\n");
  const parts = ["wings", "beaks", "claws", "songs"].map((part) => `## About ${part}\n\n${`The kingfisher has ${part}, as everybody says of it. `.repeat(30)}\n`);
  vault.write("notes/kingfisher.md", `# Kingfisher\n\n${parts.join("\n")}`);
  for (let at = 0; at < 130; at += 1) vault.write(`log/entry ${at}.md`, `---\ntags: [log]\n---\nThe barometer of day ${at} rose.\n`);
});

async function opened(options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  return page;
}

/** Opens the box and types into it. */
async function box(page, typed = "") {
  await page.keyboard.press("Control+k");
  await focused(page, "#box-field");
  await page.waitForSelector("#box-list [role=option]");
  if (typed) await page.keyboard.insertText(typed);
}

const option = (page, text) => page.waitForFunction((wanted) => document.querySelector("#box-list [aria-selected=true]")?.textContent.includes(wanted), text);
const writes = () => vault.has("POST", "/api/user-memory/note");
const openFilters = (page) => page.click("button[aria-controls=filters]");

describe("the box", () => {
  test("opens a note by what its name begins with, from anywhere, and gives the focus back", async () => {
    const page = await opened();
    await page.keyboard.press("Control+k");
    await focused(page, "#box-field");
    await page.waitForFunction(() => document.querySelectorAll("#box-list [role=option]").length >= 10);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await focused(page, "#query");
    await page.click("nav a[data-view=settings]");
    await box(page, "quart pl");
    await option(page, "Quarterly plan");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("A budget."));
    await page.keyboard.press("Escape");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("/");
    await focused(page, "#box-field");
    await page.keyboard.insertText("grey wad");
    await option(page, "Heron (Grey wader)");
  });

  test("finds headings and tags with #, and lists commands with >", async () => {
    const page = await opened();
    await box(page, "#nest");
    await option(page, "# Nesting season");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#reader .passage");
    assert.match(page.url(), /Heron\.md&lines=9-9/);
    await box(page, "#birds/w");
    await option(page, "#birds/water");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".chip")?.textContent.includes("tag:birds/water"));
    await box(page, ">sett");
    await option(page, "Settings");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#shortcuts");
    await box(page, ">this list");
    await option(page, "This list");
    await page.keyboard.press("Enter");
    await page.waitForSelector("dialog.help");
  });

  test("arrows go round, Enter searches, Ctrl-Enter opens a tab", async () => {
    const page = await opened();
    await box(page, "kingfish");
    await option(page, "Kingfisher");
    await page.keyboard.press("ArrowUp");
    await option(page, "Make “kingfish”");
    await page.keyboard.press("ArrowUp");
    await option(page, "Search for “kingfish”");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => /passage/.test(document.querySelector(".summary").textContent));
    assert.equal(await page.inputValue("#query"), "kingfish");
    await box(page, "heron");
    await option(page, "Heron");
    const other = page.context().waitForEvent("page");
    await page.keyboard.press("Control+Enter");
    assert.match((await other).url(), /note=notes%2FHeron\.md/);
  });

  test("makes a note", async (context) => {
    if (!(await writes())) return context.skip("this server makes no notes yet");
    const page = await opened();
    await box(page, "A/new: thought");
    await page.waitForFunction(() => document.querySelector("#box-list").textContent.includes("Make “A/new: thought”"));
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await eventually("the note", () => {
      try {
        return vault.read("notes/A new thought.md").startsWith("# A/new: thought");
      } catch {
        return false;
      }
    });
  });
});

describe("the search", () => {
  test("completes conditions and shows them as chips, which Backspace and a click remove", async () => {
    const page = await opened();
    await page.fill("#query", "barometer tag:bi");
    await page.waitForSelector("#query-options [role=option]");
    assert.deepEqual(await violations(page), []);
    assert.match(await text(page, "#query-options"), /birds\/water/);
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector(".chip")?.textContent.includes("tag:birds"));
    assert.equal(await page.inputValue("#query"), "barometer ");
    await page.keyboard.press("Home");
    await page.keyboard.press("Backspace");
    await page.waitForFunction(() => !document.querySelector(".chip"));
    await page.keyboard.press("End");
    await page.keyboard.type("in:log has:link ");
    await page.waitForFunction(() => document.querySelectorAll(".chip").length === 2);
    await page.click(".chip >> nth=1");
    await page.waitForFunction(() => /q=in%3Alog\+barometer/.test(location.hash));
    await page.reload();
    await page.waitForSelector(".chip");
    assert.equal(await page.inputValue("#query"), "barometer ".trim());
  });

  test("filters are behind one button, and chips when they are set", async () => {
    const page = await opened();
    assert.equal(await page.isVisible(".modes"), false);
    await openFilters(page);
    assert.deepEqual(await violations(page), []);
    await page.waitForSelector("select option[value=log]", { state: "attached" });
    await page.selectOption("select[aria-label=Collection]", "log");
    await page.click(".modes label:has([value=keyword])");
    await page.waitForFunction(() => document.querySelectorAll(".chip").length === 2);
    await page.click(".conditions >> text=has:");
    await page.waitForSelector("#query-options [role=option]");
    await page.click("#query-options >> text=table");
    await page.waitForFunction(() => /Nothing found/.test(document.querySelector(".summary").textContent));
  });

  test("hits are grouped by note, the rest of a note behind a button", async () => {
    const page = await opened();
    await page.goto(`${vault.origin}/#/search?q=kingfisher&mode=keyword`);
    await page.waitForSelector(".more-in-note");
    const titles = () => page.locator(".hit .title").allInnerTexts();
    assert.equal((await titles()).filter((title) => title === "Kingfisher").length, 1);
    const more = Number.parseInt(await text(page, ".more-in-note"), 10);
    await page.click(".more-in-note");
    assert.equal((await titles()).filter((title) => title === "Kingfisher").length, 1 + more);
    await focused(page, ".hit.within .hit-title");
    assert.match(await text(page, ".hits"), /\d\d:\d\d|20\d\d-/);
  });

  test("all results come by scrolling", async () => {
    const page = await opened();
    await page.goto(`${vault.origin}/#/search?q=barometer&mode=keyword`);
    await page.waitForFunction(() => /barometer/.test(document.querySelector(".hits").textContent));
    for (const wanted of [100, 130]) {
      await eventually(`${wanted} hits`, async () => {
        await page.evaluate(() => document.querySelector(".hit:last-child").scrollIntoView());
        return (await page.locator(".hit").count()) >= wanted;
      });
    }
    assert.match(await text(page, ".summary"), /^130 passages/);
    assert.match(await text(page, ".hit .tag"), /#log/);
  });

  test("when nothing is found it says what to leave out", async () => {
    const page = await opened();
    await page.goto(`${vault.origin}/#/search?q=${encodeURIComponent("barometer tag:birds/water")}&mode=keyword`);
    await page.waitForSelector(".hits .plain a");
    assert.match(await text(page, ".hits"), /without tag:birds\/water: \d+\+? passages/);
    await page.click(".hits .plain a");
    await page.waitForSelector(".hit");
    assert.equal(await page.locator(".chip").count(), 1, "the mode is left");
    await page.goto(`${vault.origin}/#/search?q=${encodeURIComponent("heron tag:birsd")}`);
    await page.waitForFunction(() => /did you mean/.test(document.querySelector(".degraded")?.textContent));
    await page.click("text=with birds");
    await page.waitForSelector(".hit");
  });

  test("a search is saved as a note, and offered where nothing is typed", async (context) => {
    if (!(await writes())) return context.skip("this server makes no notes yet");
    const page = await opened();
    await page.goto(`${vault.origin}/#/search?q=barometer&collection=log`);
    await page.click("text=Save this search");
    await page.fill("#search-name", "Weather");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".toast");
    assert.match(vault.read("notes/searches/Weather.md"), /^---\ntype: search\ntitle: "Weather"\nquery: "in:log barometer"\n---/);
    await eventually("the search", async () => (await vault.get("/api/user-memory/search?q=type:search&mode=keyword")).results.length);
    await page.goto(`${vault.origin}/#/search`);
    await page.click(".saved >> text=Weather");
    await page.waitForFunction(() => /tag|in:log/.test(document.querySelector(".chip")?.textContent));
    assert.equal(await page.inputValue("#query"), "barometer");
  });

  test("how long it takes from a key to the changed list", async (context) => {
    const page = await opened();
    const timed = (selector, list) => page.evaluate(([selector, list]) => {
      globalThis.__times = [];
      document.querySelector(selector).addEventListener("keydown", () => {
        const from = performance.now();
        const watch = new MutationObserver(() => {
          globalThis.__times.push(performance.now() - from);
          watch.disconnect();
        });
        watch.observe(document.querySelector(list), { childList: true });
      });
    }, [selector, list]);
    const told = async (what) => {
      const times = (await page.evaluate(() => globalThis.__times)).sort((one, other) => one - other);
      assert.ok(times.length > 3);
      context.diagnostic(`${what}: ${times.length} keys, median ${times[times.length >> 1].toFixed(0)} ms, longest ${times.at(-1).toFixed(0)} ms`);
    };
    await timed("#query", ".hits");
    await page.type("#query", "barometer of", { delay: 150 });
    await page.waitForTimeout(300);
    await told("the search");
    await page.keyboard.press("Control+k");
    await focused(page, "#box-field");
    await timed("#box-field", "#box-list");
    await page.type("#box-field", "kingfisher", { delay: 150 });
    await page.waitForTimeout(300);
    await told("the box");
  });
});

describe("looks", () => {
  test("on a phone the first hit is in the upper part, below a row of chips or two", async () => {
    const page = await opened({ width: 360, height: 740, touch: true });
    // Two rows of chips, and a second line of what was found, are above the other.
    for (const [q, title, most] of [["kingfisher", "Kingfisher", 200], ["tag:log in:log path:log/* barometer", "entry", 220]]) {
      await page.goto(`${vault.origin}/#/search?q=${encodeURIComponent(q)}&mode=keyword`);
      await page.locator(".hit:first-of-type", { hasText: title }).waitFor();
      const { y } = await page.locator(".hit").first().boundingBox();
      assert.ok(y < most, `${q}: the first hit begins at ${y}`);
    }
  });

  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740, touch: true } };
  for (const scheme of ["light", "dark"]) {
    for (const [name, size] of Object.entries(sizes)) {
      test(`${scheme}, ${name}: nothing overflows, and WCAG AA holds`, async () => {
        const page = await opened({ scheme, ...size });
        const check = async (place) => {
          if (process.env.SHOTS) await page.screenshot({ path: `${process.env.SHOTS}/${scheme}-${name}-${place}.png` });
          assert.deepEqual(await overflow(page), [], place);
          assert.deepEqual(await violations(page), [], place);
        };
        await check("start");
        await page.goto(`${vault.origin}/#/search?q=${encodeURIComponent("tag:log in:log barometer kingfisher")}&since=1y`);
        await page.waitForFunction(() => /passage/.test(document.querySelector(".summary").textContent));
        await openFilters(page);
        await check("filters");
        await page.goto(`${vault.origin}/#/search?q=kingfisher`);
        await page.waitForSelector(".more-in-note");
        await check("hits");
        await box(page, "kingfisher");
        await option(page, "Kingfisher");
        await check("box");
      });
    }
  }
});
