// The folders of the vault as a tree, for the mouse and the keys.

import { h, keepingFocusById, replace } from "./dom.js";

const parentOf = (path) => path.slice(0, Math.max(0, path.lastIndexOf("/")));

/** A tree; `choose` gets the path of the folder that was chosen, empty for all. `fill` shows what the API says of folders, and which is chosen. */
export function folderTree(choose) {
  const place = h("ul", { role: "tree", "aria-label": "Folders", class: "tree" });
  const opened = new Set();
  let folders = [];
  let chosen = "";
  /** The row that the keys act on. */
  let at = "";

  const hasBelow = (path) => path !== "" && folders.some((one) => parentOf(one.path) === path);
  const isShown = (path) => parentOf(path) === "" || (opened.has(parentOf(path)) && isShown(parentOf(path)));
  const rows = () => [{ path: "", notes: 0 }, ...folders.filter(({ path }) => isShown(path))];

  function row({ path, notes }) {
    const below = hasBelow(path);
    const level = path.split("/").length;
    return h("li", {
      role: "treeitem", id: `folder-${encodeURIComponent(path)}`, class: `level-${Math.min(level, 6)}`, tabindex: path === at ? 0 : -1, "aria-level": level,
      "aria-selected": String(path === chosen), "aria-expanded": below && String(opened.has(path)),
      on: { click: (event) => (event.target.closest(".fold") ? fold(path, !opened.has(path)) : pick(path)) },
    }, h("span", { class: below ? "fold" : "leaf", "aria-hidden": "true" }, below && (opened.has(path) ? "▾" : "▸")),
    h("span", { class: "name" }, path ? path.split("/").at(-1) : "All notes"), notes > 0 && h("span", { class: "hint" }, ` ${notes.toLocaleString()}`));
  }

  const paint = () => keepingFocusById(() => replace(place, rows().map(row)));

  function fold(path, isOpen) {
    if (isOpen) opened.add(path);
    else opened.delete(path);
    paint();
  }

  function pick(path) {
    at = path;
    choose(path);
  }

  function move(path) {
    at = path;
    paint();
    place.querySelector("[tabindex='0']")?.focus();
  }

  place.addEventListener("keydown", (event) => {
    const all = rows().map(({ path }) => path);
    const here = all.indexOf(at);
    const steps = {
      ArrowDown: () => move(all[Math.min(here + 1, all.length - 1)]),
      ArrowUp: () => move(all[Math.max(here - 1, 0)]),
      Home: () => move(""),
      End: () => move(all.at(-1)),
      ArrowRight: () => (hasBelow(at) && !opened.has(at) ? fold(at, true) : hasBelow(at) && move(all[here + 1])),
      ArrowLeft: () => (opened.has(at) ? fold(at, false) : move(parentOf(at))),
      Enter: () => pick(at),
      " ": () => pick(at),
    };
    if (!steps[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    steps[event.key]();
  });

  return {
    place,
    fill(found, folder = "") {
      folders = found;
      if (chosen !== folder) at = folder;
      chosen = folder;
      for (let path = parentOf(folder); path; path = parentOf(path)) opened.add(path);
      if (!rows().some(({ path }) => path === at)) at = "";
      paint();
    },
  };
}
