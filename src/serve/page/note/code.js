// Colours in code: strings, comments, numbers and the words that most languages share. Of languages that are not known, none.

import { h } from "../lib/dom.js";

const SLASHES = String.raw`\/\/[^\n]*|\/\*[^]*?(?:\*\/|$)`;
const HASH = String.raw`(?<![^\s;(])#[^\n]*`;
const DASHES = String.raw`--[^\n]*`;
const QUOTED = String.raw`"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'`;
const LONG = String.raw`"""[^]*?(?:"""|$)|'''[^]*?(?:'''|$)|`;
const BACKTICKS = "`(?:\\\\.|[^`\\\\])*`?|";
// A lifetime of Rust begins like a character.
const RUST = String.raw`"(?:\\.|[^"\\])*"?|'(?:\\.|[^'\\\n])'`;

const C = "break case class const continue default do else enum extends false final for if implements import interface new null package private"
  + " protected public return static struct super switch this throw true try catch finally typedef union void while int long char float double bool"
  + " boolean string unsigned sizeof namespace using template virtual override func fun go defer chan range map type var val let nil fallthrough select";
const JS = "async await break case catch class const continue default delete do else export extends false finally for from function if import in"
  + " instanceof interface let new null of return static super switch this throw true try type typeof undefined var void while yield enum as readonly";
const WORDS = {
  rust: [RUST, SLASHES, "as async await break const continue crate dyn else enum extern false fn for if impl in let loop match mod move mut pub ref return self Self static struct super trait true type unsafe use where while"],
  python: [LONG + QUOTED, HASH, "and as assert async await break class continue def del elif else except False finally for from global if import in is lambda None nonlocal not or pass raise return True try while with yield match case"],
  js: [BACKTICKS + QUOTED, SLASHES, JS],
  c: [BACKTICKS + QUOTED, SLASHES, C],
  shell: [QUOTED, HASH, "if then else elif fi for while until do done case esac in function return local export set unset exit source alias echo cd"],
  sql: [QUOTED, `${DASHES}|${SLASHES}`, "select from where and or not null is in as join left right inner outer on group by order having limit insert into values update set delete create table index view drop alter primary key references distinct union all case when then else end with"],
  data: [LONG + QUOTED, HASH, "true false null yes no on off"],
  lua: [QUOTED, DASHES, "and break do else elseif end false for function goto if in local nil not or repeat return then true until while"],
  ruby: [QUOTED, HASH, "alias and begin break case class def do else elsif end ensure false for if in module next nil not or redo rescue retry return self super then true unless until when while yield require"],
};
const NAMES = {
  rs: "rust", py: "python", python3: "python", javascript: "js", jsx: "js", ts: "js", tsx: "js", typescript: "js", dataviewjs: "js", json: "js", json5: "js", jsonc: "js",
  cpp: "c", "c++": "c", h: "c", cs: "c", csharp: "c", java: "c", kotlin: "c", kt: "c", go: "c", golang: "c", swift: "c", php: "c", scala: "c", dart: "c", css: "c", scss: "c",
  sh: "shell", bash: "shell", zsh: "shell", fish: "shell", console: "shell", yaml: "data", yml: "data", toml: "data", ini: "data", conf: "data", rb: "ruby",
};
const MOST = 100_000;

const own = (names, name) => (Object.hasOwn(names, name) ? names[name] : undefined);

/** A text of a language as texts and elements. */
export function highlighted(text, language) {
  const name = language.toLowerCase().replace(/^\{?\.?|[,}].*$/g, "");
  const [strings, comments, words] = own(WORDS, own(NAMES, name) ?? name) ?? [];
  if (!words || text.length > MOST) return [text];
  const parts = new RegExp(`(?<comment>${comments})|(?<string>${strings})|(?<number>\\b\\d[\\w.]*)|(?<word>\\b(?:${words.replaceAll(" ", "|")})\\b)`, name === "sql" ? "gi" : "g");
  const shown = [];
  let from = 0;
  for (const found of text.matchAll(parts)) {
    const kind = Object.entries(found.groups).find(([, part]) => part !== undefined)[0];
    shown.push(text.slice(from, found.index), h("span", { class: `code-${kind}` }, found[0]));
    from = found.index + found[0].length;
  }
  return [...shown, text.slice(from)];
}
