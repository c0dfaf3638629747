// The person captures thoughts and drops files; without the vault thoughts wait, and come to it once.

import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { eventually, focused, inBrowser, overflow, text, violations } from "./support.mjs";

const HOSTILE = "<img src=x onerror=window.__xss=8>";
const PNG = Buffer.from("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==", "base64");
const { vault, tabs } = inBrowser();

const today = () => {
  const now = new Date();
  return `notes/daily/${now.getFullYear()}-${String(now.getMonth() + 1).padStart(2, "0")}-${String(now.getDate()).padStart(2, "0")}.md`;
};
const there = (path) => existsSync(join(vault.folder, path));
const day = () => (there(today()) ? vault.read(today()) : "");
const times = (word) => day().split(word).length - 1;

/** The page of somebody who has pasted the owner's token, which a new daemon knows, too. */
async function opened(options) {
  const page = await tabs.tab(options);
  await page.goto(`${vault.origin}/#/search`);
  await page.locator("details summary").click();
  await page.fill("#token", vault.token);
  await page.keyboard.press("Enter");
  await page.waitForSelector("#capture");
  return page;
}

const waits = (page, wanted) => eventually(`"${wanted}"`, async () => (await page.locator(".capture .waits").textContent()) === wanted);

describe("a thought", () => {
  test("is captured by keyboard alone, said where, and taken back", async () => {
    const page = await opened();
    const began = Date.now();
    await page.locator("#main").focus();
    await page.keyboard.press("t");
    await focused(page, "#capture");
    await page.keyboard.type(`An aardvark digs. ${HOSTILE}`);
    await page.keyboard.press("Control+Enter");
    await page.locator(".toast", { hasText: `Captured in ${today()}` }).waitFor();
    console.log(`captured by keyboard in ${Date.now() - began} ms`);
    assert.match(day(), new RegExp(`- \\d\\d:\\d\\d An aardvark digs. ${HOSTILE}\n$`));
    assert.equal(await page.inputValue("#capture"), "");
    await page.getByRole("link", { name: "Open" }).click();
    await page.waitForSelector("#reader:not([hidden])");
    await page.getByRole("button", { name: "Undo" }).click();
    await eventually("the undo", () => !there(today()));
  });

  test("goes to the inbox when that is chosen, which is remembered, and what is typed outlives a reload", async () => {
    const page = await opened();
    await page.selectOption(".capture select", "inbox");
    await page.fill("#capture", "Buy rye.\n\nAnd salt.");
    await page.reload();
    await page.waitForSelector("#capture");
    assert.equal(await page.inputValue("#capture"), "Buy rye.\n\nAnd salt.");
    await page.getByRole("button", { name: "Capture", exact: true }).click();
    await page.locator(".toast", { hasText: "Captured in notes/inbox.md" }).waitFor();
    assert.match(vault.read("notes/inbox.md"), /\*\*\n\nBuy rye\.\n\nAnd salt\.\n$/);
  });

  test("that is refused comes back into the field", async () => {
    vault.write(today(), Buffer.from([0xff, 0xfe]));
    const page = await opened();
    await page.fill("#capture", "Kept.");
    await page.focus("#capture");
    await page.keyboard.press("Control+Enter");
    await page.locator(".toast.failed", { hasText: "is not UTF-8" }).waitFor();
    assert.equal(await page.inputValue("#capture"), "Kept.");
    vault.delete(today());
  });

  test("waits while the vault is away, whose page opens all the same, and comes to it once", async () => {
    const page = await opened({ worker: true });
    await page.evaluate(() => navigator.serviceWorker.ready);
    await eventually("the worker", () => page.evaluate(() => Boolean(navigator.serviceWorker.controller)));
    const port = new URL(vault.origin).port;
    await vault.stop();
    await page.reload();
    await page.waitForSelector("#capture");
    await page.locator("#live", { hasText: "The vault does not answer" }).waitFor();
    for (const word of ["quokka", "wombat"]) {
      await page.fill("#capture", `A ${word} smiles.`);
      await page.focus("#capture");
      await page.keyboard.press("Control+Enter");
      await waits(page, word === "quokka" ? "1 thought waits for the vault" : "2 thoughts wait for the vault");
    }
    await page.reload();
    await page.waitForSelector("#capture");
    await waits(page, "2 thoughts wait for the vault");
    assert.deepEqual(await violations(page), []);
    const kept = await page.evaluate(async () => {
      const names = await caches.keys();
      return (await Promise.all(names.map(async (name) => (await (await caches.open(name)).keys()).map(({ url }) => new URL(url).pathname)))).flat();
    });
    assert.ok(kept.length >= 5 && kept.every((path) => path === "/" || path.startsWith("/page/")), String(kept));
    await vault.start({ port });
    await waits(page, "");
    await eventually("both", () => times("quokka") === 1 && times("wombat") === 1);
    assert.ok(day().indexOf("quokka") < day().indexOf("wombat"));
    assert.doesNotMatch(await page.evaluate(() => JSON.stringify(localStorage)), /quokka|wombat/);
  });

  test("whose answer is lost is sent again, and is there once", async () => {
    const page = await opened();
    // Within the page: the driver of Firefox does not know what a request sends, and cannot send it on.
    await page.evaluate(() => {
      const ask = globalThis.fetch;
      globalThis.asked = 0;
      globalThis.fetch = async (path, options) => {
        const answer = await ask(path, options);
        if (path.endsWith("/capture") && ++globalThis.asked === 1) throw new TypeError("The answer is lost");
        return answer;
      };
    });
    await page.fill("#capture", "A numbat eats.");
    await page.focus("#capture");
    await page.keyboard.press("Control+Enter");
    await waits(page, "1 thought waits for the vault");
    await waits(page, "");
    assert.deepEqual([times("numbat"), await page.evaluate(() => globalThis.asked)], [1, 2]);
  });
});

describe("a file", () => {
  const files = [
    { name: "My idea.md", mimeType: "text/markdown", buffer: Buffer.from(`An idea. ${HOSTILE}`) },
    { name: "Shot 1.png", mimeType: "image/png", buffer: PNG },
    { name: "bookmarks.html", mimeType: "text/html", buffer: Buffer.from('<!DOCTYPE NETSCAPE-Bookmark-file-1>\n<DL><p>\n<DT><A HREF="http://zoo.example/">A zoo</A>\n</DL>') },
    { name: `odd${HOSTILE}.exe`, mimeType: "application/octet-stream", buffer: Buffer.from("MZ") },
  ];

  test("that is chosen becomes a note, a link or an import, or is refused", async () => {
    const page = await opened();
    await page.fill("#capture", "See");
    await page.setInputFiles(".capture input[type=file]", files.slice(0, 3));
    await page.locator(".toast", { hasText: "Imported from bookmarks.html (bookmarks): 1 bookmark; 1 new" }).waitFor();
    await page.locator(".toast", { hasText: "Saved to notes/my-idea.md" }).waitFor();
    assert.equal(await page.inputValue("#capture"), "See\n![[attachments/shot-1.png]]");
    assert.deepEqual(readFileSync(join(vault.folder, "attachments/shot-1.png")), PNG);
    await eventually("the bookmark", () => there("bookmarks/a-zoo.md"));
    await page.setInputFiles(".capture input[type=file]", files.slice(3));
    await page.locator(".toast.failed", { hasText: "cannot be taken" }).waitFor();
    const imported = page.locator(".toast", { hasText: "Imported" });
    await imported.getByRole("button", { name: "Undo" }).click();
    await eventually("the undo", () => !there("bookmarks/a-zoo.md"));
  });

  test("is dropped on the box, and pasted", async () => {
    const page = await opened();
    for (const [kind, name] of [["drop", "dropped.txt"], ["paste", "pasted.txt"]]) {
      await page.evaluate(([type, file]) => {
        const data = new DataTransfer();
        data.items.add(new File([`text of ${file}`], file, { type: "text/plain" }));
        const init = { bubbles: true, cancelable: true };
        const event = type === "drop" ? new DragEvent(type, { ...init, dataTransfer: data }) : new ClipboardEvent(type, init);
        // Firefox takes no file into one that is made.
        if (type === "paste") Object.defineProperty(event, "clipboardData", { value: data });
        document.getElementById("capture").dispatchEvent(event);
      }, [kind, name]);
      await page.locator(".toast", { hasText: `Saved to notes/${name.split(".")[0]}.md` }).waitFor();
    }
  });
});

describe("what comes from elsewhere", () => {
  test("another page comes by the bookmarklet, which holds no key, into a box that closes", async () => {
    const page = await opened();
    await page.goto(`${vault.origin}/#/settings`);
    const href = await page.locator("a.bookmarklet").getAttribute("href");
    assert.ok(!href.includes(vault.token));
    const address = await page.evaluate((code) => {
      const before = window.open;
      let asked;
      window.open = (to) => (asked = to);
      document.title = "A [zoo] & more";
      new Function("open", code.replace("javascript:", ""))((to) => (asked = to));
      window.open = before;
      return asked;
    }, href).catch((error) => String(error));
    assert.match(address, /^http:\/\/127\.0\.0\.1:\d+\/#\/capture\?popup=1&title=A%20%5Bzoo%5D%20%26%20more&url=http/);
    await page.goto(`${vault.origin}/#/capture?popup=1&title=A+%5Bzoo%5D&url=${encodeURIComponent("http://zoo.example/a(b)")}&text=One%0A${encodeURIComponent(HOSTILE)}`);
    await focused(page, "#capture");
    assert.equal(await page.inputValue("#capture"), `[A zoo](<http://zoo.example/a(b)>)\n\n> One\n> ${HOSTILE}`);
    assert.equal(await page.locator(".top").isVisible(), false);
    assert.deepEqual(await violations(page), []);
    await page.keyboard.press("Control+Enter");
    await page.getByText("You can close this window").waitFor();
    assert.equal(times("zoo.example"), 1);
  });

  test("a phone's share comes by the worker: the text into the box, the files into the vault", async () => {
    const page = await opened({ worker: true });
    await page.evaluate(() => navigator.serviceWorker.ready);
    await eventually("the worker", () => page.evaluate(() => Boolean(navigator.serviceWorker.controller)));
    await page.evaluate(async () => {
      const form = new FormData();
      form.append("title", "Shared");
      form.append("url", "http://zoo.example/shared");
      form.append("files", new File(["text of a phone"], "From a phone.txt", { type: "text/plain" }));
      await fetch("/page/share", { method: "POST", body: form, redirect: "manual" });
    });
    await page.goto(`${vault.origin}/#/capture?title=Shared&url=${encodeURIComponent("http://zoo.example/shared")}`);
    assert.match(await text(page, "#shared"), /From a phone\.txt/);
    await page.click("#shared button");
    await page.locator(".toast", { hasText: "Saved to notes/from-a-phone.md" }).waitFor();
    assert.equal(await page.inputValue("#capture"), "[Shared](<http://zoo.example/shared>)");
    await eventually("nothing to be left", () => page.evaluate(async () => (await (await caches.open("shared")).keys()).length === 0));
    await page.keyboard.press("Control+Enter");
    await page.waitForSelector("#query");
    const manifest = await (await page.request.get(`${vault.origin}/page/manifest.webmanifest`)).json();
    assert.deepEqual(manifest.share_target.action, "/page/share");
  });
});

test("the box has no violations and no overflow, light and dark, on a phone", async () => {
  for (const scheme of ["light", "dark"]) {
    const page = await opened({ width: 360, height: 740, scheme, touch: true });
    await page.fill("#capture", "A thought that is so long that it takes more than one line of a phone, and grows the field");
    assert.deepEqual(await violations(page), []);
    assert.deepEqual(await overflow(page), []);
    const tall = await page.locator("#capture").evaluate((field) => field.clientHeight >= field.scrollHeight - 1);
    assert.ok(tall, "the field has grown");
    for (const target of await page.locator(".capture button, .capture select").all()) {
      assert.ok((await target.boundingBox()).height >= 24);
    }
    await page.fill("#capture", "");
  }
});
