// Two edits of one text, merged by lines: nothing that either has written is lost.

import assert from "node:assert/strict";
import { register } from "node:module";
import { test } from "node:test";

const page = new URL("../../src/serve/page/", import.meta.url).href;
// The page's own addresses, as the daemon has them.
const addresses = `export const resolve = (name, context, next) => next(name.startsWith("/page/") ? name.replace("/page/", ${JSON.stringify(page)}) : name, context);`;
register(`data:text/javascript,${encodeURIComponent(addresses)}`);
const { changedLines, merge } = await import(`${page}edit/merge.js`);

const lines = (text) => (text ? text.split(" ") : []);
const merged = (base, mine, theirs) => merge(lines(base), lines(mine), lines(theirs)).filter((part) => part.mine || part.lines.length)
  .map((part) => (part.mine ? `<${part.mine.join(" ")}|${part.theirs.join(" ")}>` : part.lines.join(" "))).join(" ");

test("changes that do not touch are both taken; those that do are a conflict", () => {
  assert.equal(merged("a b c d e", "a B c d e", "a b c D e"), "a B c D e");
  assert.equal(merged("a b c", "a b c x", "y a b c"), "y a b c x");
  assert.equal(merged("a b c", "a c", "a b c"), "a c");
  assert.equal(merged("a b c", "a B c", "a B c"), "a B c");
  assert.equal(merged("a b c", "a X c", "a Y c"), "a <X|Y> c");
  assert.equal(merged("a b c", "a b c m", "a b c t"), "a b c <m|t>");
  assert.equal(merged("a b c d", "a X d", "a b Y d"), "a <X|b Y> d");
  assert.equal(merged("a b c", "a c", "a Y c"), "a <|Y> c");
});

test("of random edits, each side alone is kept as it is, and both sides hold what they wrote", () => {
  let seed = 7;
  const random = (most) => (seed = (seed * 48271) % 0x7fffffff) % most;
  const edited = (base, name) => base.flatMap((line, at) => [[line], [line], [line], [], [`${name}${at}`], [line, `${name}${at}`]][random(6)]);
  for (let round = 0; round < 3000; round++) {
    const base = Array.from({ length: random(9) }, () => "abc"[random(3)]);
    const [mine, theirs] = [edited(base, "m"), edited(base, "t")];
    const side = (parts, name) => parts.flatMap((part) => part.lines ?? part[name]);
    assert.deepEqual(side(merge(base, mine, base), "mine"), mine);
    assert.deepEqual(side(merge(base, base, theirs), "theirs"), theirs);
    const parts = merge(base, mine, theirs);
    for (const line of mine.filter((line) => line.length > 1)) assert.ok(side(parts, "mine").includes(line));
    for (const line of theirs.filter((line) => line.length > 1)) assert.ok(side(parts, "theirs").includes(line));
  }
});

test("the lines that changed are those between the first and the last that are the same", () => {
  const changed = (was, now) => {
    const { from, to, end, lines: between } = changedLines(was.split("\n"), now.split("\n"));
    assert.deepEqual(now.split("\n").slice(from, end), between);
    assert.deepEqual(was.split("\n").toSpliced(from, to - from, ...between).join("\n"), now);
    return [from, to, between];
  };
  assert.deepEqual(changed("a\nb\nc\n", "a\nB\nc\n"), [1, 2, ["B"]]);
  assert.deepEqual(changed("a\n", "a\nb\n"), [1, 1, ["b"]]);
  assert.deepEqual(changed("a", "a\n"), [1, 1, [""]]);
  assert.deepEqual(changed("a\na\n", "a\na\na\n"), [2, 2, ["a"]]);
  assert.deepEqual(changed("", "x"), [0, 1, ["x"]]);
});
