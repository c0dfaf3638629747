// Ticks the tasks of a note that is read.

import { api } from "../lib/api.js";
import { say } from "../lib/dom.js";
import { changed, offerUndo, sentence, toast } from "./change.js";

/** Has the boxes within a note's body tick their lines of its file; `note` gives its path and its hash. */
export function ticking(body, note) {
  let { hash } = note;
  let last = Promise.resolve();
  body.addEventListener("change", ({ target: box }) => {
    const line = Number(box.dataset.line);
    if (box.type !== "checkbox" || !line) return;
    const done = box.checked;
    // One after the other: each stands on the file that the one before has left.
    last = last.then(async () => {
      try {
        const ticked = await api.tick({ path: note.path, line, done, if_hash: hash });
        hash = ticked.hash;
        say(done ? "Done" : "Not done");
        offerUndo(done ? "Ticked a task" : "Unticked a task", ticked.checkpoint_id);
      } catch (error) {
        box.checked = !done;
        toast(`Not ticked: ${sentence(error)}`, undefined, { failed: true });
      }
      changed();
    });
  });
}
