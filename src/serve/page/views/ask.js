// Answers questions by the chat model of memory.toml, from passages of the vault alone: as they come, each sentence with its passages.

import { ask } from "../lib/api.js";
import { append, failure, h, replace, say } from "../lib/dom.js";
import { readEvents } from "../lib/live.js";
import { address, route } from "../lib/route.js";

const SOURCES = /\s*\[(\d+)\]/g;
/** A sentence, with the passages that are named behind it. It goes on before a small letter, and while a number may come still. */
const SENTENCE = /[^\n]+?(?:[.!?…]["'”’)»]*(?:[ \t]*\[\d+\])*(?=\s+[^\s\p{Ll}[]|\s*$)|[。！？](?:[ \t]*\[\d+\])*)|[^\n]+/gu;

const EXAMPLE = "[chat]\nendpoint = \"localhost:11434\"\nmodel = \"qwen3:8b\"";

let view;
let asking;

export function show(main) {
  asking?.abort();
  const field = h("input", { id: "question", name: "question", autocomplete: "off", maxlength: "2000", required: true, "aria-label": "Question" });
  field.value = route().q ?? "";
  const stop = h("button", { type: "button", hidden: true, on: { click: close } }, "Stop");
  const form = h("form", { class: "row", on: { submit } }, field, h("button", { class: "primary" }, "Ask"), stop);
  const about = h("p", { class: "hint ask-about" }, "Your chat model answers from passages of your notes alone. Each sentence names them; those without are marked.");
  view = { field, stop, turns: [], answers: h("div", { class: "answers" }) };
  replace(main, h("h2", {}, "Ask"), form, about, view.answers);
  if (matchMedia("(pointer: fine)").matches) field.focus();
}

export function update() {}

export function changed() {}

/** Stops the answer that is being written; says whether there was one. */
export function close() {
  const was = asking;
  was?.abort();
  return Boolean(was);
}

async function submit(event) {
  event.preventDefault();
  const { field, stop, turns, answers } = view;
  const question = field.value.trim();
  if (!question) return;
  asking?.abort();
  const mine = new AbortController();
  asking = mine;
  stop.hidden = false;
  const answer = answerTo(question);
  replace(answers, answer.element, [...answers.children]);
  try {
    const response = await ask("/api/ask", { method: "POST", body: { question, history: turns.slice(-3) }, signal: mine.signal });
    let over = false;
    await readEvents(response.body, (data, name) => {
      over ||= name === "end" || name === "error";
      answer.take(name, data);
    });
    if (!over) answer.take("error", "The vault stopped before the answer ended.");
    else turns.push({ question, answer: answer.text() });
    field.select();
  } catch (error) {
    answer.stop(mine.signal.aborted ? h("p", { class: "hint" }, "Stopped.") : [failure(error), error.status === 409 && h("pre", {}, EXAMPLE)]);
    say("Stopped");
  } finally {
    if (asking === mine) {
      asking = undefined;
      if (document.activeElement === stop) field.focus();
      stop.hidden = true;
    }
  }
}

/** The answer to a question, which takes what comes of it. */
function answerTo(question) {
  const [told, rest, list, end] = [h("span", {}), h("span", { class: "pending" }), h("ol", { class: "sources" }), h("div", {})];
  const element = h("article", {}, h("h3", {}, question), h("p", { class: "answer" }, told, rest), end, list);
  let [text, passages, shown, kept] = ["", [], 0, ""];
  const draw = (isOver) => {
    const sentences = text.trimEnd().match(SENTENCE) ?? [];
    const whole = isOver ? sentences.length : sentences.length - 1;
    for (; shown < whole; shown += 1) append(told, sentence(sentences[shown], passages), " ");
    rest.textContent = isOver ? "" : sentences.at(-1) ?? "";
  };
  const stop = (why) => {
    draw(true);
    replace(end, why);
  };
  const take = (name, data) => {
    if (name === "text") {
      text += data;
      draw(false);
    } else if (name === "passages") {
      passages = data.passages;
      replace(list, passages.map(source));
      kept = data.with_private ? "" : `Private notes were left out, as ${data.model} is not on this machine.`;
      const none = !passages.length && "Nothing in your notes is about this, so the model was not asked.";
      replace(end, h("p", { class: "hint" }, [none || `${data.model} is answering …`, kept].filter(Boolean).join(" ")));
      if (none) say(none);
    } else {
      draw(true);
      if (name === "error") replace(end, failure({ message: data }));
      else if (passages.length) replace(end, kept && h("p", { class: "hint" }, kept));
    }
  };
  return { element, take, stop, text: () => text };
}

function sentence(text, passages) {
  const numbers = [...new Set([...text.matchAll(SOURCES)].map(([, number]) => Number(number)))].filter((number) => passages[number - 1]);
  const words = text.replace(SOURCES, "").trim();
  say(numbers.length ? words : `${words} (no source)`);
  const marks = numbers.map((number) => mark(number, passages[number - 1]));
  return h("span", { class: numbers.length ? "sentence" : "sentence unsourced" }, words, marks.length ? marks : h("span", { class: "no-source" }, "no source"));
}

const place = ({ path, line_start: first, line_end: last }) => address({ ...route(), note: path, lines: `${first}-${last}` });

/** The number of a passage, which shows it while it has the focus or the pointer, and opens it. */
function mark(number, passage) {
  return [h("a", { class: "source", href: place(passage), "aria-label": `[${number}] ${passage.title}` }, `[${number}]`),
    h("span", { class: "peek", "aria-hidden": "true" }, passage.text.slice(0, 600))];
}

function source(passage) {
  return h("li", {}, h("a", { href: place(passage) }, passage.title), " ", h("span", { class: "cite" }, passage.citation));
}
