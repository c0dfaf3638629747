// A field with options under it, as ARIA has the combobox: the focus stays in the field, and keys move through the options.

import { h, replace } from "./dom.js";

/**
 * `choose(option, event)` is called for the option that Enter, Tab or a click takes; `ready()` gives a promise of what is still asked for.
 * Gives a function that shows options, `{name, detail}`; the first is marked.
 */
export function combobox(field, list, { choose, ready = () => undefined }) {
  let options = [];
  let at = -1;
  const expanded = () => field.setAttribute("aria-expanded", String(!list.hidden));
  for (const [name, value] of [["role", "combobox"], ["aria-autocomplete", "list"], ["aria-controls", list.id], ["autocomplete", "off"], ["spellcheck", "false"]]) {
    field.setAttribute(name, value);
  }
  list.setAttribute("role", "listbox");
  list.hidden = true;
  expanded();

  function mark(index) {
    list.children[at]?.setAttribute("aria-selected", "false");
    at = index;
    const option = list.children[at];
    if (!option) return field.removeAttribute("aria-activedescendant");
    option.setAttribute("aria-selected", "true");
    option.scrollIntoView({ block: "nearest" });
    field.setAttribute("aria-activedescendant", option.id);
  }

  function show(found) {
    options = found;
    replace(list, options.map(({ name, detail }, index) => h("li", {
      role: "option", id: `${list.id}-${index}`, "aria-selected": "false",
      on: { mousedown: (event) => event.preventDefault(), click: (event) => choose(options[index], event) },
    }, h("span", { class: "option" }, name), detail && h("span", { class: "detail" }, detail))));
    list.hidden = !options.length;
    expanded();
    mark(options.length ? 0 : -1);
  }

  field.addEventListener("keydown", async (event) => {
    if (list.hidden || event.isComposing) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const takes = event.key === "Enter" || (event.key === "Tab" && !event.shiftKey);
    if (!step && !takes) return;
    event.preventDefault();
    if (step) return mark((at + step + options.length) % options.length);
    await ready();
    if (options[at]) choose(options[at], event);
  });
  return show;
}
