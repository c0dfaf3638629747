// Saves a text while it is typed, and takes in what others have written meanwhile. Lines that nobody changed are not sent.

import { api } from "../lib/api.js";
import { sentence } from "../note/change.js";
import { draftsOf, dropDraft, keepDraft } from "../note/drafts.js";
import { changedLines, merge } from "./merge.js";

const AFTER_KEY_MS = 500;
/** Whoever types without a pause is saved, too. */
const WHILE_TYPING_MS = 3000;
const DRAFT_MS = 100;
const RETRY_MS = [500, 1000, 2000, 5000];

/** A text as the editor has it, by lines: the vault gives new ones the ends that those of the file have. */
const linesOf = (text) => text.replaceAll("\r\n", "\n").split("\n");
const isSame = (one, other) => one.length === other.length && one.every((line, at) => line === other[at]);

/** The lines of a text with what of them was not saved. `decide` settles what both have changed. */
export async function withDrafts({ path, text, hash }, decide) {
  const lines = linesOf(text);
  let now = lines;
  const drafts = draftsOf(path);
  for (const draft of drafts) {
    const at = draft.hash === hash ? draft.from : placeOf(draft, lines);
    const base = lines.toSpliced(at, draft.was.length, ...draft.was);
    now = await merged(base, lines.toSpliced(at, draft.was.length, ...draft.lines), now, decide);
  }
  return { now, lines, keys: drafts.map(({ key }) => key) };
}

/** Where the lines that a draft changes are now: the same ones nearest by, else where they were. */
function placeOf({ from, was }, lines) {
  const isAt = (at) => was.every((line, index) => lines[at + index] === line);
  for (let off = 0; off < lines.length; off++) {
    for (const at of [from - off, from + off]) if (at >= 0 && isAt(at)) return at;
  }
  return Math.max(0, Math.min(from, lines.length - was.length));
}

function merged(base, mine, theirs, decide) {
  const parts = merge(base, mine, theirs);
  return parts.some((part) => part.mine) ? decide(parts) : parts.flatMap((part) => part.lines);
}

/**
 * Keeps a note as the editor has it, the lines of `current()`. `bring(lines)` shows a text from outside, `tell(text, failed, action)` says how
 * it is, `saved()` that all is. `keys` are the drafts that are in it already.
 */
export function saving({ path, lines, hash, keys }, { current, bring, decide, tell, saved }) {
  const name = `${path}\n${Math.random().toString(36).slice(2)}`;
  let base = { lines, hash };
  /** The changes of `base` that were sent and not answered: the vault may have one of them. */
  let sent = [];
  let queue = Promise.resolve();
  let [timer, since, drafting, checking, checkpoint, failing] = [];

  const dirty = () => !isSame(current(), base.lines);

  /** Keeps what is not saved in the browser: the changed lines, and one on either side by which they are found again. */
  function draft() {
    clearTimeout(drafting);
    drafting = undefined;
    const [was, now] = [base.lines, current()];
    const { from, to, end } = changedLines(was, now);
    const first = Math.max(0, from - 1);
    const more = Number(end < now.length);
    if (from === to && from === end) return undefined;
    const one = { path, hash: base.hash, from: first, was: was.slice(first, to + more), lines: now.slice(first, end + more) };
    return keepDraft(name, one) ? one : tell("Not saved, and the browser has no room for a copy", true);
  }

  /** Asks until the vault has it, or says that it never will. */
  async function push() {
    for (let failed = 0; dirty();) {
      const mine = current();
      const { from, to, lines } = changedLines(base.lines, mine);
      try {
        // What failed is said until it has not.
        if (!failing) tell("Saving");
        const last = sent.at(-1);
        if (last?.from !== from || last.to !== to || !isSame(last.lines, lines)) sent.push({ from, to, lines });
        const body = { path, if_hash: base.hash, line_start: from + 1, line_end: to, text: lines.map((line) => `${line}\n`).join("") };
        const written = await api.write(body);
        settle(mine, written.hash);
        checkpoint = written.checkpoint_id ?? checkpoint;
        failed = 0;
        failing = false;
        if (timer) return;
      } catch (error) {
        if (error.now && error.now.hash !== base.hash) {
          await takeIn(error.now);
          continue;
        }
        refused(error);
        const mayPass = error.status === 0 || error.status === 429 || error.status >= 500;
        if (!mayPass) return;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failed, RETRY_MS.length - 1)]));
        failed += 1;
      }
    }
    clearTimeout(drafting);
    drafting = undefined;
    [name, ...keys.splice(0)].forEach(dropDraft);
    failing = false;
    tell("Saved");
    saved();
  }

  function refused(error) {
    failing = true;
    tell(`Not saved: ${sentence(error)}`, true, error.status === 404 ? ["Make it again", () => then(makeAgain)] : undefined);
  }

  async function makeAgain() {
    const mine = current();
    const made = await api.make({ path, text: mine.join("\n") });
    settle(mine, made.hash);
    failing = false;
    await push();
  }

  async function takeIn(now) {
    if (now.hash === base.hash) return;
    const theirs = linesOf(now.text);
    const isMine = sent.some(({ from, to, lines: mine }) => isSame(theirs, [...base.lines.slice(0, from), ...mine, ...base.lines.slice(to)]));
    const both = isMine ? undefined : await merged(base.lines, current(), theirs, decide);
    settle(theirs, now.hash);
    if (both) bring(both);
  }

  /** The vault has these lines now. */
  function settle(now, itsHash) {
    base = { lines: now, hash: itsHash };
    sent = [];
  }

  const then = (step) => (queue = queue.then(step).catch(refused));

  function flush() {
    clearTimeout(timer);
    [timer, since] = [];
    return then(push);
  }

  return {
    draft,
    dirty,
    flush,
    hash: () => base.hash,
    checkpoint: () => checkpoint,
    /** The text was changed. */
    touch() {
      clearTimeout(timer);
      since ??= Date.now();
      timer = setTimeout(flush, Math.min(AFTER_KEY_MS, since + WHILE_TYPING_MS - Date.now()));
      drafting ??= setTimeout(draft, DRAFT_MS);
    },
    /** The file may have changed. */
    check() {
      if (checking) return;
      checking = true;
      then(async () => {
        checking = false;
        const now = await api.text(path).catch((error) => error.status === 404 && refused(error));
        if (now) await takeIn(now);
        if (now && !timer) await push();
      });
    },
  };
}
