// Small charts, built of SVG elements. What they show is beside them as text too.

import { dayOf, h, s } from "./dom.js";

const [HEIGHT, FOOT] = [150, 18];

/** The months up to this one, a year at least, with how much there was at the end of each. */
function cumulative(growth) {
  const months = [];
  let total = 0;
  const known = new Map(growth.map((one) => [one.month, one]));
  const now = dayOf(Date.now()).slice(0, 7);
  const yearAgo = after(`${String(Number(now.slice(0, 4)) - 1).padStart(4, "0")}${now.slice(4)}`);
  const first = growth[0].month < yearAgo ? growth[0].month : yearAgo;
  const last = growth.at(-1).month > now ? growth.at(-1).month : now;
  for (let month = first; month <= last && months.length < 3000; month = after(month)) {
    const { notes = 0, chunks = 0 } = known.get(month) ?? {};
    total += notes;
    months.push({ month, notes, chunks, total });
  }
  return months;
}

function after(month) {
  const [year, number] = month.split("-").map(Number);
  return number === 12 ? `${String(year + 1).padStart(4, "0")}-01` : `${String(year).padStart(4, "0")}-${String(number + 1).padStart(2, "0")}`;
}

/** How the vault grew: new notes of each month as bars, all notes as a line. */
export function growthChart(growth) {
  if (!growth.length) return h("p", { class: "hint" }, "No notes yet.");
  // A file with a date of long ago must not make all else a hair's breadth.
  const months = cumulative(growth).slice(-60);
  const [most, all] = [Math.max(...months.map(({ notes }) => notes), 1), months.at(-1).total];
  const narrow = innerWidth < 640;
  const width = narrow ? 340 : 640;
  const plot = HEIGHT - FOOT;
  const wide = width / months.length;
  const bars = months.map(({ month, notes }, at) => {
    const tall = (notes / most) * (plot - 14);
    return s("rect", { class: "bar", x: (at * wide + wide * 0.18).toFixed(1), y: (plot - tall).toFixed(1), width: (wide * 0.64).toFixed(1), height: Math.max(tall, notes ? 1.5 : 0).toFixed(1), rx: Math.min(2, wide / 6).toFixed(1) },
      s("title", {}, `${month}: ${notes} new`));
  });
  const points = months.map(({ total }, at) => `${(at * wide + wide / 2).toFixed(1)},${(plot - (total / all) * (plot - 14)).toFixed(1)}`);
  const every = Math.ceil(months.length / (narrow ? 4 : 6));
  const names = months.map(({ month }, at) => at % every === 0
    && s("text", { class: "tick", x: (at * wide + wide * 0.18).toFixed(1), y: HEIGHT - 4 }, month));
  const summary = `From ${months[0].month} to ${months.at(-1).month}; ${all} notes at the end, at most ${most} new per month`;
  return s("svg", { class: "chart", viewBox: `0 0 ${width} ${HEIGHT}`, role: "img", "aria-label": summary },
    s("line", { class: "axis", x1: 0, x2: width, y1: plot + 0.5, y2: plot + 0.5 }),
    bars, s("polyline", { class: "line", points: points.join(" ") }), names);
}

/** A bar that is filled to a share. */
export function shareBar(share, label) {
  return s("svg", { class: "share", viewBox: "0 0 100 8", preserveAspectRatio: "none", role: "img", "aria-label": label },
    s("rect", { class: "rest", x: 0, y: 0, width: 100, height: 8 }),
    s("rect", { class: "bar", x: 0, y: 0, width: Math.max(share * 100, share > 0 ? 0.8 : 0).toFixed(2), height: 8 }));
}
