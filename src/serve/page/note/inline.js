// What Obsidian reads in the text of a block and Markdown does not: `==marks==`, `#tags`, and HTML that only sets type.

const TYPE = /^<(\/?)(sub|sup|u|kbd|mark|b|i|s|br)\s*\/?>$/i;
/** What is begun and never ended is looked through for each end. */
const MOST_OPEN = 50;
const MARK = /((?<!=)==(?![\s=])|(?<![\s=])==(?!=))/;
const TAG = /(?<![^\s([{"'])#([\p{L}\p{M}\p{N}\p{Extended_Pictographic}_/-]+)/gu;

/** The nodes, with elements for what is marked, and `{hash}` for tags. Without `tags` they are as written. */
export function inline(nodes, tags) {
  if (!tags) return nodes;
  const done = [];
  const open = [];
  for (const node of nodes.flatMap(signs)) {
    const opened = node.closes ? open.findLastIndex(({ sign }) => sign === node.sign) : -1;
    if (node.sign === "br") done.push({ tag: "br", children: [] });
    else if (opened !== -1) {
      // What was begun within it and has no end stays as it is written.
      const [{ at }] = open.splice(opened);
      done[at] = { tag: node.sign, children: done.splice(at + 1) };
    } else {
      if (node.opens && open.length < MOST_OPEN) open.push({ sign: node.sign, at: done.length });
      done.push(node.sign ? node.written : node);
    }
  }
  return done.flatMap((node) => (typeof node === "string" ? tagged(node, tags) : [node]));
}

/** A node, or its parts, of which some are signs that may begin something, or end it. */
function signs(node) {
  if (typeof node !== "string") {
    const [, end, name] = (node.attrs?.class === "html" && TYPE.exec(node.children[0])) || [];
    return name ? [{ sign: name.toLowerCase(), opens: !end, closes: Boolean(end), written: node }] : [node];
  }
  const parts = node.split(MARK);
  return parts.map((part, at) => (at % 2 === 0 ? part
    : { sign: "mark", opens: !/^\s/.test(parts[at + 1]), closes: !/\s$/.test(parts[at - 1]), written: part })).filter((part) => part !== "");
}

function tagged(text, tags) {
  if (!tags.size || !text.includes("#")) return [text];
  const parts = [];
  let from = 0;
  for (const { 0: { length }, 1: name, index } of text.matchAll(TAG)) {
    if (!tags.has(name.toLowerCase().replace(/\/+$/, ""))) continue;
    parts.push(text.slice(from, index), { hash: name });
    from = index + length;
  }
  return [...parts, text.slice(from)];
}
