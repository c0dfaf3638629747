// Builds elements, and puts them in their places. Texts are always texts: nothing here reads markup. No other file calls the browser's own
// `append` and `replaceChildren`, which show a condition that does not hold as the word `false`.

const SVG = "http://www.w3.org/2000/svg";

/** Adds children behind those that an element has; what a condition left out is none. */
export function append(element, ...children) {
  element.append(...children.flat(Infinity).filter((child) => child !== undefined && child !== null && child !== false));
  return element;
}

/** Puts children in place of those that an element has. */
export function replace(element, ...children) {
  element.replaceChildren();
  return append(element, children);
}

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else {
      element.setAttribute(name, value === true ? "" : value);
    }
  }
  return append(element, children);
}

/** An HTML element: `h("a", {href, on: {click}}, "text", child)`. */
export function h(tag, attributes, ...children) {
  return fill(document.createElement(tag), attributes, children);
}

/** An SVG element. */
export function s(tag, attributes, ...children) {
  return fill(document.createElementNS(SVG, tag), attributes, children);
}

export const byId = (id) => document.getElementById(id);

/** Says something to those who listen to the page instead of looking at it. */
export function say(text) {
  byId("said").textContent = text;
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString()} ${number === 1 ? one : many}`;
}

export function bytes(number) {
  const units = ["bytes", "kB", "MB", "GB"];
  let at = 0;
  while (number >= 1000 && at < units.length - 1) {
    number /= 1000;
    at += 1;
  }
  return `${at === 0 ? number : number.toFixed(1)} ${units[at]}`;
}

export const percent = (share) => `${share === 1 ? 100 : Math.min(99, Math.floor(share * 100))} %`;

const two = (number) => String(number).padStart(2, "0");

/** The day of a time in the time zone of the person, as `2026-01-05`. */
export function dayOf(time) {
  const date = new Date(time);
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
}

/** The hour of a time in the time zone of the person, as `18:32`. */
export function hourOf(time) {
  const date = new Date(time);
  return `${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** A time to the second in the time zone of the person, as `2026-01-05 18:32:07`. */
export const secondOf = (time) => `${dayOf(time)} ${hourOf(time)}:${two(new Date(time).getSeconds())}`;

const DAY = 86_400_000;

/** A day as people call it. */
export function dayName(day) {
  const date = new Date(`${day}T12:00:00`);
  if (Number.isNaN(date.getTime())) return day;
  const today = dayOf(Date.now());
  if (day === today) return "Today";
  if (day === dayOf(Date.now() - DAY)) return "Yesterday";
  return `${date.toDateString().slice(0, 3)} ${day}`;
}

/** A time, short: the hour of today, else the day. */
export function when(time) {
  const shown = dayOf(time) === dayOf(Date.now()) ? hourOf(time) : dayOf(time);
  return h("time", { datetime: time, title: secondOf(time) }, shown);
}

/** Calls the last of many calls, so long after it: milliseconds, or a function that gives them. */
export function debounced(wait, call) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => call(...args), typeof wait === "function" ? wait() : wait);
  };
}

/** Has `change` make a part of the page anew; the focus stays on what has the same id. */
export function keepingFocusById(change) {
  const id = document.activeElement?.id;
  change();
  if (id && document.activeElement?.id !== id) byId(id)?.focus({ preventScroll: true });
}

/** What a failed request says, for people. */
export function failure(error, retry) {
  const hint = error.hint ? h("p", { class: "hint" }, error.hint) : undefined;
  const again = retry ? h("button", { type: "button", on: { click: retry } }, "Try again") : undefined;
  return h("div", { class: "failure", role: "alert" }, h("p", {}, error.message), hint, again);
}

/** A switch with its name and what it does; `set` gets what it was switched to, and the box. */
export function toggle(id, name, hint, on, set) {
  const box = h("input", { type: "checkbox", role: "switch", id, checked: on, "aria-describedby": `${id}-hint`, on: { change: () => set(box.checked, box) } });
  return h("div", { class: "switch" }, box, h("label", { for: id }, name), h("p", { class: "hint", id: `${id}-hint` }, hint));
}
