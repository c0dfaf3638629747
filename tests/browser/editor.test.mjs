// Writing on the page: what is typed is in the file, whatever else happens to the file, the tab or the daemon meanwhile.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, inBrowser, overflow, text, violations } from "./support.mjs";

/** As long as a name may well be; with letters of two bytes and more, a file cannot have it whole. */
const LONG_NAME = "n".repeat(200);

const { vault, tabs } = inBrowser((vault) => {
  vault.write("notes/tea.md", "---\ntags: [drinks]\n---\n# Tea\r\n\r\nGreen tea, 80 degrees.\r\n\r\n- black\r\n- white\r\n\r\nThe end.\r\n");
  vault.write(`notes/${LONG_NAME}.md`, "# Short title\n\nFirst line.\n");
  vault.write("notes/to-long.md", "# To long\n\nLast line.\n");
  vault.write("notes/teapots.md", "# Teapots\n\n## Iron ones\n\nHeavy. #kitchen/iron\n");
  for (const name of ["plain", "outside", "conflict", "restart", "typing", "lost", "crash", "crash-other", "crash-same", "crash-had", "forgotten", "two", "undo", "gone", "keys", "links", "seen"]) {
    vault.write(`notes/${name}.md`, `# The ${name} note\n\nFirst line.\n\nMiddle line.\n\nLast line.\n`);
  }
});

const STATUS = ".editor [role=status]";
const saved = (page) => page.waitForFunction((status) => document.querySelector(status)?.textContent === "Saved", STATUS);
const read = (path) => (existsSync(join(vault.folder, path)) ? vault.read(path) : "");
const holds = (path, wanted) => eventually(`${path} to hold ${JSON.stringify(wanted)}`, () => read(path).includes(wanted));
const drafts = (page) => page.evaluate(() => Object.keys(localStorage).filter((key) => key.startsWith("vault-draft:")).length);
const typed = (page) => page.locator(".cm-content").innerText();

/** A tab that may stay when the daemon is another. */
async function signedIn(page) {
  await page.goto(vault.origin);
  await page.waitForSelector(".login summary, #app:not([hidden])");
  // Another tab of the same browser is signed in already.
  if (await page.locator("#app:not([hidden])").count()) return page;
  await page.click(".login summary");
  await page.fill("#token", vault.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#app:not([hidden])");
  return page;
}

async function reading(page, path, lines) {
  await page.evaluate((hash) => (location.hash = hash), `#/search?${new URLSearchParams({ note: path, ...(lines && { lines }) })}`);
  await page.waitForSelector("#reader .body");
}

/** A note in the editor, with the cursor at the end of a line. */
async function editing(path, line, page) {
  const tab = page ?? (await signedIn(await tabs.tab()));
  await reading(tab, path);
  await tab.click("#reader .edit");
  await tab.waitForSelector(".cm-content");
  if (line) {
    await tab.locator(".cm-line", { hasText: line }).first().click();
    await tab.keyboard.press("End");
  }
  return tab;
}

describe("the editor", () => {
  test("writes what is typed, and nothing else of the file", async () => {
    const before = vault.read("notes/tea.md");
    const page = await editing("notes/tea.md", "Green tea");
    await page.keyboard.type(" Three minutes.");
    await saved(page);
    assert.equal(vault.read("notes/tea.md"), before.replace("80 degrees.", "80 degrees. Three minutes."));
    await page.keyboard.press("Enter");
    await page.keyboard.type("No sugar.");
    await holds("notes/tea.md", "No sugar.");
    assert.equal(vault.read("notes/tea.md"), before.replace("80 degrees.", "80 degrees. Three minutes.\r\nNo sugar."));
    await saved(page);
    assert.equal(await drafts(page), 0);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#reader > .body");
    await page.waitForFunction(() => document.querySelector("#reader .body").textContent.includes("No sugar"));
    await page.keyboard.press("z");
    await eventually("the edit to be undone", () => vault.read("notes/tea.md") === before);
  });

  test("opens by a key at the passage that is marked, and what is typed in it is no shortcut", async () => {
    const page = await signedIn(await tabs.tab());
    await reading(page, "notes/plain.md", "5-5");
    await page.keyboard.press("e");
    await page.waitForSelector(".cm-content");
    await page.keyboard.type("wzn? ");
    await holds("notes/plain.md", "\nwzn? Middle line.");
    assert.equal(await page.locator("dialog").count(), 0);
  });

  test("goes on with lists, marks words, makes links, and leaves Tab to the page", async () => {
    const page = await editing("notes/keys.md", "Last line");
    await page.keyboard.type("\n\n- [ ] milk\nbread\n");
    await page.keyboard.press("Tab");
    await page.keyboard.type("rye\n\n\n1. one\ntwo\n\nbold");
    await page.keyboard.press("Control+Shift+ArrowLeft");
    await page.keyboard.press("Control+b");
    await page.keyboard.press("End");
    await page.keyboard.type(" site");
    await page.keyboard.press("Control+Shift+ArrowLeft");
    await page.evaluate(() => navigator.clipboard.writeText(["https:", "", "example.org/a"].join("/")));
    await page.keyboard.press("Control+v");
    await page.keyboard.type(" done");
    await saved(page);
    assert.match(vault.read("notes/keys.md"),
      /Last line\.\n\n- \[ \] milk\n- \[ \] bread\n {4}- \[ \] rye\n\n+1\. one\n2\. two\n\*\*bold\*\* \[site\]\(https:\/\/example\.org\/a\) done\n$/);
    await page.keyboard.press("Shift+Tab");
    await page.waitForFunction(() => document.activeElement.matches(".editor .close"));
  });

  test("completes links to notes and headings, and tags", async () => {
    const page = await editing("notes/links.md", "Last line");
    const complete = async (begin, wanted) => {
      const answered = page.waitForResponse((response) => new URL(response.url()).searchParams.get("q") === begin.replace(/^ (\[\[|#)/, ""));
      await page.keyboard.type(begin);
      await answered;
      // What was found for a shorter name takes no key either.
      await page.locator(".cm-tooltip-autocomplete:not(.cm-tooltip-autocomplete-disabled) li[aria-selected]", { hasText: wanted }).waitFor();
      // A list that has only just come takes no key.
      await page.waitForTimeout(120);
      await page.keyboard.press("Enter");
    };
    await complete(" [[teap", "Teapots");
    await complete(" [[teapots#Iro", "Iron ones");
    await complete(" #kitch", "kitchen/iron");
    await holds("notes/links.md", "Last line. [[teapots]] [[teapots#Iron ones]] #kitchen/iron\n");
  });

  test("has what can be undone after a reload", async () => {
    const page = await editing("notes/undo.md", "Last line");
    await page.keyboard.type(" More.");
    await saved(page);
    await page.reload();
    await page.waitForSelector("#reader .body");
    await page.keyboard.press("e");
    await page.waitForSelector(".cm-content");
    await page.keyboard.press("Control+z");
    await eventually("the words to be gone", () => !vault.read("notes/undo.md").includes("More."));
  });

  test("is accessible, light and dark, and fits a phone", async () => {
    for (const scheme of ["light", "dark"]) {
      const page = await editing("notes/seen.md", undefined, await signedIn(await tabs.tab({ width: 360, height: 740, scheme })));
      assert.deepEqual(await violations(page), []);
      assert.deepEqual(await overflow(page), []);
    }
  });
});

describe("a name of 200 characters", () => {
  const path = `notes/${LONG_NAME}.md`;

  test("is found, read, edited and linked to, on a phone", async () => {
    const page = await signedIn(await tabs.tab({ width: 360, height: 740 }));
    const opensBy = async (typed) => {
      await page.keyboard.press("Control+k");
      await page.waitForSelector("#box-list [role=option]");
      await page.keyboard.insertText(typed);
      await page.locator("#box-list [aria-selected=true] .detail", { hasText: path }).waitFor();
      assert.deepEqual(await overflow(page), []);
      await page.keyboard.press("Enter");
      await page.waitForFunction((wanted) => document.querySelector("#reader .cite")?.textContent === wanted, path);
    };
    await opensBy(LONG_NAME);
    await page.keyboard.press("e");
    await page.waitForSelector(".cm-content");
    await page.keyboard.press("Control+End");
    await page.keyboard.type("Edited.");
    await saved(page);
    assert.deepEqual(await overflow(page), []);
    assert.equal(vault.read(path), "# Short title\n\nFirst line.\nEdited.");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#reader > .body");
    await editing("notes/to-long.md", "Last line", page);
    await page.keyboard.type(` [[${LONG_NAME.slice(0, 9)}`);
    await page.locator(".cm-tooltip-autocomplete li[aria-selected]", { hasText: "Short title" }).waitFor();
    await page.waitForTimeout(120);
    await page.keyboard.press("Enter");
    await holds("notes/to-long.md", `Last line. [[${LONG_NAME}]]\n`);
    await page.keyboard.press("Escape");
    await page.locator("#reader .body a.inside").click();
    await page.waitForFunction((wanted) => document.querySelector("#reader .cite")?.textContent === wanted, path);
  });

  test("is cut where a file takes no more bytes", async () => {
    const page = await signedIn(await tabs.tab());
    await page.keyboard.press("Control+k");
    await page.waitForSelector("#box-list [role=option]");
    const name = `a${"🦆".repeat(199)}`;
    await page.keyboard.insertText(name);
    await page.locator("#box-list [role=option]", { hasText: "Make “" }).waitFor();
    await page.keyboard.press("ArrowUp");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".cm-content");
    await holds(`notes/a${"🦆".repeat(49)}.md`, `# ${name}\n`);
  });
});

describe("a task that is read", () => {
  test("is ticked by a key, one byte of the file, and unticked by another", async () => {
    vault.write("notes/tasks.md", "# Tasks\r\n\r\n- [ ] water\r\n- [ ] sugar\r\n");
    const before = vault.read("notes/tasks.md");
    const page = await signedIn(await tabs.tab());
    await eventually("the note", async () => (await vault.ask("/api/user-memory/note?path=notes/tasks.md")).status === 200);
    await reading(page, "notes/tasks.md");
    await page.locator("#reader input[data-line='4']").focus();
    // It is said for a while only.
    const said = page.locator(".toast", { hasText: "Ticked a task" }).waitFor();
    await page.keyboard.press("Space");
    await eventually("the tick", () => vault.read("notes/tasks.md") === before.replace("[ ] sugar", "[x] sugar"));
    await page.waitForFunction(() => document.activeElement.matches("input[data-line='4']:checked"));
    await said;
    await page.keyboard.press("z");
    await eventually("no tick", () => vault.read("notes/tasks.md") === before);
    await page.waitForFunction(() => !document.querySelector("#reader input[data-line='4']").checked);
  });
});

describe("what others write meanwhile", () => {
  test("comes into the open editor, stands out, and can be undone", async () => {
    const page = await editing("notes/outside.md", "Last line");
    await page.keyboard.type(" Mine.");
    vault.write("notes/outside.md", vault.read("notes/outside.md").replace("First line", "First line from outside"));
    await page.locator(".cm-fresh").first().waitFor();
    await holds("notes/outside.md", "Last line. Mine.");
    await holds("notes/outside.md", "First line from outside");
    assert.match(await typed(page), /First line from outside[^]*Mine\./);
    await page.keyboard.press("Control+z");
    await eventually("it to be undone", () => !vault.read("notes/outside.md").includes("from outside"));
    assert.match(vault.read("notes/outside.md"), /Mine\./);
  });

  test("is never overwritten: both sides are shown, and a key decides", async () => {
    const page = await editing("notes/conflict.md", "Middle line", await signedIn(await tabs.tab({ height: 400 })));
    const meet = async (mine, theirs) => {
      await page.locator(".cm-line", { hasText: "Middle line" }).first().click();
      await page.keyboard.press("End");
      await page.keyboard.type(mine);
      const found = vault.read("notes/conflict.md");
      vault.write("notes/conflict.md", found.replace(/Middle line.*/, `Middle line, ${theirs}.`));
      await page.waitForSelector(".conflict");
      // What is typed on does not scroll it away.
      await page.keyboard.type("  ");
      assert.equal(await page.locator("#reader").evaluate((reader) => reader.scrollTop), 0);
      assert.match(await text(page, ".sides"), new RegExp(`${mine}[^]*${theirs}`));
      assert.match(vault.read("notes/conflict.md"), new RegExp(theirs));
    };
    const choose = async (name) => {
      while ((await page.evaluate(() => document.activeElement.textContent)) !== name) await page.keyboard.press("Tab");
      await page.keyboard.press("Enter");
      await saved(page);
    };
    await meet(" aaa", "bbb");
    assert.deepEqual(await violations(page), []);
    await choose("Take theirs");
    await holds("notes/conflict.md", "Middle line, bbb.\n");
    await meet(" ccc", "ddd");
    await choose("Keep mine");
    await holds("notes/conflict.md", "Middle line, bbb. ccc\n");
    await meet(" eee", "fff");
    await choose("Keep both");
    await holds("notes/conflict.md", "Middle line, bbb. ccc eee\nMiddle line, fff.\n");
  });

  test("in another tab is seen in this one", async () => {
    const [one, two] = [await editing("notes/two.md", "First line"), await editing("notes/two.md", "Last line")];
    await Promise.all([one.keyboard.type(" From the first tab."), two.keyboard.type(" From the second tab.")]);
    for (const page of [one, two]) {
      await eventually("both in both", async () => /first tab[^]*second tab/.test(await typed(page)));
    }
    await holds("notes/two.md", "First line. From the first tab.");
    await holds("notes/two.md", "Last line. From the second tab.");
  });

  test("is that the note is gone: it can be made again", async () => {
    const page = await editing("notes/gone.md", "Last line");
    vault.delete("notes/gone.md");
    await page.keyboard.type(" Still here.");
    await page.getByRole("button", { name: "Make it again" }).click();
    await holds("notes/gone.md", "Last line. Still here.");
  });
});

describe("what is typed is not lost", () => {
  test("when the daemon is started anew", async () => {
    const page = await editing("notes/restart.md", "Last line");
    await vault.stop();
    await page.keyboard.type(" While nobody answers.");
    await page.waitForFunction((status) => /^Not saved/.test(document.querySelector(status).textContent), STATUS);
    assert.equal(await drafts(page), 1);
    assert.doesNotMatch(vault.read("notes/restart.md"), /nobody/);
    await vault.start({ port: new URL(vault.origin).port });
    await holds("notes/restart.md", "Last line. While nobody answers.");
    await saved(page);
    assert.equal(await drafts(page), 0);
  });

  /** Types into a tab that the vault does not answer, and crashes it; gives another tab of the same browser, where that note is gone on with. */
  async function goingOn(path, words, meanwhile = () => {}) {
    const page = await editing(path, "Last line");
    // The answer never comes.
    await page.route(/user-memory\/note$/, () => {});
    await page.keyboard.type(words);
    // The first draft may be of half the words.
    await eventually("a draft of all the words", () => page.evaluate((all) => Object.values(localStorage).some((kept) => kept.includes(all)), words));
    const crashed = page.waitForEvent("crash");
    const debug = await page.context().newCDPSession(page);
    debug.send("Page.crash").catch(() => {});
    await crashed;
    const again = await tabs.tab({ beside: page });
    await page.close();
    meanwhile();
    await signedIn(again);
    await again.getByRole("button", { name: "Go on editing" }).click();
    return again;
  }

  test("when the tab crashes", async () => {
    const page = await goingOn("notes/crash.md", " Before the crash.");
    await holds("notes/crash.md", "Last line. Before the crash.");
    await saved(page);
    assert.equal(await drafts(page), 0);
    await page.locator(".cm-line", { hasText: "Last line" }).click();
    await page.keyboard.press("End");
    await page.keyboard.type(" And after.");
    await holds("notes/crash.md", "Last line. Before the crash. And after.");
  });

  test("when the tab crashes, and others change another line", async () => {
    const page = await goingOn("notes/crash-other.md", " Before the crash.", () => vault.write("notes/crash-other.md",
      vault.read("notes/crash-other.md").replace("First line.", "A new line.\n\nFirst line from outside.")));
    await holds("notes/crash-other.md", "A new line.\n\nFirst line from outside.\n\nMiddle line.\n\nLast line. Before the crash.\n");
    await saved(page);
    assert.equal(await drafts(page), 0);
  });

  test("when the tab crashes, and others change the same line", async () => {
    const page = await goingOn("notes/crash-same.md", " Before the crash.", () => vault.write("notes/crash-same.md",
      vault.read("notes/crash-same.md").replace("Last line.", "Last line from outside.")));
    await page.waitForSelector(".conflict");
    assert.match(await text(page, ".sides"), /Last line\. Before the crash\.[^]*Last line from outside\./);
    assert.doesNotMatch(vault.read("notes/crash-same.md"), /crash\./);
    await page.getByRole("button", { name: "Keep both" }).click();
    await holds("notes/crash-same.md", "Last line. Before the crash.\nLast line from outside.\n");
    await saved(page);
    assert.equal(await drafts(page), 0);
  });

  test("when the tab crashes, and the vault has it already", async () => {
    const page = await goingOn("notes/crash-had.md", " Before the crash.", () => vault.write("notes/crash-had.md",
      vault.read("notes/crash-had.md").replace("Last line.", "Last line. Before the crash.")));
    await page.waitForSelector(".cm-content");
    await eventually("no draft", async () => !(await drafts(page)));
    assert.match(vault.read("notes/crash-had.md"), /\n\nLast line\. Before the crash\.\n$/);
  });

  test("when its note is gone, but what could be undone in that is", async () => {
    const page = await editing("notes/forgotten.md", "Last line");
    await page.keyboard.type(" More.");
    await saved(page);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#reader > .body");
    const kept = () => page.evaluate(() => "vault-history:notes/forgotten.md" in sessionStorage);
    assert.ok(await kept());
    vault.command("forget", "notes/forgotten.md", "--purge", "--yes", "--vault", vault.folder);
    await page.waitForSelector("#reader > .failure");
    assert.ok(!(await kept()));
    const draft = { path: "notes/forgotten.md", hash: "", from: 0, was: [""], lines: ["Not saved."] };
    await page.evaluate((one) => localStorage.setItem("vault-draft:one", JSON.stringify(one)), draft);
    await page.reload();
    await page.getByRole("button", { name: "Discard" }).click();
    assert.equal(await drafts(page), 0);
  });

  test("when the daemon ends and starts anew while one types", async () => {
    const page = await editing("notes/typing.md", "Last line");
    let words = "";
    let over = false;
    const type = async () => {
      for (let at = 0; !over; at += 1) {
        await page.keyboard.type(` word${at}`, { delay: 20 });
        words += ` word${at}`;
      }
    };
    const typing = type();
    await holds("notes/typing.md", " word1 ");
    for (const signal of ["SIGTERM", "SIGKILL"]) {
      await vault.stop(signal);
      await page.waitForFunction((status) => /^Not saved/.test(document.querySelector(status).textContent), STATUS);
      await vault.start({ port: new URL(vault.origin).port });
      await holds("notes/typing.md", words);
    }
    over = true;
    await typing;
    await holds("notes/typing.md", `Last line.${words}\n`);
    await saved(page);
    assert.equal(vault.read("notes/typing.md"), `# The typing note\n\nFirst line.\n\nMiddle line.\n\nLast line.${words}\n`);
    assert.equal(await drafts(page), 0);
  });

  test("when the answer to it is lost, and it is no conflict with itself", async () => {
    const page = await editing("notes/lost.md", "Last line");
    let lost = 0;
    await page.route("**/api/user-memory/note", async (route) => {
      if (route.request().method() !== "PUT" || lost++ > 0) return route.continue();
      await route.fetch();
      await page.keyboard.type(" Two.");
      await route.abort();
    });
    await page.keyboard.type(" One.");
    await holds("notes/lost.md", "Last line. One. Two.\n");
    await saved(page);
    assert.equal(await page.locator(".conflict").count(), 0);
  });

  test("in a note of five megabytes with 10,000 headings", async () => {
    const lines = "A line of a long note, with some *words* in it.\n".repeat(10);
    const before = `# Long\n\n${Array.from({ length: 10_000 }, (_, at) => `## Part ${at}\n${lines}`).join("")}`;
    vault.write("notes/long.md", before);
    await eventually("the note", async () => (await vault.ask("/api/user-memory/text?path=notes/long.md")).status === 200);
    const page = await signedIn(await tabs.tab());
    await eventually("the note in the index", async () => (await vault.ask("/api/user-memory/note?path=notes/long.md")).status === 200);
    await reading(page, "notes/long.md", "55004-55004");
    await page.keyboard.press("e");
    await page.waitForSelector(".cm-content");
    await page.keyboard.type("In here. ");
    await saved(page);
    assert.equal(vault.read("notes/long.md"), before.replace("## Part 5000\n", "## Part 5000\nIn here. "));
  });
});
