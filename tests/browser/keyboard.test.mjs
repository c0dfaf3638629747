// What a person does by keyboard alone, at a person's pace, each in under a minute.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, inBrowser } from "./support.mjs";

/** Between two letters, and before a key that does something, as a person looks first. */
const LETTER_MS = 60;
const LOOK_MS = 300;
const MOST_SECONDS = 60;

const HERON = "# Heron\n\nGrey, and patient.\n\n## Where it nests\n\nIn the alders behind the old sluice.\n";
const ERRANDS = `# Errands\n\n${Array.from({ length: 20 }, (_, at) => `- [ ] errand ${at}\n`).join("")}`;
const PLAN = "# Plan\n\nMeet on Monday.\n\nSow beans.\n\nRest.\n";

const { vault, tabs } = inBrowser((vault) => {
  vault.write("notes/heron.md", HERON);
  vault.write("notes/errands.md", ERRANDS);
  vault.write("notes/plan.md", PLAN);
  vault.write("agents/ada/agent.md", "---\ncan_read_user_memory: true\ncan_suggest: true\n---\n");
});

const read = (path) => (existsSync(join(vault.folder, path)) ? vault.read(path) : "");
const post = async (path, body, token = vault.token) => {
  const headers = { Authorization: `Bearer ${token}`, "Content-Type": "application/json" };
  const response = await fetch(vault.origin + path, { method: "POST", headers, body: JSON.stringify(body) });
  assert.equal(response.status, 200);
  return response.json();
};
const logged = async (path) => (await vault.get("/api/log?limit=20")).changes.filter((change) => JSON.stringify(change).includes(path));

/** Somebody at the page who has a keyboard and eyes, and no pointer. */
function person(page) {
  const press = async (...keys) => {
    for (const key of keys) {
      await page.waitForTimeout(LOOK_MS);
      await page.keyboard.press(key);
    }
  };
  const type = (text) => page.keyboard.type(text, { delay: LETTER_MS });
  /** Something with this text is shown; with `focused`, as what has the focus. */
  const sees = (selector, text = "", { focused = false } = {}) => page.waitForFunction(([selector, text, focused]) => {
    const isThere = (element) => element.checkVisibility() && element.textContent.includes(text);
    return [...document.querySelectorAll(selector)].some((element) => isThere(element) && (!focused || element === document.activeElement));
  }, [selector, text, focused]);
  /** Goes to it by the tab key, which must not be far. */
  const tabTo = async (selector, most) => {
    for (let step = 0; step < most; step += 1) {
      await press("Tab");
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
    }
    assert.fail(`${most} presses of the tab key do not reach ${selector}`);
  };
  const goTo = async (name, shown) => {
    await press("Control+k");
    await sees("#box-list [role=option]");
    await type(name);
    await sees("#box-list [aria-selected=true]", shown);
    await press("Enter");
    await sees("#reader h2", shown);
  };
  return { page, press, type, sees, tabTo, goTo };
}

/** A test of one sentence, and how long it took. */
function byKeyboard(sentence, act) {
  test(sentence, async (context) => {
    const page = await tabs.tab();
    await page.goto(vault.openAddress());
    await page.waitForSelector(".hit");
    const began = performance.now();
    await act(person(page));
    const seconds = (performance.now() - began) / 1000;
    context.diagnostic(`${sentence}: ${seconds.toFixed(1)} s by keyboard`);
    assert.ok(seconds < MOST_SECONDS, `it took ${seconds} s`);
  });
}

byKeyboard("find a note", async ({ press, type, sees }) => {
  await type("where does the heron nest");
  await sees(".hit:first-child", "behind the old sluice");
  await press("ArrowDown");
  await sees(".hit:first-child .hit-title", "Heron", { focused: true });
  await press("Enter");
  await sees("#reader .passage", "In the alders");
});

byKeyboard("edit it", async ({ page, press, type, sees, goTo }) => {
  await goTo("heron", "Heron");
  await press("e");
  await page.waitForSelector(".cm-content");
  await press("Control+End");
  await type("It is back since March.");
  await press("Escape");
  await sees("#reader .body", "back since March");
  assert.equal(read("notes/heron.md"), `${HERON}It is back since March.\n`.trimEnd());
  assert.ok((await logged("notes/heron.md")).length > 0);
  vault.write("notes/heron.md", HERON);
});

byKeyboard("undo it", async ({ page, press, type, sees, goTo }) => {
  await goTo("plan", "Plan");
  await press("e");
  await page.waitForSelector(".cm-content");
  await type("Not this. ");
  await press("Escape");
  await sees(".toast", "Edited notes/plan.md");
  assert.notEqual(read("notes/plan.md"), PLAN);
  await press("z");
  await sees(".toast", "Restored notes/plan.md");
  assert.equal(read("notes/plan.md"), PLAN);
});

byKeyboard("tick a task", async ({ press, sees, goTo }) => {
  await goTo("errands", "Errands");
  await press("x", "x", "x");
  await sees("#reader input[aria-label='errand 2']", "", { focused: true });
  await press("Space");
  await sees(".toast", "Ticked a task");
  assert.equal(read("notes/errands.md"), ERRANDS.replace("[ ] errand 2", "[x] errand 2"));
});

byKeyboard("capture a thought", async ({ press, type, sees }) => {
  await press("Escape", "t");
  await sees("#capture", "", { focused: true });
  await type("Ask Priya about the sluice.");
  await press("Control+Enter");
  await sees(".toast", "Captured in notes/daily/");
  const { notes: [{ path }] } = await eventually("the note", async () => {
    const found = await vault.get("/api/user-memory/notes?folder=notes/daily&limit=1");
    return found.notes.length > 0 && found;
  });
  assert.match(read(path), /Ask Priya about the sluice\.\n$/);
});

byKeyboard("accept half of a suggestion", async ({ page, press, sees }) => {
  const { token } = await post("/api/agents/ada/rotate", {});
  const edits = [{ old: "Monday", new: "Tuesday" }, { old: "beans", new: "peas" }];
  await post("/api/notes/suggest", { path: "notes/plan.md", why: "It was moved", edits }, token);
  await press("Escape", "3");
  await sees(".suggestion", "peas");
  await press("ArrowDown", "ArrowDown");
  await sees(".hunk", "peas", { focused: true });
  await press("h");
  await sees(".toast", "Accepted 1 edit of notes/plan.md");
  assert.equal(read("notes/plan.md"), PLAN.replace("beans", "peas"));
  const { suggestions } = await vault.get("/api/review");
  assert.deepEqual(suggestions.map(({ hunks }) => hunks.length), [1]);
  await page.waitForFunction(() => document.querySelectorAll(".hunk").length === 1);
});

byKeyboard("let an agent in and see what it read", async ({ page, press, type, sees, tabTo }) => {
  await press("Escape", "4");
  await sees("#add-agent");
  await tabTo("#add-agent", 2);
  await press("Enter");
  await sees("#agent-name", "", { focused: true });
  await type("Claude");
  await tabTo("#agent-allow", 1);
  await press("Space", "Enter");
  await sees("#agent-token");
  // The token is copied, and goes to the agent's program.
  await press("Enter");
  await sees("dialog .primary", "Copied");
  const token = await page.evaluate(() => navigator.clipboard.readText());
  await press("Escape");
  const headers = { Authorization: `Bearer ${token}` };
  const answer = await fetch(`${vault.origin}/api/user-memory/search?q=alders&mode=keyword`, { headers });
  assert.ok((await answer.json()).results.some(({ path }) => path === "notes/heron.md"));
  await sees("#agent-claude");
  await press("ArrowDown", "ArrowDown", "ArrowDown");
  await sees("#agent-claude", "", { focused: true });
  await press("Enter");
  await sees(".agents h2", "Claude", { focused: true });
  await sees(".log > li", "notes/heron.md");
  await press("End");
  await page.waitForFunction(() => {
    const { top, bottom } = document.querySelector(".log > li").getBoundingClientRect();
    return top >= 0 && bottom <= innerHeight;
  });
  await sees(".log > li", "alders");
});
