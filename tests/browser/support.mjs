// A real daemon on a vault of its own, and a real browser in front of it.

import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { after, afterEach, before } from "node:test";
import { chromium, firefox } from "playwright-core";

export const root = new URL("../..", import.meta.url).pathname;
const binary = process.env.VAULT_BINARY ?? join(root, "target/debug/vault");
const axe = createRequire(import.meta.url).resolve("axe-core/axe.min.js");
/** Long: a machine that is busy with other things is no failure. */
export const PATIENCE = 60_000;

const TYPES = { html: "text/html; charset=utf-8", css: "text/css", js: "text/javascript", svg: "image/svg+xml", webmanifest: "application/manifest+json" };

/** Waits until `probe` gives something. */
export async function eventually(what, probe) {
  const deadline = Date.now() + PATIENCE;
  for (;;) {
    const found = await probe();
    if (found) return found;
    if (Date.now() > deadline) throw new Error(`waited in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A vault made by `vault init`, and its daemon. */
export class Vault {
  constructor() {
    this.scratch = mkdtempSync(join(tmpdir(), "vault-page-"));
    this.folder = join(this.scratch, "vault");
    const home = (name) => join(this.scratch, name);
    this.environment = {
      ...process.env, HOME: home("home"), XDG_STATE_HOME: home("state"), XDG_CONFIG_HOME: home("config"),
      // The model is unpacked once.
      XDG_CACHE_HOME: join(root, "target/tmp/cache"), VAULT_DIR: undefined,
    };
    this.command("init", this.folder);
    // A core is left to the browser while a large note is embedded.
    this.write("memory.toml", this.read("memory.toml").replace("[embed]\n", "[embed]\nthreads = 1\n"));
  }

  command(...args) {
    return execFileSync(binary, args, { env: this.environment, encoding: "utf8" });
  }

  write(path, text) {
    const file = join(this.folder, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }

  delete(path) {
    rmSync(join(this.folder, path));
  }

  read(path) {
    return readFileSync(join(this.folder, path), "utf8");
  }

  async start({ port = "0" } = {}) {
    this.daemon = spawn(binary, ["serve", "--vault", this.folder, "--port", port], { env: this.environment, stdio: "ignore" });
    const info = await eventually("the daemon", () => {
      try {
        const told = JSON.parse(this.read(".vault/daemon.json"));
        return told.pid === this.daemon.pid && told;
      } catch {
        return undefined;
      }
    });
    this.origin = `http://${info.address}`;
    this.token = this.read(".vault/owner-token").trim();
    await eventually("everything to be embedded", async () => {
      // The connection of the question before may be at its end.
      const status = await this.get("/status").catch(() => undefined);
      return status?.caught_up && status.phase === "idle" && status.pending_embeddings === 0 && status.model.state === "ready";
    });
  }

  async ask(path, options = {}) {
    return fetch(this.origin + path, { ...options, headers: { Authorization: `Bearer ${this.token}`, ...options.headers } });
  }

  async get(path) {
    return (await this.ask(path)).json();
  }

  /** Whether the server has a route, whatever it makes of the request. */
  async has(method, path) {
    const { status } = await this.ask(path, { method, headers: { "Content-Type": "application/json" }, body: method === "GET" ? undefined : "{}" });
    const routed = status !== 405 && !(status === 404 && (await this.unrouted(method, path)));
    return routed;
  }

  async unrouted(method, path) {
    const response = await this.ask(path, { method, headers: { "Content-Type": "application/json" }, body: method === "GET" ? undefined : "{}" });
    return (await response.json()).error.message === "no such address";
  }

  openAddress() {
    return this.command("open", "--print", "--vault", this.folder).trim();
  }

  async stop(signal = "SIGTERM") {
    const ended = new Promise((resolve) => this.daemon.once("exit", resolve));
    this.daemon.kill(signal);
    await ended;
  }

  remove() {
    rmSync(this.scratch, { recursive: true, force: true });
  }
}

const isFirefox = process.env.PAGE_BROWSER === "firefox";

/** Firefox as it is installed, by WebDriver BiDi, which tells no tab its scheme and pointer: the browser has them. */
async function openFirefox(scheme, touch) {
  const pointer = touch ? 1 : 6; // Coarse, or fine and able to hover.
  return firefox.launch({
    channel: "moz-firefox",
    executablePath: process.env.FIREFOX ?? "/usr/bin/firefox-esr",
    firefoxUserPrefs: {
      "ui.prefersReducedMotion": 1, "layout.css.prefers-color-scheme.content-override": scheme === "dark" ? 0 : 1,
      "ui.primaryPointerCapabilities": pointer, "ui.allPointerCapabilities": pointer,
    },
  });
}

/** A browser without a network but the daemon's. */
async function openChromium() {
  return chromium.launch({
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
      "--disable-background-networking", "--disable-component-update", "--disable-sync"],
  });
}

/** A tab with a context of its own, or in that of another. Whatever goes wrong in it is kept in `problems`. */
async function openTab(browser, { width = 1280, height = 860, scheme = "light", touch = false, worker = false, beside } = {}) {
  const context = beside?.context() ?? await browser.newContext({
    viewport: { width, height }, colorScheme: scheme, reducedMotion: "reduce", hasTouch: touch, locale: "en-US",
    permissions: ["clipboard-read", "clipboard-write"],
    // What the worker asks for cannot be answered in the server's place.
    serviceWorkers: worker ? "allow" : "block",
  });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  page.problems = [];
  page.elsewhere = [];
  page.on("pageerror", (error) => page.problems.push(String(error)));
  page.on("console", (message) => {
    // What the server refuses is shown by the page; the browser says so once more.
    // axe tries styles of its own, which the policy of the page refuses.
    const isExpected = /Failed to load resource/.test(message.text()) || (page.isChecked && /Applying inline style/.test(message.text()));
    if (message.type() === "error" && !isExpected) page.problems.push(message.text());
  });
  page.on("dialog", (dialog) => {
    page.problems.push(`a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  page.on("request", (request) => {
    if (!/^(blob:)?http:\/\/127\.0\.0\.1:\d+\//.test(request.url())) page.elsewhere.push(request.url());
  });
  // To work on the page without building the program each time.
  if (process.env.PAGE_FILES && !worker) {
    await page.route(/^[^?#]*\/(page\/[a-z0-9/-]+\.(js|css|svg|webmanifest)|oauth\/authorize\?.*)?$/, async (route) => {
      const response = await route.fetch({ url: new URL("/", route.request().url()).href }).catch(() => undefined);
      if (!response) return route.abort();
      const name = new URL(route.request().url()).pathname.replace(/^\/(page\/|oauth\/authorize$)?/, "") || "index.html";
      const headers = { ...response.headers(), "content-type": TYPES[name.split(".").at(-1)] };
      delete headers["content-length"];
      const source = (one) => readFileSync(resolve(root, process.env.PAGE_FILES, one));
      // The styles are one sheet, as the program serves them: axe reads others by putting them in, which the policy forbids.
      const joined = (sheet) => String(sheet).replace(/@import "(.+)";/g, (_, one) => source(one));
      await route.fulfill({ response, headers, body: name.endsWith(".css") ? joined(source(name)) : source(name) });
    });
  }
  return page;
}

/** The tabs of one test. */
class Tabs {
  open = [];
  browsers = new Map();

  async tab(options = {}) {
    const page = await openTab(await this.browser(options), options);
    this.open.push(page);
    return page;
  }

  /** The browser for such a tab: in Chromium one for all. */
  async browser({ scheme = "light", touch = false } = {}) {
    const kind = isFirefox ? `${scheme} ${touch}` : "any";
    if (!this.browsers.has(kind)) this.browsers.set(kind, await (isFirefox ? openFirefox(scheme, touch) : openChromium()));
    return this.browsers.get(kind);
  }

  /** No test leaves a script error, a dialog, a request to anywhere else, or a value that is no text behind. */
  async close() {
    const wrong = [];
    const open = this.open.splice(0);
    for (const tab of open) {
      wrong.push(...tab.problems, ...tab.elsewhere.map((address) => `asked ${address}`));
      if (!tab.isClosed()) {
        if ((await tab.evaluate(() => globalThis.__xss)) !== undefined) wrong.push("a note ran a script");
        wrong.push(...(await values(tab)));
        // What a test answers in the server's place may be under way.
        await tab.unrouteAll({ behavior: "ignoreErrors" });
      }
    }
    for (const tab of open) await tab.context().close();
    assert.deepEqual(wrong, []);
  }
}

/** The vault of a file of tests, into which `prepare` writes before its daemon starts, and the tabs of each test in one browser. */
export function inBrowser(prepare = () => {}) {
  const vault = new Vault();
  const tabs = new Tabs();
  before(async () => {
    await prepare(vault);
    await vault.start();
    await tabs.browser();
  });
  after(async () => {
    for (const browser of tabs.browsers.values()) await browser.close();
    if (vault.daemon) await vault.stop();
    vault.remove();
  });
  afterEach(() => tabs.close());
  return { vault, tabs };
}

/** The rooms of the bar, each with its views. */
export const ROOMS = {
  search: ["search"], notes: ["notes", "see", "graph"], memory: ["review", "facts", "entries", "profile", "summaries", "digest", "ask"], agents: ["agents"],
  settings: ["settings", "changes", "stats", "processing"],
};

/** Shows a view as a person comes to it: by its room in the bar, and by its tab there. */
export async function goTo(page, view) {
  const [room, views] = Object.entries(ROOMS).find(([, those]) => those.includes(view));
  await page.click(`#rooms [data-room=${room}]`);
  await page.waitForSelector(`#rooms [data-room=${room}][aria-current]`);
  if (views.length > 1) await page.click(`#tabs [data-view=${view}]`);
  await page.waitForFunction((wanted) => location.hash.startsWith(`#/${wanted}`), view);
}

/** Opens the filters of a view. */
export async function unfold(page) {
  const filters = page.locator("#main .folded", { hasText: /^Filters/ });
  await filters.waitFor();
  if ((await filters.getAttribute("open")) === null) await filters.locator("summary").click();
}

export const focused = (page, selector) => page.waitForFunction((wanted) => document.activeElement?.matches(wanted), selector);
export const text = (page, selector) => page.locator(selector).first().innerText();

/** Where notes speak, which may say `true`. */
const OF_NOTES = ".hit, #reader .body, .properties, .near, .said, .edge-text, .fact-value, .profile-text, .annotation, blockquote, code, pre";

/** What is shown, or said to screen readers, that was a value and no text: `undefined`, `false`, `[object HTMLTimeElement]`. */
export async function values(page, { inSentences = false } = {}) {
  return page.evaluate(([ofNotes, within]) => {
    // Errors say what a setting takes, and the log of an agent what it was: `true`.
    const isValue = (text) => /\b(undefined|NaN)\b|\[object/.test(text) || /^\s*(null|true|false)\s*$/.test(text)
      || (within && /\b(null|true|false)\b/.test(text.replace(/\b(yet|never|longer|was) true\b|\btrue on\b/gi, "")));
    const found = [];
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const { data, parentElement } = texts.currentNode;
      if (isValue(data) && !parentElement.closest(`script, noscript, ${ofNotes}`)) found.push(`"${data}" in <${parentElement.localName} class="${parentElement.className}">`);
    }
    for (const element of document.querySelectorAll("[title], [aria-label], [placeholder], [href], [datetime]")) {
      for (const name of ["title", "aria-label", "placeholder", "href", "datetime"]) {
        const value = element.getAttribute(name) ?? "";
        if (isValue(value)) found.push(`${name}="${value}" of <${element.localName}>`);
      }
    }
    return found;
  }, [OF_NOTES, inSentences]);
}

/** What axe-core finds against WCAG 2 A and AA, as lines. */
export async function violations(page) {
  page.isChecked = true;
  // A list that is asked for anew is dimmed.
  await page.waitForFunction(() => !document.querySelector(".waiting"));
  // The policy of the page forbids scripts that are put in; the debugger's own evaluation is not held to it.
  await page.evaluate(readFileSync(axe, "utf8"));
  // It would put the style sheets of the editor into the page, against the policy.
  const found = await page.evaluate(() => globalThis.axe.run(document, { preload: false, runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"] }));
  return found.violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id}: ${node.html} ${node.failureSummary ?? ""}`));
}

/** By how many pixels the page is wider than the window, with what is too wide. */
export async function overflow(page) {
  return page.evaluate(() => {
    const wide = innerWidth + 0.5;
    const over = [...document.querySelectorAll("body *")].filter((element) => {
      const clipped = element.closest(".table, .unseen, svg, .skip, #live");
      return !clipped && element.getBoundingClientRect().right > wide;
    });
    const own = document.documentElement.scrollWidth > innerWidth ? ["the document"] : [];
    return [...own, ...over.map((element) => `${element.tagName} ${element.className} ${Math.round(element.getBoundingClientRect().right)}`)];
  });
}
