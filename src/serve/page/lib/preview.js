// The text of a passage as its reader would see it: quoted, without the marks that Markdown has around words and lines.
// What is not surely such a mark stays.

/** Elements of HTML that have a meaning without attributes. `Vec<u8>` and `<T>` are no tags. */
const ELEMENTS = new Set(("a abbr address article aside b bdi bdo blockquote body br button caption center cite code col colgroup dd del " +
  "details dfn div dl dt em figcaption figure font footer h1 h2 h3 h4 h5 h6 head header hr html i iframe img input ins kbd label li link " +
  "main mark math meta nav ol p picture pre q rp rt ruby s samp script section small source span strike strong style sub summary sup svg " +
  "table tbody td template tfoot th thead time title tr tt u ul var video wbr").split(" "));

/** A link's destination, with brackets in it one deep. */
const TO = String.raw`\((?:[^()\n]|\([^()\n]*\))*\)`;

/** What a piece of Markdown shows, by how it begins; each is tried in turn. `drop(from, to)` takes characters of it away. */
const FORMS = [
  // An escaped mark is a mark to be seen.
  [/\\(?=[!-/:-@[-`{-~])./y, ([all], at, drop) => (drop(at, at + 1), all.length)],
  // Code is shown as it is.
  [/(?<!`)(`+)(?!`)((?:[^\n]|\n(?!\s*\n))*?[^`])\1(?!`)/y, ([all, ticks], at, drop) => {
    drop(at, at + ticks.length);
    drop(at + all.length - ticks.length, at + all.length);
    return all.length;
  }],
  [/<!--[^]*?-->/y, ([all], at, drop) => (drop(at, at + all.length), all.length)],
  [/<((?:[a-z][a-z0-9+.-]+:|[^\s<>@]+@)[^\s<>]*)>/iy, ([all], at, drop) => {
    drop(at, at + 1);
    drop(at + all.length - 1, at + all.length);
    return all.length;
  }],
  // A tag, if it has attributes, ends an element, or is of a known name: `<b>` behind a letter is as likely a type.
  [/<(\/?)([a-z][a-z0-9-]*)((?:\s+[a-z:@_][\w:.-]*(?:\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"'<>]+))?)*)\s*\/?>/iy, ([all, end, name, attributes], at, drop, text) => {
    const known = ELEMENTS.has(name.toLowerCase()) && !(name.length === 1 && !end && /[\w>:]/.test(text[at - 1] ?? " "));
    if (!end && !/=/.test(attributes) && !known) return 0;
    drop(at, at + all.length);
    return all.length;
  }],
  // `[[note|name]]` shows its name; of what is embedded the `|300` is its size.
  [/(!?)\[\[([^[\]\n|]*?)(?:\\?\|([^[\]\n]*))?\]\]/y, ([all, embed, target, name], at, drop) => {
    const start = at + embed.length + 2;
    drop(at, start);
    if (name && !embed) drop(start, at + all.length - 2 - name.length);
    else drop(start + target.length, at + all.length - 2);
    drop(at + all.length - 2, at + all.length);
    return all.length;
  }],
  // What is between the brackets is read on: a link may be around an image.
  [new RegExp(String.raw`!?\[((?:[^[\]\n]|!?\[[^[\]\n]*\](?:${TO})?)*)\](${TO})`, "y"), ([all, text, to], at, drop) => {
    const start = at + all.indexOf("[") + 1;
    drop(at, start);
    drop(start + text.length, start + text.length + 1 + to.length);
    return start - at;
  }],
  [/(?<![\w\])])\[([^[\]^\n][^[\]\n]*)\](\[[^[\]\n]*\])/y, ([, text, name], at, drop) => {
    drop(at, at + 1);
    drop(at + 1 + text.length, at + 2 + text.length + name.length);
    return 1;
  }],
  // Marks on either side of words. `__init__`, `a == b` and `2 * 3 * 4` are none.
  [/(\*\*\*|\*\*|~~|==)(?=[^\s*~=])((?:[^\n]|\n(?!\s*\n))*?[^\s])\1/y, pair],
  [/(?<![\w*])(\*)(?=[^\s*])([^*\n]*?[^\s*])\1(?![\w*])/y, pair],
  [/(?<![\w_])(__)(?=[^\s_])(?!\w+__(?!\w))([^\n]*?[^\s_])\1(?![\w_])/y, pair],
  [/(?<![\w_])(_)(?=[^\s_])([^_\n]*?[^\s_])\1(?![\w_])/y, pair],
];

function pair([all, mark], at, drop) {
  drop(at, at + mark.length);
  drop(at + all.length - mark.length, at + all.length);
  return mark.length;
}

/** What begins a line and is not part of its text: of a quote, a callout, a heading. */
const LINE = /^[ \t]*(?:(?:>[ \t]?)+\[![^[\]\n]*\][+-]?[ \t]*|(?:>[ \t]?)*(?:#{1,6}[ \t]+)?)/;
/** A line that shows nothing: a rule, what parts the head of a table, a link definition, the name of a block. */
const NOTHING = /^[ \t>]*(?:(?:[-*_][ \t]*){3,}|\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?|\[[^\]^\n][^\]\n]*\]:[ \t]*\S+(?:[ \t]+["'(].*)?|\^[\w-]+)[ \t]*$/;
const FENCE = /^[ \t>]*(?:(?:[-*+]|\d+[.)])[ \t]+)?(`{3,}|~{3,})[ \t]*([^`]*)$/;
const BLOCK_NAME = /[ \t]\^[A-Za-z0-9-]+[ \t]*$/;
/** The end of a line that goes on in the next: what follows is no item, row or quote, and there is no blank line. */
const WRAP = /(?<=[^\n|])\n(?=[^\s|>*+#-])(?!\d+[.)] )/g;

/** Which characters of a text of Markdown are not shown, and where lines go on. */
export function marks(text) {
  const dropped = new Uint8Array(text.length);
  const code = new Uint8Array(text.length + 1);
  const drop = (from, to) => dropped.fill(1, from, to);
  const lines = [];
  for (let at = 0; at <= text.length;) {
    const end = text.indexOf("\n", at);
    const stop = end === -1 ? text.length : end;
    lines.push([at, stop]);
    at = stop + 1;
  }
  const line = ([from, to]) => text.slice(from, to);
  const fences = lines.map((span) => FENCE.exec(line(span)));
  // Of a long block of code, a passage may have the end alone.
  const ends = fences.filter(Boolean);
  let inside = ends.length % 2 === 1 && !ends[0][2].trim();
  let prose = -1;
  const flush = (to) => {
    if (prose !== -1) inline(text, prose, to, drop, dropped);
    prose = -1;
  };
  lines.forEach((span, index) => {
    const [from, to] = span;
    const fence = fences[index];
    if (fence || inside) {
      flush(from);
      code.fill(1, from, to + 1);
      if (fence) {
        drop(from, Math.min(to + 1, text.length));
        inside = !inside;
      }
      return;
    }
    if (prose === -1) prose = from;
    const found = line(span);
    if (NOTHING.test(found) && found.trim()) return void drop(from, to);
    drop(from, from + LINE.exec(found)[0].length);
    const name = BLOCK_NAME.exec(found);
    if (name) drop(from + name.index, to);
  });
  flush(text.length);
  const wraps = new Set(Array.from(text.matchAll(WRAP), ({ index }) => index).filter((at) => !code[at] && !code[at + 1]));
  return { dropped, wraps };
}

function inline(text, from, to, drop, dropped) {
  const part = text.slice(from, to);
  for (let at = 0; at < part.length;) {
    let length = 0;
    if (!dropped[from + at]) {
      for (const [form, show] of FORMS) {
        form.lastIndex = at;
        const found = form.exec(part);
        length = found ? show(found, at, (one, other) => drop(from + one, from + other), part) : 0;
        if (length) break;
      }
    }
    at += length || 1;
  }
}

/** A passage's snippet in runs of text, `[text, marked]`. `highlights` are places of the snippet, in characters. */
export function preview({ snippet, content, highlights = [], heading_path: headings = [], title = "" }) {
  const quoted = snippet ?? content;
  // What a mark is tells the whole passage; the snippet may begin within code.
  const [around, start, skip] = placed(quoted, content ?? quoted);
  const { dropped, wraps } = marks(around);
  const lead = /^(#{1,6} .*\n\s*)+/.exec(around);
  if (lead && lead[0].length < around.length && [...headings, title].some(Boolean)) dropped.fill(1, 0, lead[0].length);
  const characters = Array.from(quoted);
  const marked = new Uint8Array(characters.length);
  for (const [from, to] of highlights) marked.fill(1, from, to);
  const parts = [];
  let [run, on, at, last] = ["", 0, 0, "\n"];
  const flush = () => {
    if (run) parts.push([run, Boolean(on)]);
    run = "";
  };
  characters.forEach((character, index) => {
    const place = start + at - skip;
    const inside = at >= skip && place + character.length <= around.length && around.startsWith(character, place);
    // No line stays empty.
    if (!(inside && dropped[place]) && !(character === "\n" && last === "\n")) {
      if (marked[index] !== on) {
        flush();
        on = marked[index];
      }
      last = inside && wraps.has(place) ? " " : character;
      run += last;
    }
    at += character.length;
  });
  flush();
  // Of a passage that is nothing but marks, those are shown.
  return parts.some(([text]) => text.trim()) ? parts : [[quoted, false]];
}

/** Where a snippet stands in its passage: the text to look at, the snippet's place in it, and how much of it is `…` before. */
function placed(quoted, content) {
  const skip = !content.startsWith(quoted) && quoted.startsWith("…") ? 1 : 0;
  for (const end of [quoted.length, quoted.length - (quoted.endsWith("…") ? 1 : 0)]) {
    const found = content.indexOf(quoted.slice(skip, end));
    if (found !== -1) return [content, found, skip];
  }
  return [quoted, 0, 0];
}
