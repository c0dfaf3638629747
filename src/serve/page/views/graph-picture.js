// A picture of notes and their relations, drawn when it is asked for. The list beside it says the same, and is the way for the keyboard.

import { count, failure, h, replace, s } from "../lib/dom.js";
import { go } from "../lib/route.js";

/** More are a cloud that shows nothing. */
const MOST = 500;
/** With more notes than that, only those nearest to the centre have their names in the picture. */
const NAMED = 40;
const MARGIN = 40;
const LEAST = [640, 320];

let isOpen = false;

/** A place for the picture that fills itself when it is opened; `list` has links with the notes' paths as titles. */
export function pictureOf(entities, edges, list) {
  const place = h("div", { class: "picture" });
  return h("details", { class: "folded", open: isOpen, on: { toggle: async ({ target }) => {
    isOpen = target.open;
    if (!isOpen || place.firstChild) return;
    try {
      draw(place, entities, edges, list, await import("/page/vendor/d3-force.js"));
    } catch (error) {
      replace(place, failure(error));
    }
  } } }, h("summary", {}, "Picture"), place);
}

/** What the picture shows: notes, names without a note, and the lines between them. */
function parts(entities, edges) {
  const nodes = new Map();
  const add = (id, title, path, distance) => nodes.has(id) || nodes.size >= MOST || nodes.set(id, { id, title, path, distance });
  for (const { path, title, distance } of entities) add(path, title, path, distance);
  const links = edges.map(({ from, from_title: name, to, to_title: title, relation, distance }) => {
    const target = to ?? `?${title}`;
    add(from, name, from, distance);
    add(target, title, to, distance);
    return { source: from, target, relation };
  });
  return { nodes: [...nodes.values()], links: links.filter(({ source, target }) => nodes.has(source) && nodes.has(target)) };
}

function draw(place, entities, edges, list, force) {
  const { nodes, links } = parts(entities, edges);
  const lines = links.map(({ relation }) => s("line", {}, s("title", {}, relation ?? "links to")));
  const nearest = nodes.toSorted((one, two) => one.distance - two.distance).slice(0, NAMED);
  const dots = nodes.map((node) => s("g", { class: `node${node.distance === 0 ? " centre" : ""}${node.path ? "" : " nowhere"}`, on: { click: () => node.path && go({ name: node.path }) } },
    s("circle", { r: node.distance === 0 ? 8 : 5 }), s("title", {}, node.title),
    nearest.includes(node) && s("text", { x: 10, y: 4 }, node.title.length > 28 ? `${node.title.slice(0, 27)}…` : node.title)));
  const svg = s("svg", { role: "img", "aria-label": `${count(nodes.length, "note")} and ${count(links.length, "relation")}, which are listed below` }, lines, dots);
  const paint = () => {
    links.forEach(({ source, target }, at) => {
      for (const [name, value] of Object.entries({ x1: source.x, y1: source.y, x2: target.x, y2: target.y })) lines[at].setAttribute(name, value.toFixed(1));
    });
    nodes.forEach(({ x, y }, at) => dots[at].setAttribute("transform", `translate(${x.toFixed(1)} ${y.toFixed(1)})`));
    const [xs, ys] = [nodes.map(({ x }) => x), nodes.map(({ y }) => y)];
    const [left, top, right, foot] = [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
    // Names stand to the right of their notes, and a few notes fill no page.
    const [wide, high] = [Math.max(right - left + 5 * MARGIN, LEAST[0]), Math.max(foot - top + 2 * MARGIN, LEAST[1])];
    svg.setAttribute("viewBox", [(left + right + 3 * MARGIN - wide) / 2, (top + foot - high) / 2, wide, high].map(Math.round).join(" "));
  };
  const simulation = force.forceSimulation(nodes)
    .force("link", force.forceLink(links).id(({ id }) => id).distance(70))
    .force("charge", force.forceManyBody().strength(-180))
    .force("collide", force.forceCollide(18))
    .force("center", force.forceCenter());
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) simulation.stop().tick(300);
  else simulation.on("tick", () => (svg.isConnected ? paint() : simulation.stop()));
  paint();
  replace(place, svg, nodes.length === MOST && h("p", { class: "hint" }, `The first ${MOST} notes.`));
  const mark = ({ target }) => nodes.forEach(({ path }, at) => dots[at].classList.toggle("marked", Boolean(path) && path === target.closest?.(".end")?.title));
  for (const event of ["focusin", "pointerover"]) list.addEventListener(event, mark);
}
