// Light, dark, or as the system has it.

const KEY = "vault-theme";

export const THEMES = [["", "As the system"], ["light", "Light"], ["dark", "Dark"]];

export const theme = () => localStorage.getItem(KEY) ?? "";

/** Shows the page in the chosen theme, which `chosen` may choose anew. */
export function applyTheme(chosen = theme()) {
  if (chosen) localStorage.setItem(KEY, chosen);
  else localStorage.removeItem(KEY);
  document.documentElement.dataset.theme = chosen;
}
