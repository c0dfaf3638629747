// Texts of the editor that the vault does not have yet. They outlive the tab; what is saved has none. What could be undone ends with it.

import { own } from "../lib/api.js";

const KEY = own("vault-draft:");
const HISTORY = own("vault-history:");

const keys = () => Object.keys(localStorage).filter((key) => key.startsWith(KEY));

/** The paths of notes with text that is not saved. */
export const unsaved = () => [...new Set(keys().map((key) => JSON.parse(localStorage[key]).path))];

/** The drafts of a note, each with its key. */
export function draftsOf(path) {
  return keys().map((key) => ({ ...JSON.parse(localStorage[key]), key })).filter((draft) => draft.path === path);
}

/** Keeps a draft under a name of one editor; says no where the browser has no room for it. */
export function keepDraft(name, draft) {
  try {
    localStorage.setItem(KEY + name, JSON.stringify(draft));
    return true;
  } catch {
    return false;
  }
}

export const dropDraft = (name) => localStorage.removeItem(name.startsWith(KEY) ? name : KEY + name);

/** What can be undone in the editor of a note, as long as the tab is there. */
export const historyOf = (path) => sessionStorage.getItem(HISTORY + path);

/** Keeps it; where there is no room, there is none. */
export function keepHistory(path, history) {
  try {
    sessionStorage.setItem(HISTORY + path, history);
  } catch {
    dropHistory(path);
  }
}

export const dropHistory = (path) => sessionStorage.removeItem(HISTORY + path);
