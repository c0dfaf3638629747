// What a person does on the page, in a real browser, on a real vault.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, focused, goTo, inBrowser, overflow, root, text, violations } from "./support.mjs";

const PAYLOADS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));
const QUESTION = "what would make us go back to paper";

const { vault, tabs } = inBrowser((vault) => {
  vault.write("bookmarks/git.md", "# Undoing things in git\n\nWhat git restore does.\n");
  PAYLOADS.forEach((payload, at) => vault.write(`hostile/${at}.md`, `Zebrafish ${at}.\n\n${payload}\n\nEnd of ${at}.\n`));
  const links = ["javascript:window.__xss=60", "data:text/html,<script>parent.__xss=61</script>", "[[javascript:window.__xss=62|press]]", "[press](javascript:window.__xss=63)"];
  const properties = links.map((link, at) => `key${at}: ${JSON.stringify(link)}\n`).join("");
  vault.write("hostile/properties.md", `---\n${properties}aliases: ${JSON.stringify(links)}\ntags: ${JSON.stringify(links)}\n---\nZebrafish with properties.\n`);
  vault.write("hostile/<img src=x onerror=window.__xss=1>.md", "---\ntags: ['<b>tag', \"'><script>\"]\n---\n# <img src=x onerror=window.__xss=50>\n\nZebrafish with a name.\n");
});

const tab = (options) => tabs.tab(options);

/** A tab that `vault open` opened. */
async function opened(options) {
  const page = await tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  return page;
}

/** Types a query and waits for its answer. */
async function search(page, query) {
  const answered = page.waitForResponse((response) => new URL(response.url()).searchParams.get("q") === query);
  await page.fill("#query", query);
  await answered;
  await page.waitForFunction(() => /passage|Nothing/.test(document.querySelector(".summary").textContent));
}

const openFilters = (page) => page.click("button[aria-controls=filters]");

const parameters = (page) => new URLSearchParams(new URL(page.url()).hash.split("?")[1]);

describe("the way in", () => {
  test("a code opens the page once, and leaves the address", async () => {
    const address = vault.openAddress();
    const page = await tab();
    await page.goto(address);
    await page.waitForSelector(".hit");
    assert.doesNotMatch(page.url(), /code=/);
    const [cookie, ...others] = await page.context().cookies();
    assert.deepEqual([cookie.httpOnly, cookie.sameSite, cookie.secure, others.length], [true, "Strict", false, 0]);
    assert.equal(await page.evaluate(() => document.cookie), "");
    await page.reload();
    await page.waitForSelector(".hit");
    const second = await tab();
    await second.goto(address);
    await second.waitForSelector(".login .failure:not([hidden])");
    assert.match(await text(second, ".login .failure"), /already used/);
  });

  test("without a token it says what to do, and takes one that is pasted", async () => {
    const page = await tab();
    await page.goto(vault.origin);
    await page.waitForSelector(".login");
    assert.match(await text(page, ".login"), /vault open/);
    assert.deepEqual(await violations(page), []);
    await page.click(".login summary");
    await page.fill("#token", "wrong");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".login .failure:not([hidden])");
    await page.fill("#token", vault.token);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".hit");
  });

  test("a token that is not known any more leads back to the way in", async () => {
    const page = await opened();
    await page.evaluate(() => localStorage.setItem("vault-key", "old"));
    // What the page asks by itself may be refused before.
    await page.fill("#query", "anything", { timeout: 2000 }).catch(() => {});
    await page.waitForSelector(".login");
    assert.match(await text(page, ".login .failure"), /session has ended/);
    assert.equal(await page.evaluate(() => localStorage.getItem("vault-key")), null);
  });

  test("a refusal that is not the vault's own ends no session", async () => {
    const page = await opened();
    const kept = await page.evaluate(() => localStorage.getItem("vault-key"));
    await page.route(/\/(api|events|status)\b/, (route) => route.fulfill({ status: 401, contentType: "text/html", body: "Not now." }));
    await page.fill("#query", "anything");
    await page.waitForSelector("#main .failure");
    assert.equal(await page.evaluate(() => localStorage.getItem("vault-key")), kept);
    await page.unroute(/\/(api|events|status)\b/);
    await page.fill("#query", "");
    await page.waitForSelector(".hit");
    assert.equal(await page.locator(".login").count(), 0);
  });

  test("a link opens the place that it names, in another tab, after a restart, and after signing in", async () => {
    const place = `${vault.origin}/#/search?note=bookmarks%2Fgit.md`;
    const page = await tab();
    await page.goto(place);
    await page.waitForSelector(".login");
    assert.match(await text(page, ".login"), /the place that its address names: bookmarks\/git\.md/);
    assert.deepEqual(await violations(page), []);
    // Signed in at a second tab, the first goes where it was asked to.
    const second = await page.context().newPage();
    await second.goto(vault.openAddress());
    await second.waitForSelector(".hit");
    await page.waitForSelector("#reader:not([hidden])");
    assert.match(page.url(), /note=bookmarks%2Fgit\.md/);
    await vault.stop();
    await vault.start({ port: new URL(vault.origin).port });
    const third = await page.context().newPage();
    await third.goto(place);
    await third.waitForSelector("#reader:not([hidden])");
    await third.goto("about:blank");
    await third.goto(vault.command("open", "bookmarks/git.md", "--print", "--vault", vault.folder).trim());
    await third.waitForSelector("#reader:not([hidden])");
    assert.doesNotMatch(third.url(), /code=/);
  });

  test("signed-in browsers are listed, and signed out one by one or all others", async () => {
    const [page, other] = [await opened(), await opened()];
    await page.goto(`${vault.origin}/#/settings`);
    await page.waitForSelector("#sessions li");
    assert.match(await text(page, "#sessions li:has-text('this browser')"), /(Chrome|Firefox) on Linux.*last used/s);
    await page.click("#sessions >> text=Sign out all others");
    await page.waitForFunction(() => document.querySelectorAll("#sessions li").length === 1);
    assert.deepEqual(await violations(page), []);
    await other.reload();
    await other.waitForSelector(".login");
    await page.click("text=Sign out");
    await page.waitForSelector(".login");
    assert.equal(await page.evaluate(() => localStorage.length), 0);
  });
});

describe("searching", () => {
  test("as one types, in every mode, with the words marked and scores on demand", async () => {
    const page = await opened();
    await focused(page, "#query");
    assert.equal(await text(page, ".summary"), "Recently written");
    await search(page, QUESTION);
    assert.match(await text(page, ".hit-title"), /loans in a spreadsheet/);
    assert.match(await text(page, ".hit mark"), /\w/);
    assert.equal(await page.locator(".scores").first().isVisible(), false);
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("s");
    assert.match(await text(page, ".scores"), /relevance 0\.\d+ · words [\d.]+ · meaning [\d.]+/);
    await page.click(".toggle-scores");
    assert.equal(await page.locator(".scores").first().isVisible(), false);
    await page.click(".toggle-scores");
    assert.equal(await page.getAttribute(".toggle-scores", "aria-pressed"), "true");
    await openFilters(page);
    await page.click(".modes label:has([value=semantic])");
    await page.waitForFunction(() => !/words/.test(document.querySelector(".scores")?.textContent ?? "words"));
    assert.equal(parameters(page).get("mode"), "semantic");
    await page.click(".modes label:has([value=keyword])");
    await search(page, "qqqqzzzz");
    assert.match(await text(page, ".summary"), /^Nothing found/);
  });

  test("a slow answer never takes the place of a later one", async () => {
    const page = await opened();
    let release;
    const held = new Promise((resolve) => (release = resolve));
    await page.route(/q=sourdough(&|$)/, async (route) => {
      await held;
      await route.continue().catch(() => {});
    });
    const asked = page.waitForRequest(/q=sourdough(&|$)/);
    const isSlow = (request) => new URL(request.url()).searchParams.get("q") === "sourdough";
    // Given up by the page, or answered after all.
    const over = Promise.race(["requestfailed", "requestfinished"].map((end) => page.waitForEvent(end, isSlow)));
    await page.fill("#query", "sourdough");
    await asked;
    await search(page, "tile cutter");
    const before = await text(page, ".hits");
    release();
    await over;
    assert.equal(await text(page, ".hits"), before);
  });

  test("filters by collection, tag and age are in the address, and outlive a reload", async () => {
    const page = await opened();
    await openFilters(page);
    await page.waitForSelector("select option[value=bookmarks]", { state: "attached" });
    await page.selectOption("select[aria-label=Collection]", "bookmarks");
    await search(page, "git");
    await page.waitForFunction(() => [...document.querySelectorAll(".hit .cite")].every((one) => one.textContent.startsWith("bookmarks/")));
    await page.reload();
    await page.waitForSelector(".hit");
    assert.equal(await page.inputValue("#query"), "git");
    await openFilters(page);
    assert.equal(await page.inputValue("select[aria-label=Collection]"), "bookmarks");
    await page.selectOption("select[aria-label=Changed]", "7d");
    await page.fill("input.tag", "#no-such-tag");
    await page.waitForFunction(() => /^Nothing found.*no-such-tag/.test(document.querySelector(".summary").textContent));
    assert.equal(parameters(page).get("tag"), "no-such-tag");
  });

  test("citations open Obsidian and can be copied", async () => {
    const page = await opened();
    await search(page, QUESTION);
    const cite = page.locator(".hit .cite").first();
    assert.match(await cite.getAttribute("href"), /^obsidian:\/\/open\?path=%2F/);
    const citation = await cite.innerText();
    await page.locator(".hit button").first().click();
    await page.waitForFunction(() => document.querySelector(".hit button").textContent === "Copied");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), citation);
  });
});

describe("the keyboard", () => {
  test("reaches everything: /, arrows, Enter, Esc, ?", async () => {
    const page = await opened();
    await search(page, QUESTION);
    await page.keyboard.press("ArrowDown");
    await focused(page, ".hit:first-child .hit-title");
    await page.keyboard.press("ArrowDown");
    await focused(page, ".hit ~ .hit .hit-title");
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("ArrowUp");
    await focused(page, "#query");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#reader .passage");
    await focused(page, "#reader");
    await page.keyboard.press("c");
    await page.waitForFunction(() => document.getElementById("said").textContent.startsWith("Copied notes/"));
    await page.keyboard.press("Escape");
    await page.waitForSelector("#reader", { state: "hidden" });
    await focused(page, ".hit:first-child .hit-title");
    await page.keyboard.press("/");
    await focused(page, "#query");
    await page.keyboard.type("?");
    assert.equal(await page.locator("dialog").count(), 0, "what is typed is typed");
    await page.keyboard.press("Escape");
    assert.equal(await page.inputValue("#query"), "");
    await page.keyboard.press("Escape");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog.help");
    assert.match(await text(page, "dialog.help"), /What to type[^]*\[rating:>3\]/);
    assert.deepEqual(await violations(page), []);
    await page.getByRole("link", { name: "Settings" }).last().click();
    await page.waitForSelector("dialog.help", { state: "detached" });
    await page.waitForSelector(".bookmarklet");
    for (const [key, name] of [["2", "notes"], ["]", "see"], ["[", "notes"], ["3", "review"], ["4", "agents"], ["5", "settings"], ["1", "search"]]) {
      await page.keyboard.press(key);
      await page.waitForSelector(`nav a[data-view=${name}][aria-current=page]`, { state: "attached" });
      await page.evaluate(() => document.activeElement.blur());
    }
  });

  test("can do without single keys", async () => {
    const page = await opened();
    await goTo(page, "settings");
    await page.click("#shortcuts");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("?");
    await page.keyboard.press("1");
    assert.equal(await page.locator("dialog").count(), 0);
    assert.ok(await page.isVisible("#shortcuts"));
  });

  test("every stop of the tab key can be seen", async () => {
    const page = await opened();
    await page.evaluate(() => document.activeElement.blur());
    for (let step = 0; step < 24; step += 1) {
      await page.keyboard.press("Tab");
      const seen = await page.evaluate(() => {
        const element = document.activeElement;
        const shown = element.type === "radio" ? element.nextElementSibling : element;
        const { outlineStyle, boxShadow } = getComputedStyle(shown);
        return element === document.body || outlineStyle !== "none" || boxShadow !== "none" ? undefined : element.outerHTML;
      });
      assert.equal(seen, undefined);
    }
  });
});

describe("reading", () => {
  test("the passage is marked and in view, and passages can be walked", async () => {
    const page = await opened();
    await search(page, "rows are missing and we go back to cards");
    await page.click(".hit-title");
    const marked = page.locator("#reader .passage");
    await marked.first().waitFor();
    assert.match((await marked.allInnerTexts()).join(" "), /What would prove us wrong[^]*go back to cards/);
    assert.ok(await marked.last().evaluate((one) => {
      const [box, pane] = [one.getBoundingClientRect(), document.getElementById("reader").getBoundingClientRect()];
      return box.top >= pane.top && box.bottom <= pane.bottom;
    }));
    assert.equal(await text(page, ".tools .lines"), "Lines 28–31");
    assert.equal(await page.locator(".hit.open").count(), 1);
    await page.keyboard.press("p");
    await page.waitForFunction(() => document.querySelector(".tools .lines").textContent !== "Lines 28–31");
    await page.keyboard.press("n");
    await page.waitForFunction(() => document.querySelector(".tools .lines").textContent === "Lines 28–31");
    await page.locator("#reader .body p").first().click();
    await page.waitForFunction(() => !/28/.test(document.querySelector(".tools .lines").textContent));
    await page.goBack();
    await page.waitForSelector("#reader", { state: "hidden" });
  });

  test("a passage far into a huge note is in view, and the rest can be turned to", async () => {
    const line = `${"An ordinary line of a long log, of which there is more than can be read. ".repeat(3).trim()}\n\n`;
    vault.write("notes/huge.md", `# Huge\n\n${line.repeat(5_200)}## Wading\n\nThe purple heron wades here.\n\n## After\n\n${line.repeat(1_000)}`);
    const page = await opened();
    await openFilters(page);
    await page.click(".modes label:has([value=keyword])");
    await eventually("the note", async () => (await vault.get("/api/user-memory/search?mode=keyword&q=purple+heron+wades")).results.length > 0);
    await search(page, "purple heron wades");
    await page.click(".hit-title");
    const marked = page.locator("#reader .passage").last();
    await marked.waitFor();
    const heron = () => page.waitForFunction(() => {
      const pane = document.getElementById("reader").getBoundingClientRect();
      return [...document.querySelectorAll("#reader .passage")].some((one) => {
        const box = one.getBoundingClientRect();
        return /purple heron/.test(one.textContent) && box.top >= pane.top && box.bottom <= pane.bottom;
      });
    });
    await heron();
    assert.match(await text(page, ".tools .lines"), /^Lines 1040\d–1040\d$/);
    await page.click("text=Earlier part");
    await page.waitForFunction(() => !document.querySelector("#reader .body").textContent.includes("purple heron"));
    assert.equal(parameters(page).get("lines"), null);
    await page.click("text=Later part");
    await page.waitForFunction(() => document.querySelector("#reader .body").textContent.includes("purple heron"));
    await page.goBack();
    await page.waitForSelector("#reader", { state: "hidden" });
    // By an address of its own, as it is after a reload.
    await page.goto(`${vault.origin}/#/search?note=notes/huge.md&lines=10405-10405`);
    await heron();
    vault.delete("notes/huge.md");
    await eventually("the end of it", async () => (await vault.ask("/api/user-memory/note?path=notes/huge.md")).status === 404);
  });

  test("links to notes stay in the page, and other links are safe to follow", async () => {
    vault.write("notes/links.md", `# Links\n\nSee [[sourdough#When the dough is ready to shape|the dough]], [[nowhere]], <https://x.org>, ![pic](https://x.org/p.png) and [[#Here|below]].\n\n${"A line.\n\n".repeat(60)}## Here\n\n${"A line.\n\n".repeat(60)}`);
    const page = await opened();
    await eventually("the note", async () => (await vault.ask("/api/user-memory/note?path=notes/links.md")).ok);
    await page.goto(`${vault.origin}/#/search?note=notes/links.md`);
    await page.waitForSelector("#reader .body a.inside");
    const away = page.locator("#reader .body a[href^='https']").first();
    assert.deepEqual([await away.getAttribute("rel"), await away.getAttribute("target")], ["noopener noreferrer", "_blank"]);
    assert.equal(await page.locator("#reader img").count(), 0);
    assert.match(await text(page, "#reader .body .image"), /pic/);
    assert.equal(await page.locator("#reader .nowhere").getAttribute("href"), null);
    const inView = (name) => page.waitForFunction((wanted) => {
      const found = [...document.querySelectorAll("#reader .body :is(h2, h3, h4)")].find((one) => one.textContent === wanted);
      const top = found?.getBoundingClientRect().top;
      return top >= 0 && top < innerHeight / 3;
    }, name);
    await page.click("#reader .body a.inside");
    await inView("When the dough is ready to shape");
    assert.equal(parameters(page).get("note"), "notes/sourdough.md");
    await page.goBack();
    await page.click("#reader .body a[data-heading=Here]");
    await inView("Here");
    assert.equal(parameters(page).get("note"), "notes/links.md");
  });

  test("below a note stand the notes that link to it, and those near it", async () => {
    vault.write("notes/to-shape.md", "# Shaping\n\nHow <b>the</b> dough is shaped: [[sourdough]] overnight in the fridge.\n");
    const page = await opened();
    const path = "/api/user-memory/links?path=notes/sourdough.md";
    await eventually("the link", async () => (await (await vault.ask(path)).json()).incoming.length > 0);
    await page.goto(`${vault.origin}/#/search?note=notes/sourdough.md`);
    await page.waitForSelector("#reader .near li");
    assert.match(await text(page, "#reader .near"), /Linked from[^]*Shaping\s*How the dough[^]*Related notes/);
    assert.deepEqual(await violations(page), []);
    await page.locator("#reader .near a", { hasText: "Shaping" }).first().click();
    await page.waitForFunction(() => document.querySelector("#reader h2")?.textContent === "Shaping");
    assert.equal(parameters(page).get("lines"), "3-3");
  });

  test("a note that changes on disk is shown anew", async () => {
    vault.write("notes/fresh.md", "First words.\n");
    const page = await opened();
    await eventually("the note", async () => (await vault.ask("/api/user-memory/note?path=notes/fresh.md")).ok);
    await page.goto(`${vault.origin}/#/browse?note=notes/fresh.md`);
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("First words."));
    vault.write("notes/fresh.md", "Second words.\n");
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("Second words."));
  });

  test("hostile notes run nothing", async () => {
    const page = await opened();
    await search(page, "zebrafish");
    await page.goto(`${vault.origin}/#/browse?collection=hostile`);
    await page.waitForSelector(".hit");
    const paths = [...PAYLOADS.keys()].map((at) => `hostile/${at}.md`);
    paths.push("hostile/properties.md", "hostile/<img src=x onerror=window.__xss=1>.md");
    for (const path of paths) {
      await page.goto(`${vault.origin}/#/browse?collection=hostile&note=${encodeURIComponent(path)}`);
      await page.waitForFunction((wanted) => document.querySelector("#reader .cite")?.textContent === wanted, path);
      const bad = await page.evaluate(() => {
        const body = document.getElementById("reader");
        const wrong = [...body.querySelectorAll("script, style, iframe, object, embed, img, svg, form, input, base, meta, link, math, template")];
        for (const element of body.querySelectorAll("*")) {
          for (const { name, value } of element.attributes) {
            if (name.startsWith("on") || name === "style" || name === "srcdoc" || /^\s*(javascript|data|vbscript|file):/i.test(value)) wrong.push(element);
          }
        }
        // What is there to be pressed is pressed.
        for (const link of body.querySelectorAll(".body *")) {
          if (!link.closest("a[href]")) link.click();
          link.dispatchEvent(new MouseEvent("mouseover", { bubbles: true }));
        }
        return wrong.map((element) => element.outerHTML);
      });
      assert.deepEqual(bad, [], path);
    }
  });
});

describe("browsing, numbers and progress", () => {
  test("notes by folder, tag and order, and by the addresses of before", async () => {
    vault.write("journal/old.md", "---\nupdated: 2026-01-05T12:00:00\n---\nAn old day.\n");
    vault.write("journal/deep/2026-01-06.md", "---\nupdated: 2026-01-06T12:00:00\ntags: [rowing]\n---\nA daily note.\n");
    const page = await opened();
    await eventually("the notes", async () => (await vault.ask("/api/user-memory/note?path=journal/deep/2026-01-06.md")).ok);
    await goTo(page, "notes");
    const names = () => page.locator(".note-list .cite").allInnerTexts();
    const shown = (...wanted) => eventually(wanted.join(), async () => JSON.stringify(await names()) === JSON.stringify(wanted));
    await page.locator("[role=treeitem]", { hasText: "journal" }).click();
    await shown("journal/deep/2026-01-06.md", "journal/old.md");
    assert.equal(await text(page, ".summary"), "2 notes in journal");
    await page.selectOption("#notes-sort", "name");
    await page.waitForFunction(() => location.hash.includes("sort=name"));
    await page.fill("#notes-tag", "#rowing");
    await shown("journal/deep/2026-01-06.md");
    await page.fill("#notes-tag", "");
    await shown("journal/deep/2026-01-06.md", "journal/old.md");
    // The tree by keys: into the folder, down, and back up.
    await page.focus("#folder-journal");
    await page.keyboard.press("ArrowRight");
    await page.keyboard.press("ArrowRight");
    await focused(page, "[aria-level='2'][role=treeitem]");
    await page.keyboard.press("Enter");
    await shown("journal/deep/2026-01-06.md");
    await page.keyboard.press("ArrowLeft");
    await focused(page, "#folder-journal");
    await page.goto(`${vault.origin}/#/browse?collection=journal`);
    await shown("journal/deep/2026-01-06.md", "journal/old.md");
    await page.locator(".note-list .hit-title").first().click();
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("A daily note."));
    await page.keyboard.press("Escape");
    await focused(page, ".note-list .hit-title");
  });

  test("a day is chosen in the month, and shows its daily note and what was saved", async () => {
    const page = await opened();
    await page.goto(`${vault.origin}/#/browse?day=2026-01-05`);
    await page.locator(".see-day a", { hasText: "old" }).waitFor();
    await page.focus("#day-2026-01-05");
    await page.keyboard.press("ArrowRight");
    await focused(page, "#day-2026-01-06");
    assert.match(await page.getAttribute("#day-2026-01-06", "aria-label"), /6 January 2026, \d+ notes? saved, a daily note/);
    await page.click("text=The daily note");
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("A daily note."));
    await page.keyboard.press("Escape");
    await page.focus("#day-2026-01-06");
    await page.keyboard.press("PageUp");
    await focused(page, "#day-2025-12-06");
    await page.click("#month-today");
    await page.waitForSelector("text=How far indexing is");
    assert.match(await text(page, "#main"), /All [\d,]+ notes are read/);
    assert.deepEqual(await violations(page), []);
  });

  test("statistics show growth, collections and what is embedded", async () => {
    const page = await opened();
    await goTo(page, "stats");
    await page.waitForSelector(".chart");
    assert.match(await page.locator(".chart").getAttribute("aria-label"), /\d+ notes at the end/);
    const stats = await vault.get("/api/user-memory/stats");
    assert.equal(await page.locator(".collections tbody tr").count(), Object.keys(stats.collections).length);
    assert.equal(await text(page, ".numbers dd"), stats.files.toLocaleString("en-GB"));
    await page.click(".stats summary");
    assert.match(await text(page, ".stats details table"), /2026-01/);
  });

  test("the page waits for a daemon that was stopped", async () => {
    const page = await opened();
    await vault.stop();
    await page.waitForSelector("#live[data-state=away]");
    await page.fill("#query", "sourdough");
    await page.waitForSelector(".failure");
    assert.match(await text(page, ".failure"), /does not answer/);
    await vault.start({ port: new URL(vault.origin).port });
    await page.waitForSelector("#live[data-state=idle]");
    // It asks again by itself as well, after which there is nothing to click.
    await page.evaluate(() => document.querySelector(".failure button")?.click());
    await page.waitForSelector(".hit");
  });

  test("progress is told live", async () => {
    const page = await opened();
    const notes = async () => Number(/(\d+) note/.exec(await text(page, "#live"))?.[1]);
    await page.waitForSelector("#live[data-state=idle]");
    const before = await notes();
    vault.write("notes/live.md", "Something new while somebody looks on.\n");
    await eventually("the count", async () => (await notes()) === before + 1);
    await page.waitForFunction(() => [...document.querySelectorAll(".hit .cite")].some((one) => one.textContent.startsWith("notes/live.md")));
  });
});

describe("changing", () => {
  const served = (method, path) => vault.has(method, `/api/user-memory/${path}`);

  test("a failed change says why", async () => {
    const page = await opened();
    await page.route(/user-memory\/save$/, (route) => route.fulfill({
      status: 503, json: { error: { code: "unavailable", message: "the disk is full", hint: "make room" } },
    }));
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("w");
    await focused(page, "#save-content");
    await page.fill("#save-content", "kept in the dialog");
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("dialog .failure:not([hidden])");
    assert.equal(await text(page, "dialog .failure"), "the disk is full. make room");
    assert.equal(await page.inputValue("#save-content"), "kept in the dialog");
  });

  test("a snippet is saved and found", async (context) => {
    if (!(await served("POST", "save"))) return context.skip("this server does not save yet");
    const page = await opened();
    await page.click("#save");
    await page.fill("#save-content", "The heron on the pond stands on one leg.");
    await page.fill("#save-title", "Heron");
    await page.fill("#save-tags", "#birds pond");
    await page.click("dialog .primary");
    await page.waitForSelector(".toast");
    assert.match(await text(page, ".toast"), /Saved to snippets\/.*\.md/);
    await search(page, "heron one leg");
    assert.match(await text(page, ".hit-title"), /Heron/);
    await page.click(".toast a");
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("heron"));
    assert.match(await text(page, "#reader .hit-meta"), /#birds/);
  });

  test("a passage is annotated, and the annotation is shown with it", async (context) => {
    if (!(await served("POST", "annotate"))) return context.skip("this server does not annotate yet");
    const page = await opened();
    await search(page, QUESTION);
    await page.click(".hit-title");
    await page.waitForSelector("#reader .passage");
    await page.keyboard.press("a");
    await page.fill("#annotation", "Asked Priya about this.");
    await page.click("dialog .primary");
    await page.waitForSelector(".toast");
    await page.waitForFunction(() => document.querySelector("#reader .annotation")?.textContent.includes("Asked Priya"));
    await page.locator(".toast", { hasText: "Annotated" }).locator(".undo").click();
    await page.waitForFunction(() => !document.querySelector("#reader .annotation")?.textContent.includes("Asked Priya"));
  });

  test("a passage is deleted and brought back", async (context) => {
    if (!(await served("DELETE", "chunk/0123456789abcdef"))) return context.skip("this server does not delete yet");
    const before = "# Otters\n\nOtters hold hands.\n\n## Weasels\n\nWeasels do not.\n";
    vault.write("notes/otters.md", before);
    const page = await opened();
    await eventually("the note", async () => (await vault.ask("/api/user-memory/note?path=notes/otters.md")).ok);
    await openFilters(page);
    await page.click(".modes label:has([value=keyword])");
    await search(page, "weasels");
    await page.click(".hit-title");
    await page.waitForSelector("#reader .passage");
    await page.click(".tools .danger");
    await page.waitForSelector(".undo");
    assert.doesNotMatch(vault.read("notes/otters.md"), /Weasels do not/);
    await page.waitForFunction(() => !document.querySelector("#reader .body")?.textContent.includes("Weasels do not"));
    await page.click(".undo");
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("Weasels do not"));
    assert.equal(vault.read("notes/otters.md"), before);
    await search(page, "otters");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Delete");
    await page.waitForSelector(".undo");
    await page.keyboard.press("z");
    await eventually("the passage", async () => vault.read("notes/otters.md") === before);
  });

  test("a note is deleted and brought back", async (context) => {
    if (!(await served("DELETE", "chunk/0123456789abcdef"))) return context.skip("this server does not delete yet");
    vault.write("notes/voles.md", "Voles dig.\n");
    const page = await opened();
    await eventually("the note", async () => (await vault.ask("/api/user-memory/note?path=notes/voles.md")).ok);
    await page.goto(`${vault.origin}/#/browse?note=notes/voles.md`);
    await page.click("text=Delete note");
    await page.waitForSelector(".undo");
    assert.throws(() => vault.read("notes/voles.md"));
    await page.click(".undo");
    await eventually("the note", async () => {
      try {
        return vault.read("notes/voles.md") === "Voles dig.\n";
      } catch {
        return false;
      }
    });
  });

  test("what is kept is switched on and off", async (context) => {
    if (!(await served("GET", "settings"))) return context.skip("this server has no settings yet");
    const page = await opened();
    await goTo(page, "settings");
    const box = page.locator("#capture_searches");
    await box.waitFor();
    const was = await box.isChecked();
    await box.click();
    await eventually("the setting", async () => (await vault.get("/api/user-memory/settings")).capture_searches === !was);
    await page.reload();
    await box.waitFor();
    assert.equal(await box.isChecked(), !was);
    assert.deepEqual(await violations(page), []);
  });

  test("what was changed is listed, and can be taken back", async (context) => {
    if (!(await served("GET", "checkpoints"))) return context.skip("this server keeps no checkpoints yet");
    const page = await opened();
    await goTo(page, "changes");
    await page.locator(".checkpoints").or(page.getByText("Nothing yet.")).first().waitFor();
  });

  test("of a note that was not there before, the changes say so", async () => {
    vault.write("notes/bittern.md", "A bittern booms.\n");
    const note = await eventually("the note", async () => {
      const answer = await vault.ask("/api/user-memory/note?path=notes/bittern.md");
      return answer.ok && answer.json();
    });
    const send = async (method, path) =>
      (await vault.ask(`/api/user-memory/${path}`, { method, headers: { "Content-Type": "application/json" }, body: method === "POST" ? "{}" : undefined })).json();
    const { checkpoint_id: checkpoint } = await send("DELETE", `chunk/${note.hash}`);
    // Before it is brought back it is not there.
    await send("POST", `checkpoints/${checkpoint}/restore`);
    const page = await opened();
    await goTo(page, "changes");
    const change = page.locator(".checkpoints li", { hasText: "notes/bittern.md" }).first();
    await change.waitFor();
    assert.match(await change.innerText(), /before: restore, no such file/);
    assert.doesNotMatch(await text(page, ".checkpoints"), /undefined/);
    const logged = page.locator("#change-log li", { hasText: "notes/bittern.md" }).first();
    await logged.getByText(/by You/).waitFor();
    assert.doesNotMatch(await text(page, "#change-log"), /undefined/);
  });
});

describe("looks", () => {
  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740, touch: true } };
  for (const scheme of ["light", "dark"]) {
    for (const [name, size] of Object.entries(sizes)) {
      test(`${scheme}, ${name}: nothing overflows, and WCAG AA holds`, async () => {
        const page = await opened({ scheme, ...size });
        const check = async (place) => {
          assert.deepEqual(await overflow(page), [], place);
          assert.deepEqual(await violations(page), [], place);
        };
        await check("written last");
        await search(page, QUESTION);
        await check("search");
        await page.click(".hit-title");
        await page.waitForSelector("#reader .passage");
        await check("note");
        await page.goto(`${vault.origin}/#/browse?note=README.md`);
        await page.waitForFunction(() => document.querySelector("#reader .cite")?.textContent === "README.md");
        await check("a long note");
        await page.click(".close");
        await page.waitForSelector(".note-list .hit");
        await check("notes");
        for (const [view, sign] of [["see", ".month"], ["stats", ".chart"], ["changes", "#change-log"], ["settings", ".switch"]]) {
          await goTo(page, view);
          await page.waitForSelector(sign);
          await check(view);
        }
        await page.click("#save");
        await page.waitForSelector("dialog");
        await check("save");
      });
    }
  }

  test("the table of collections is whole on a phone", async () => {
    const page = await opened(sizes.phone);
    await goTo(page, "stats");
    await page.waitForSelector(".collections tbody tr");
    const cut = await page.evaluate(() => [...document.querySelectorAll(".stats .table, .collections td:not(.wide)")].filter((one) => {
      const { left, right, width } = one.getBoundingClientRect();
      return one.scrollWidth > one.clientWidth + 1 || (one.localName === "td" && (left < 0 || right > innerWidth || width === 0));
    }).map((one) => one.outerHTML));
    assert.deepEqual(cut, []);
    const names = await page.evaluate(() => [...document.querySelectorAll(".collections tbody tr:first-child td:not(.wide)")]
      // Firefox says where the text is from.
      .map((one) => getComputedStyle(one, "::before").content.replace("attr(data-name)", `"${one.dataset.name}"`)));
    assert.deepEqual(names, ["Notes", "Passages", "By meaning", "Text", "Last change"].map((name) => `"${name}"`));
  });

  test("there is no ring round the whole page", async () => {
    const page = await opened();
    await page.focus("#skip");
    await page.keyboard.press("Enter");
    await focused(page, "#main");
    const { outline, shadow } = await page.evaluate(() => {
      const style = getComputedStyle(document.getElementById("main"));
      return { outline: style.outlineStyle, shadow: style.boxShadow };
    });
    assert.equal(outline, "none");
    // It can be seen all the same.
    assert.match(shadow, /inset/);
  });

  test("pictures for the README", async (context) => {
    if (!process.env.PICTURES) return context.skip("PICTURES=1 makes them anew");
    const picture = (page, name) => page.screenshot({ path: join(root, "docs/images", name), scale: "css" });
    const light = await opened({ width: 1080, height: 680 });
    await search(light, QUESTION);
    await light.keyboard.press("ArrowDown");
    await light.keyboard.press("s");
    await picture(light, "search.png");
    const dark = await opened({ width: 1280, height: 720, scheme: "dark" });
    await search(dark, QUESTION);
    await dark.click(".hit-title");
    await dark.waitForSelector("#reader .passage");
    await picture(dark, "note.png");
    const phone = await opened({ width: 360, height: 680, touch: true });
    await search(phone, QUESTION);
    await phone.evaluate(() => document.activeElement.blur());
    await picture(phone, "phone.png");
  });
});
