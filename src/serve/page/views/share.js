// Links that show one note, read only, to whoever has them.

import { api } from "../lib/api.js";
import { append, failure, h, replace, say } from "../lib/dom.js";
import { copyButton } from "../lib/list.js";
import { dialog, show } from "../note/change.js";

/** The links to a note, or to any, as a list; `refresh` reads them again. */
export function linkList(path) {
  const list = h("ul", { class: "changes", "aria-label": "Shared links" });
  const refresh = async () => {
    try {
      const { links } = await api.shares();
      const those = links.filter((link) => !path || link.path === path);
      replace(list, those.map((link) => item(link, refresh)), !path && !those.length && h("li", { class: "hint" }, "No note is shared by a link."));
    } catch (error) {
      replace(list, h("li", {}, failure(error, refresh)));
    }
  };
  return { list, refresh };
}

function item({ id, path, until }, refresh) {
  const row = h("li", {}, h("span", { class: "cite" }, path), h("span", { class: "hint" }, `until ${until.slice(0, 10)}`));
  const end = async () => {
    try {
      await api.endShare(id);
      say("The link has ended");
      await refresh();
    } catch (error) {
      append(row, failure(error));
    }
  };
  return append(row, h("button", { type: "button", class: "quiet", "aria-label": `End the link to ${path}`, on: { click: end } }, "End"));
}

/** Asks for how long a link to a note is to count, makes it, and shows it. */
export function share(path) {
  const links = linkList(path);
  links.refresh();
  dialog("Share a note", [
    h("p", { class: "hint" }, "Whoever has the link reads this note as it is then, without its pictures, until the link ends."),
    h("label", { for: "share-days" }, "Days"),
    h("input", { id: "share-days", name: "days", type: "number", min: 1, max: 366, value: 7, required: true, autofocus: true }),
    links.list,
  ], "Make a link", async ({ days }) => {
    const { address } = await api.share({ path, days: Number(days) });
    return () => made(reachable(address));
  });
}

/** The vault knows itself by the address of its machine, where nothing says how others reach it; whoever is here came by another. */
function reachable(address) {
  const { hostname, pathname } = new URL(address);
  return ["localhost", "127.0.0.1", "[::1]"].includes(hostname) ? location.origin + pathname : address;
}

function made(address) {
  const close = () => dialog.close();
  const dialog = show(h("dialog", { "aria-labelledby": "dialog-title" },
    h("h2", { id: "dialog-title" }, "The link"),
    h("p", { class: "hint" }, "It is shown this once."),
    h("input", { readonly: true, value: address, "aria-label": "The link", autofocus: true, on: { focus: ({ target }) => target.select() } }),
    h("div", { class: "row end" }, copyButton(address), h("button", { type: "button", class: "primary", on: { click: close } }, "Done"))));
}
