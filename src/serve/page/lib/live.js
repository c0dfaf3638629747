// How far the index is, as it happens: server-sent events, read in the session.

import { api, ask, key } from "./api.js";
import { byId, count } from "./dom.js";

const RETRY_MS = [500, 1000, 2000, 5000, 10_000];

let last;
let following = 0;

/** Follows the index for as long as there is a session; calls `onState` when it may answer otherwise. */
export async function follow(onState) {
  following += 1;
  const mine = following;
  for (let failed = 0; key.get() && mine === following;) {
    try {
      const response = await ask("/events");
      failed = 0;
      await readEvents(response.body, (progress) => show(progress, onState));
    } catch (error) {
      if (error.code === "unauthorized") return;
      if (error.status === 0) unreachable(error);
      else await poll(onState).catch(() => {});
    }
    await new Promise((resolve) => setTimeout(resolve, RETRY_MS[Math.min(failed, RETRY_MS.length - 1)]));
    failed += 1;
  }
}

/** Reads server-sent events, each as its data in JSON and its name. */
export async function readEvents(body, onEvent) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const events = (text + value).split("\n\n");
    text = events.pop();
    for (const event of events) {
      const field = (name) => event.split("\n").filter((line) => line.startsWith(`${name}: `)).map((line) => line.slice(name.length + 2)).join("\n");
      if (field("data")) onEvent(JSON.parse(field("data")), field("event"));
    }
  }
}

/** Where there is no stream to be had, the status says as much. */
async function poll(onState) {
  show(await api.status(), onState);
}

function unreachable() {
  paint("away", "The vault does not answer");
  byId("bar").hidden = true;
}

function show(progress, onState) {
  const { phase, files, embedded, embeddable, pending_files: reading, pending_embeddings: embedding, model, failure } = progress;
  const bar = byId("bar");
  bar.hidden = true;
  if (failure) {
    paint("failing", failure);
  } else if (phase === "starting" || !progress.caught_up || reading > 0) {
    paint("busy", reading ? `Reading ${count(reading, "note")}` : "Checking the notes");
    fill(bar, progress.files_done, reading);
  } else if (model.next?.state === "ready" && !model.next.trouble && model.next.embedded < model.next.of) {
    paint("busy", `${model.next.detail} is embedding ${count(model.next.of - model.next.embedded, "passage")}`);
    fill(bar, model.next.embedded, model.next.of - model.next.embedded);
  } else if (embedding > 0 && model.state === "ready") {
    paint("busy", `Embedding ${count(embedding, "passage")}`);
    fill(bar, embedded, Math.max(embeddable - embedded, 0));
  } else {
    const words = model.state === "failed" ? "search by words only" : "";
    paint(model.state === "failed" ? "failing" : "idle", [count(files, "note"), words].filter(Boolean).join(", "));
  }
  const state = `${progress.seq} ${files} ${embedded === embeddable} ${progress.expired_facts}`;
  if (last !== undefined && last !== state) onState();
  last = state;
}

function fill(bar, done, left) {
  bar.hidden = left === 0;
  bar.max = done + left || 1;
  bar.value = done;
}

function paint(state, text) {
  const place = byId("live");
  if (place.dataset.state === state && place.lastElementChild.textContent === text) return;
  place.dataset.state = state;
  place.lastElementChild.textContent = text;
  place.title = text;
}
