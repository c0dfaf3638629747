// What a list shows of a passage. No browser is needed: the module is a function of texts.

import assert from "node:assert/strict";
import { test } from "node:test";
import { preview } from "../../src/serve/page/lib/preview.js";

const shown = (content, more = {}) => preview({ content, ...more }).map(([text]) => text).join("");

const FORMS = {
  "code in a line": ["Use `Option<Vec<u8>>` or `a**b**`.", "Use Option<Vec<u8>> or a**b**."],
  "code with backticks": ["`` a`b `` and ``[[x]]``", " a`b  and [[x]]"],
  "generics in prose": ["An Option<Vec<u8>> and a Box<dyn Fn()>, HashMap<K, V>", "An Option<Vec<u8>> and a Box<dyn Fn()>, HashMap<K, V>"],
  "a type that is named as an element": ["Vec<a> and <b>bold</b>", "Vec<a> and bold"],
  "a block of code": ["```rust\nlet x: Vec<u8> = **y; // [a](b)\n# no heading\n```", "let x: Vec<u8> = **y; // [a](b)\n# no heading\n"],
  "the end of a block of code": ["let x: Vec<u8>;\n# still code\n```\nProse **here**.", "let x: Vec<u8>;\n# still code\nProse here."],
  "a tilde fence": ["~~~\n<b>\n~~~", "<b>\n"],
  "a link with a name": ["See [[a|b]] and [[notes/c]].", "See b and notes/c."],
  "a link in a table": ["| [[a\\|b]] | c |", "| b | c |"],
  "a link to a heading": ["[[Note#Part]] [[#Here]]", "Note#Part #Here"],
  "what is embedded": ["![[drawing.png|300]] ![[note]]", "drawing.png note"],
  "a link": ["[The book](https://x.org/a_(b)) says", "The book says"],
  "a link by reference": ["[The book][book] says, a[i][j] too", "The book says, a[i][j] too"],
  "an image": ["![A cat](cat.png \"Mine\")", "A cat"],
  "an image in a link": ["[![build](b.svg)](https://x.org) passes", "build passes"],
  "an address": ["<https://x.org/a> <me@x.org>", "https://x.org/a me@x.org"],
  "bold and marked": ["**bold** ==marked== ~~gone~~ ***both***", "bold marked gone both"],
  "emphasis": ["*one* and _two_, __three words__", "one and two, three words"],
  "no emphasis": ["a == b, 2 * 3 * 4, snake_case_name, __init__, **", "a == b, 2 * 3 * 4, snake_case_name, __init__, **"],
  "an escaped mark": ["\\*not bold\\* and \\[[x]]", "*not bold* and [[x]]"],
  "headings": ["Before.\n## Part\n\nText.", "Before.\nPart\nText."],
  "a quote": ["> said\n> > twice", "said\ntwice"],
  "a callout": ["> [!note]- Title\n> Text", "Title\nText"],
  "a list": ["- one\n- [ ] two\n1. three", "- one\n- [ ] two\n1. three"],
  "a table": ["| a | b |\n|---|:-:|\n| 1 | 2 |", "| a | b |\n| 1 | 2 |"],
  "a rule": ["one\n\n---\n\ntwo", "one\ntwo"],
  "an anchor": ["<a id=\"old\"></a>\n\nText.", "Text."],
  "an element of another's": ["<Listing number=\"1\" caption=\"x > y\">\n\nText.\n\n</Listing>", "Text.\n"],
  "a link definition": ["Text.\n\n[book]: https://x.org \"The book\"", "Text.\n"],
  "the name of a block": ["Text. ^a1b2", "Text."],
  "a comment": ["a <!-- b --> c", "a  c"],
  "lines that go on": ["one\ntwo\n- three", "one two\n- three"],
  "lines of code do not": ["```\none\ntwo\n```", "one\ntwo\n"],
  "less than": ["a < b > c <3", "a < b > c <3"],
  "nothing but marks": ["<a id=\"x\"></a>", "<a id=\"x\"></a>"],
};

for (const [name, [content, expected]] of Object.entries(FORMS)) {
  test(`a preview quotes ${name}`, () => assert.equal(shown(content), expected));
}

test("a snippet that begins within code is code", () => {
  const content = "Text.\n\n```rust\nfn one() {}\nlet x: Vec<u8> = **y;\n# x\nlast\n```";
  assert.equal(shown(content, { snippet: "…let x: Vec<u8> = **y;\n# x…" }), "…let x: Vec<u8> = **y;\n# x…");
});

test("a snippet with an ellipsis of its own", () => {
  assert.equal(shown("… **he** said", { snippet: "… **he** said" }), "… he said");
});

test("what is marked is told by the characters of the snippet", () => {
  const parts = preview({ content: "x\n\n🌤 **tile** `cutter`", snippet: "🌤 **tile** `cutter`", highlights: [[4, 8], [12, 18]] });
  assert.deepEqual(parts, [["🌤 ", false], ["tile", true], [" ", false], ["cutter", true]]);
});

test("the headings that stand above are not said again", () => {
  assert.equal(shown("# A\n\n## B\n\nText.", { heading_path: ["A", "B"], title: "A" }), "Text.");
  assert.equal(shown("# A", { heading_path: ["A"], title: "A" }), "A");
});

test("a long text takes no long time", () => {
  for (const text of ["[".repeat(20000), "`".repeat(20000), "**a".repeat(7000), "<a ".repeat(7000), "![[".repeat(7000), "_a ".repeat(7000)]) {
    const start = performance.now();
    shown(text);
    assert.ok(performance.now() - start < 5000, text.slice(0, 9));
  }
});
