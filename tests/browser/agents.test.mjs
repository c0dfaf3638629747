// The person lets agents in on the page, sees what they read, and takes it back.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { Vault, eventually, focused, inBrowser, overflow, root, text, violations } from "./support.mjs";

const PAYLOADS = JSON.parse(readFileSync(new URL("xss.json", import.meta.url), "utf8"));
const HOSTILE = "<img src=x onerror=window.__xss=7>";

const { vault, tabs } = inBrowser((vault) => {
  vault.write(`${HOSTILE}/a#b ${HOSTILE}.md`, `# ${HOSTILE}\n\nPangolins curl up.\n`);
  vault.write("notes/diary.md", "---\nprivate: true\n---\nPangolins are my secret.\n");
  vault.write("notes/pangolin.md", "Pangolins have scales.\n");
});

/** A tab that `vault open` opened, at a place. */
async function opened(place = "#/agents", options) {
  const page = await tabs.tab(options);
  await page.goto(vault.openAddress());
  await page.waitForSelector(".hit");
  await page.goto(vault.origin + "/" + place);
  return page;
}

const send = (method, path, body) =>
  vault.ask(`/api/agents${path}`, { method, headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });

/** Makes an agent without the page; gives its token. */
async function made(name, rules = { can_read_user_memory: true }) {
  const response = await send("POST", "", { name, rules });
  assert.equal(response.status, 200);
  return (await response.json()).token;
}

/** What an agent finds. */
async function finds(token, q) {
  const address = `${vault.origin}/api/user-memory/search?${new URLSearchParams({ q, mode: "keyword" })}`;
  const response = await fetch(address, { headers: { Authorization: `Bearer ${token}` } });
  return response.ok ? (await response.json()).results.map(({ path }) => path).sort() : response.status;
}

const ofAgent = (slug) => `#/agents?agent=${encodeURIComponent(slug)}`;
const card = (page, name) => page.locator(".card", { has: page.getByRole("link", { name, exact: true }) });

describe("letting agents in", () => {
  test("an agent is added; its token is shown once, and reads what was ticked", async () => {
    const page = await opened();
    await page.click("#add-agent");
    await focused(page, "#agent-name");
    await page.fill("#agent-name", "Claude");
    await page.check("#agent-allow");
    await page.uncheck("#collection-all");
    assert.deepEqual((await page.locator(".choices label").allInnerTexts()).filter((name) => name === "agents"), []);
    await page.check(".choices input[value=notes]");
    await page.click("dialog .primary");
    await page.waitForSelector("#agent-token");
    const token = await text(page, "#agent-token");
    await focused(page, "dialog .primary");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("dialog .primary").textContent === "Copied");
    assert.equal(await page.evaluate(() => navigator.clipboard.readText()), token);
    for (const [name, says] of [["Claude Code", `claude mcp add .*${vault.origin}/mcp .*${token}`], ["Codex", "mcp_servers.vault[^]*--agent.*claude"], ["Other programs", `${vault.origin}/api/user-memory/search`]]) {
      const setup = page.locator("dialog .setups details", { hasText: name }).first();
      await setup.locator("summary").click();
      await setup.getByRole("button", { name: `Copy the set-up of ${name}` }).click();
      await page.waitForFunction(() => document.getElementById("said").textContent === "Copied");
      await eventually("the text to be copied", async () => new RegExp(says).test(await page.evaluate(() => navigator.clipboard.readText())));
    }
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await focused(page, "#add-agent");
    assert.doesNotMatch(await page.content(), new RegExp(token));
    assert.match(await card(page, "Claude").innerText(), /Reads \d+ notes? of yours[^]*Collections\s+notes/);
    assert.deepEqual(await finds(token, "pangolins"), ["notes/pangolin.md"]);
    assert.deepEqual(await finds(token, "bookmark"), []);
    assert.equal((await fetch(`${vault.origin}/api/agents`, { headers: { Authorization: `Bearer ${token}` } })).status, 403);
  });

  test("what is wrong is said in the dialog, and nothing is lost", async () => {
    const page = await opened();
    await made("Taken");
    await page.click("#add-agent");
    await page.fill("#agent-name", "taken");
    await page.fill("#agent-paths", "[");
    await page.click("dialog .primary");
    await page.waitForSelector("dialog .failure:not([hidden])");
    assert.match(await text(page, "dialog .failure"), /invalid glob/);
    await page.fill("#agent-paths", "");
    await page.click("dialog .primary");
    await page.waitForFunction(() => /the agent `taken` already exists/.test(document.querySelector("dialog .failure").textContent));
    assert.equal(await page.inputValue("#agent-name"), "taken");
  });

  test("the switch denies and allows, at once", async () => {
    const token = await made("Switched");
    const page = await opened();
    const box = page.getByRole("switch", { name: /^May read your memory\s+\(Switched\)$/ });
    await box.waitFor();
    assert.ok(await box.isChecked());
    assert.ok((await finds(token, "pangolins")).length > 0);
    await box.click();
    await page.waitForFunction(() => /Switched: Reads none/.test(document.getElementById("said").textContent));
    assert.deepEqual(await finds(token, "pangolins"), []);
    await eventually("the card", async () => /Reads none of your notes/.test(await card(page, "Switched").innerText()));
    await focused(page, "#allow-switched");
    await page.keyboard.press("Space");
    await eventually("the notes", async () => (await finds(token, "pangolins")).length > 0);
  });

  test("a switch that cannot be switched says why, and stays", async () => {
    await made("Stuck");
    const page = await opened();
    await page.route(/api\/agents\/stuck$/, (route) => route.fulfill({ status: 409, json: { error: { code: "conflict", message: "the page is edited" } } }));
    await page.locator("#allow-stuck").click();
    await page.waitForSelector(".switch .failure");
    assert.equal(await text(page, ".switch .failure"), "the page is edited");
    assert.ok(await page.locator("#allow-stuck").isChecked());
  });

  test("rules are changed, and what was not touched stays as it was written", async () => {
    const token = await made("Ruled");
    vault.write("agents/ruled/agent.md", vault.read("agents/ruled/agent.md").replace(/expires: .*/, "expires: 2099-01-31T10:00:00Z"));
    const page = await opened(ofAgent("ruled"));
    await page.click("#agent-change");
    assert.equal(await page.inputValue("#agent-expires"), "2099-01-31");
    await page.fill("#agent-tags", "#secret health");
    await page.fill("#agent-paths", "notes/**\n!notes/pangolin.md");
    await page.selectOption("#agent-writes", "search-only");
    await page.click("dialog .primary");
    await page.waitForSelector("dialog", { state: "detached" });
    await focused(page, "#agent-change");
    await eventually("the facts", async () => /#secret[^]*notes\/\*\*[^]*only memory\//.test(await text(page, ".facts")));
    assert.match(vault.read("agents/ruled/agent.md"), /expires: 2099-01-31T10:00:00Z\n/);
    assert.deepEqual(await finds(token, "pangolins"), []);
  });

  test("what is edited by hand is shown as it is saved", async () => {
    await made("Edited");
    const page = await opened(ofAgent("edited"));
    await page.waitForSelector("#agent-change");
    await page.fill("#explain", "notes/half-typed");
    vault.write("agents/edited/agent.md", vault.read("agents/edited/agent.md").replace("can_read_user_memory: true", "can_read_user_memory: perhaps"));
    await eventually("the problem", async () => /has errors[^]*it takes true or false/.test(await text(page, ".agents")));
    assert.equal(await page.inputValue("#explain"), "notes/half-typed");
  });

  test("a new token takes the place of the old one, when one is sure", async () => {
    const old = await made("Rotated");
    const page = await opened(ofAgent("rotated"));
    await page.click("#agent-rotate");
    await page.click("dialog >> text=Cancel");
    assert.notEqual(await finds(old, "pangolins"), 401);
    await page.click("#agent-rotate");
    await page.click("dialog .primary");
    await page.waitForSelector("#agent-token");
    const token = await text(page, "#agent-token");
    assert.equal(await finds(old, "pangolins"), 401);
    assert.ok((await finds(token, "pangolins")).length > 0);
    await page.click("dialog >> text=Done");
    await focused(page, "#agent-rotate");
  });

  test("an agent is removed, and its page brought back without a token", async () => {
    const token = await made("Gone");
    const page = await opened(ofAgent("gone"));
    await page.click("#agent-remove");
    await page.click("dialog .primary");
    await page.waitForSelector(".undo");
    assert.equal(await finds(token, "pangolins"), 401);
    assert.throws(() => vault.read("agents/gone/agent.md"));
    await page.waitForSelector("#add-agent");
    await page.locator("#agent-gone").waitFor({ state: "detached" });
    await page.click(".undo");
    await page.waitForSelector("#agent-gone");
    assert.match(await card(page, "Gone").innerText(), /It has no token/);
    assert.equal(await finds(token, "pangolins"), 401);
    await page.goto(`${vault.origin}/${ofAgent("never")}`);
    await page.waitForSelector(".agents .failure");
    assert.match(await text(page, ".agents .failure"), /there is no agent `never`/);
    await page.keyboard.press("Escape");
    await page.waitForSelector("#add-agent");
  });
});

describe("what agents see and saw", () => {
  test("a path is explained, and the reader says who sees its note", async () => {
    await made("Near", { can_read_user_memory: true, collections: ["notes"] });
    await made("Far", { can_read_user_memory: true, collections: ["bookmarks"] });
    const page = await opened(ofAgent("near"));
    const ask = async (what, answer) => {
      await page.fill("#explain", what);
      await page.keyboard.press("Enter");
      await page.waitForFunction((wanted) => new RegExp(wanted).test(document.querySelector(".answer").textContent), answer);
    };
    await ask("notes/pangolin.md", "Near sees notes/pangolin.md.*the rules on its page allow it");
    await ask("notes/diary.md", "Near does not see notes/diary.md.*private");
    await ask("notes/none.md", "there is no note `notes/none.md`");
    await page.goto(`${vault.origin}/#/browse?note=notes/pangolin.md`);
    await page.click("text=Who can see this?");
    const row = (name) => page.locator("dialog .card", { hasText: name });
    await row("Near").waitFor();
    assert.match(await row("Near").innerText(), /Near sees it/);
    assert.match(await row("Far").innerText(), /Far does not see it[^]*collections does not name notes/);
    await row("Far").locator("a").click();
    await page.waitForFunction(() => document.querySelector(".agents h2")?.textContent === "Far");
    assert.equal(await page.locator("dialog").count(), 0);
  });

  test("the log shows what was asked and given; a place opens its note", async () => {
    const token = await made("Logged");
    await finds(token, "pangolins scales");
    await finds(token, "qqqqzzzz");
    await send("PATCH", "/logged", { can_read_user_memory: false });
    await finds(token, "pangolins again");
    const page = await opened(ofAgent("logged"));
    const items = page.locator(".log > li");
    await items.first().waitFor();
    const told = await items.allInnerTexts();
    const at = (pattern) => told.findIndex((one) => pattern.test(one));
    assert.match(told[at(/pangolins again/)], /Searched[^]*Refused: `can_read_user_memory` is not true/);
    assert.match(told[at(/Got new rules/)], /can_read_user_memory: \S+ → false/);
    assert.match(told[at(/qqqqzzzz/)], /Nothing found/);
    assert.match(told[at(/pangolins scales/)], /notes\/pangolin\.md#L1/);
    assert.ok(at(/pangolins again/) < at(/qqqqzzzz/) && at(/qqqqzzzz/) < at(/pangolins scales/), "the newest first");
    await page.locator(".log a.cite", { hasText: "notes/pangolin.md" }).first().focus();
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.querySelector("#reader .passage")?.textContent.includes("scales"));
    await page.keyboard.press("Escape");
    await page.waitForSelector("#reader", { state: "hidden" });
    await focused(page, ".log a.cite");
    await finds(token, "asked meanwhile");
    const kept = await fetch(`${vault.origin}/api/memory/save`, {
      method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" }, body: JSON.stringify({ content: "Pangolins again." }),
    });
    assert.equal(kept.status, 200);
    await page.click("#refresh-log");
    await items.filter({ hasText: "asked meanwhile" }).waitFor();
    await items.filter({ hasText: "Wrote to its own memory" }).locator("a.cite").click();
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("Pangolins again."));
    const busy = await made("Busy");
    for (const number of Array(75).keys()) await finds(busy, `scales ${number}`);
    await page.goto(`${vault.origin}/${ofAgent("busy")}`);
    await page.waitForFunction(() => document.querySelectorAll(".log > li").length === 50);
    await page.click(".more");
    await page.waitForFunction(() => document.querySelectorAll(".log > li").length > 70);
    assert.equal(await page.locator(".agents .more").count(), 0);
    await focused(page, ".log > li:nth-child(51)");
  });

  test("hostile names, notes and queries are texts", async () => {
    const token = await made(HOSTILE, { can_read_user_memory: true, collections: [HOSTILE], exclude_tags: [HOSTILE], paths: ["**", `!${HOSTILE}`] });
    const open = await made(`"'><svg onload=window.__xss=8>`, { can_read_user_memory: true });
    for (const payload of PAYLOADS) await finds(open, payload);
    await finds(open, "pangolins");
    await finds(token, HOSTILE);
    const page = await opened();
    await page.waitForSelector("#add-agent");
    await page.getByRole("link", { name: HOSTILE, exact: true }).waitFor();
    const { agents } = await (await send("GET", "")).json();
    const bad = () => page.evaluate(() => [...document.querySelectorAll("main *, dialog *, #toasts *")]
      .filter((one) => /^(script|style|iframe|img|svg|object|embed|base|meta|link|math|template)$/i.test(one.tagName)
        || [...one.attributes].some(({ name, value }) => name.startsWith("on") || name === "style" || /^\s*(javascript|data|vbscript):/i.test(value)))
      .map((one) => one.outerHTML));
    assert.deepEqual(await bad(), []);
    await page.click("#add-agent");
    await page.uncheck("#collection-all");
    await page.getByLabel(HOSTILE, { exact: true }).waitFor();
    assert.deepEqual(await bad(), []);
    await page.keyboard.press("Escape");
    for (const { slug } of agents.filter(({ name }) => name.includes("__xss"))) {
      await page.goto(`${vault.origin}/${ofAgent(slug)}`);
      await page.waitForSelector(".log > li");
      const path = `${HOSTILE}/a#b ${HOSTILE}.md`;
      await page.fill("#explain", path);
      await page.keyboard.press("Enter");
      await page.waitForFunction((wanted) => document.querySelector(".answer a")?.textContent === wanted, path);
      for (const id of ["change", "rotate", "remove"]) {
        await page.click(`#agent-${id}`);
        await page.waitForSelector("dialog[open]");
        assert.deepEqual(await bad(), []);
        await page.keyboard.press("Escape");
        await page.waitForSelector("dialog", { state: "detached" });
      }
    }
    await page.locator(".log a.cite", { hasText: "a#b" }).first().click();
    await page.waitForFunction(() => document.querySelector("#reader .body")?.textContent.includes("curl up"));
    await page.click("text=Who can see this?");
    await page.waitForSelector("dialog .card");
    assert.deepEqual(await bad(), []);
  });
});

describe("the keyboard and looks", () => {
  test("all of it by keyboard", async () => {
    const page = await opened("#/search");
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("4");
    await page.waitForSelector("#add-agent");
    await tabTo(page, "#add-agent");
    await page.keyboard.press("Enter");
    await focused(page, "#agent-name");
    await page.keyboard.type("Typed");
    await tabTo(page, "#agent-allow");
    await page.keyboard.press("Space");
    await tabTo(page, "dialog .primary");
    await page.keyboard.press("Enter");
    await page.waitForSelector("#agent-token");
    await page.keyboard.press("Escape");
    await focused(page, "#add-agent");
    await page.waitForSelector("#agent-typed");
    await tabTo(page, "#agent-typed");
    await page.keyboard.press("Enter");
    await focused(page, ".agents h2");
    await tabTo(page, "#allow-typed");
    await page.keyboard.press("Space");
    await eventually("the answer", async () => /Reads none/.test(await text(page, ".reads")));
    await focused(page, "#allow-typed");
    await tabTo(page, "#explain");
    await page.keyboard.type("notes/pangolin.md");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".hidden-from");
    await send("PATCH", "/typed", { can_read_user_memory: true });
    await page.waitForSelector(".answer .seen");
    await tabTo(page, "#refresh-log");
    await page.keyboard.press("Escape");
    await page.waitForSelector("#add-agent");
    await focused(page, "#agent-typed");
  });

  async function tabTo(page, selector) {
    for (let step = 0; step < 90; step += 1) {
      if (await page.evaluate((wanted) => document.activeElement.matches(wanted), selector)) return;
      await page.keyboard.press("Tab");
      const seen = await page.evaluate(() => {
        const { outlineStyle, boxShadow } = getComputedStyle(document.activeElement);
        return document.activeElement === document.body || outlineStyle !== "none" || boxShadow !== "none" ? undefined : document.activeElement.outerHTML;
      });
      assert.equal(seen, undefined, "what has the focus can be seen");
    }
    assert.fail(`the tab key does not reach ${selector}`);
  }

  test("no width is too narrow, and none falls between two", async () => {
    await made("Narrow");
    const page = await opened(ofAgent("narrow"));
    await page.waitForSelector(".facts");
    for (const width of [320, 500, 640, 641, 760, 761, 999, 1000]) {
      await page.setViewportSize({ width, height: 700 });
      assert.deepEqual(await overflow(page), [], `${width} pixels`);
    }
  });

  const sizes = { desktop: { width: 1280, height: 800 }, phone: { width: 360, height: 740, touch: true } };
  for (const scheme of ["light", "dark"]) {
    for (const [name, size] of Object.entries(sizes)) {
      test(`${scheme}, ${name}: nothing overflows, and WCAG AA holds`, async () => {
        const slug = `looks-${scheme}-${name}`;
        const rules = { can_read_user_memory: true, exclude_tags: ["health"], paths: ["**", `!${"long/".repeat(20)}**`], expires: "2099-01-31" };
        const token = await made(slug, rules);
        await finds(token, "pangolins");
        await finds(token, "x".repeat(400));
        await send("PATCH", `/${slug}`, { can_read_user_memory: false });
        await finds(token, "pangolins");
        const page = await opened("#/agents", { scheme, ...size });
        const check = async (place) => {
          assert.deepEqual(await overflow(page), [], place);
          assert.deepEqual(await violations(page), [], place);
        };
        await page.waitForSelector(".card");
        await check("agents");
        await page.click("#add-agent");
        await page.uncheck("#collection-all");
        await check("add");
        await page.fill("#agent-name", `${slug} two`);
        await page.click("dialog .primary");
        await page.waitForSelector("#agent-token");
        await check("token");
        await page.keyboard.press("Escape");
        await page.click(`#agent-${slug}`);
        await page.waitForSelector(".log .refused");
        await page.fill("#explain", "notes/diary.md");
        await page.keyboard.press("Enter");
        await page.waitForSelector(".hidden-from");
        await check("one agent");
        await page.click(".log a.cite");
        await page.waitForSelector("#reader .passage");
        await page.click("text=Who can see this?");
        await page.waitForSelector("dialog .card");
        await check("who sees it");
      });
    }
  }
});

test("pictures for the README", async (context) => {
  if (!process.env.PICTURES) return context.skip("PICTURES=1 makes them anew");
  const own = new Vault();
  try {
    await own.start();
    const post = (path, body) => own.ask(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });
    const added = await post("/api/agents", { name: "Claude", rules: { can_read_user_memory: true, collections: ["notes", "bookmarks"], exclude_tags: ["health"] } });
    const { token } = await added.json();
    await post("/api/agents", { name: "Home assistant" });
    for (const q of ["spare key for the bicycle", "when is the dough ready", "what would make us go back to paper"]) {
      await fetch(`${own.origin}/api/user-memory/search?${new URLSearchParams({ q, limit: 3 })}`, { headers: { Authorization: `Bearer ${token}` } });
    }
    const page = await tabs.tab({ width: 1080, height: 760 });
    await page.goto(own.openAddress());
    await page.waitForSelector(".hit");
    await page.goto(`${own.origin}/${ofAgent("claude")}`);
    await page.waitForSelector(".log > li");
    await page.fill("#explain", "notes/private-example.md");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".answer p");
    await page.locator("#explain").blur();
    const picture = (of, name) => of.screenshot({ path: join(root, "docs/images", name), scale: "css" });
    await picture(page, "agents.png");
    const start = await tabs.tab({ width: 1080, height: 680 });
    await start.goto(own.openAddress());
    await start.waitForSelector(".hit");
    await start.fill("#capture", "Ask Jonas for the tile cutter back before Saturday #tool-library");
    await picture(start, "start.png");
    const writer = await tabs.tab({ width: 1080, height: 680, scheme: "dark" });
    await writer.goto(own.openAddress());
    await writer.waitForSelector(".hit");
    await writer.evaluate(() => (location.hash = "#/search?note=notes/loans-in-a-spreadsheet.md"));
    await writer.click("#reader .edit");
    await writer.waitForSelector(".editor .cm-content");
    await picture(writer, "edit.png");
  } finally {
    if (own.daemon) await own.stop();
    own.remove();
  }
});
