//! Compares `docs/architecture/modules.md` and `docs/dependencies.md` with the code: which module may use which, and where
//! each outside dependency lives. What may be printed where, and what may not block, clippy checks (`clippy.toml`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use proc_macro2::{Delimiter, Spacing, TokenStream, TokenTree};

#[test]
fn every_module_is_in_the_table_and_the_reverse() {
    let declared_in = |file: &Path| -> Vec<String> {
        let declares = |window: &[Token]| window[0].text == "mod" && window[2].text == ";";
        Source::read(file).tokens.windows(3).filter(|w| declares(w)).map(|w| w[1].text.clone()).collect()
    };
    let rooms_of = |top: String| match WINGS.contains(&top.as_str()) {
        true => declared_in(&Path::new(&top).join("mod.rs")).iter().map(|room| format!("{top}/{room}")).collect(),
        false => vec![top],
    };
    let declared: BTreeSet<String> = declared_in(Path::new("lib.rs")).into_iter().flat_map(rooms_of).collect();
    let listed: BTreeSet<String> = ranks().into_keys().collect();
    assert_eq!(declared, listed, "src/ (left) and the module table of docs/architecture/modules.md (right)");
}

#[test]
fn modules_use_lower_ranks_only() {
    let ranks = ranks();
    let mut wrong = Vec::new();
    for source in sources() {
        for used in source.modules_used() {
            let (from, to) = (&source.module, &used.text);
            match (ranks.get(from), ranks.get(to)) {
                _ if from == to => {}
                (Some(above), Some(below)) if above > below => {}
                (above, below) => {
                    let [above, below] =
                        [above, below].map(|rank| rank.map_or("no rank".into(), |rank| format!("rank {rank}")));
                    let place = format!("src/{}:{}", source.file, used.line);
                    wrong.push(format!("{place}: `{from}` ({above}) uses `{to}` ({below})"));
                }
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "see the module table of docs/architecture/modules.md");
}

#[test]
fn dependencies_stay_in_their_homes() {
    let listed = listed_dependencies();
    let mut wrong = Vec::new();
    let mut empty: BTreeSet<(&str, &str)> =
        listed.iter().flat_map(|(name, homes)| homes.iter().map(|home| (name.as_str(), home.as_str()))).collect();
    empty.retain(|(_, home)| !["everywhere", "tests"].contains(home));
    for source in sources() {
        for used in source.program().dependencies_used(&listed) {
            empty.retain(|(name, home)| *name != used.dependency || !source.is_in(home));
            let home = listed[&used.dependency].iter().any(|home| home == "everywhere" || source.is_in(home));
            if !home {
                wrong.push(format!("src/{}:{}: {}", source.file, used.line, used.path));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new(), "used away from home; the homes are in docs/dependencies.md");
    assert_eq!(empty, BTreeSet::new(), "homes of docs/dependencies.md in which the dependency is not used");
}

#[test]
fn every_dependency_is_documented_and_the_reverse() {
    let manifest = read("Cargo.toml");
    let mut declared = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = matches!(line, "[dependencies]" | "[dev-dependencies]" | "[build-dependencies]")
                || (line.starts_with("[target.") && line.ends_with(".dependencies]"));
        } else if let Some((name, _)) = line.split_once('=').filter(|_| inside && !line.starts_with([' ', '#', '"'])) {
            declared.insert(name.trim().replace('-', "_"));
        }
    }
    let listed: BTreeSet<String> = listed_dependencies().into_keys().collect();
    assert_eq!(declared, listed, "Cargo.toml (left) and docs/dependencies.md (right)");
}

#[test]
fn sources_are_read_as_they_are_meant() {
    let names = |code: &str| -> Vec<String> {
        let source = Source::new(Path::new("index/search/run.rs"), code);
        source.modules_used().into_iter().map(|used| used.text).collect()
    };
    assert_eq!(
        names("use crate::index::local::Row; fn f() { crate::text::note::g::<'_>('\\'', \"crate::cli\") }"),
        ["index/local", "text/note"]
    );
    assert_eq!(
        names("use crate::{chunk::{id, cut}, index::{sync, search}, base::path, self as root};"),
        ["chunk", "index/sync", "index/search", "base/path", "self"]
    );
    assert_eq!(names("// crate::cli\n pub(crate) fn f(r: &'static str) { $crate::cli::x!(\"crate::cli\"); }"), [""; 0]);
    // From `index::search::run`, three steps up is the crate.
    assert_eq!(names("use super::fuse; use super::super::super::cli;"), ["cli"]);
    let program =
        Source::new(Path::new("a.rs"), "use half::f16; use jiff::y;\n#[cfg(test)]\nmod tests { use toml::x; }");
    let listed = ["half", "toml", "jiff"].map(|name| (name.to_owned(), Vec::new())).into();
    let used: Vec<String> = program.program().dependencies_used(&listed).into_iter().map(|used| used.path).collect();
    assert_eq!(used, ["half::f16", "jiff::y"]);
}

/// The folders of `src` whose modules are those of the table.
const WINGS: [&str; 7] = ["base", "text", "vault", "index", "access", "memory", "serve"];

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn read(file: &str) -> String {
    let path = root().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("cannot read {}: {error}", path.display()))
}

/// The cells of the rows of a page's first table whose first column is titled so.
fn table(page: &str, first_column: &str) -> Vec<Vec<String>> {
    let text = read(page);
    let cells = |line: &str| -> Vec<String> {
        line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
    };
    let rows: Vec<Vec<String>> = text
        .lines()
        .skip_while(|line| !line.starts_with('|') || cells(line)[0] != first_column)
        .skip(2)
        .take_while(|line| line.starts_with('|'))
        .map(cells)
        .collect();
    assert!(!rows.is_empty(), "{page} has no table that starts with `{first_column}`");
    rows
}

/// What stands in backticks.
fn names(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// The rank of every module.
fn ranks() -> BTreeMap<String, u32> {
    table("docs/architecture/modules.md", "rank")
        .iter()
        .flat_map(|row| {
            let rank: u32 = row[0].parse().unwrap_or_else(|_| panic!("`{}` is not a rank", row[0]));
            names(&row[1]).into_iter().map(move |module| (module, rank))
        })
        .collect()
}

/// Every documented dependency, as the code spells it, with its homes.
fn listed_dependencies() -> BTreeMap<String, Vec<String>> {
    table("docs/dependencies.md", "crate")
        .iter()
        .map(|row| {
            let named = names(&row[0]);
            let homes = if row[1] == "everywhere" { vec![row[1].clone()] } else { names(&row[1]) };
            assert!(!homes.is_empty(), "{} has no home in docs/dependencies.md", row[0]);
            (named.first().unwrap_or_else(|| panic!("`{}` has no name", row[0])).replace('-', "_"), homes)
        })
        .collect()
}

/// All files of the library, without its root and those that only declare modules of the table.
fn sources() -> Vec<Source> {
    let src = root().join("src");
    let entries = walkdir::WalkDir::new(&src).into_iter().map(|entry| entry.expect("src can be listed").into_path());
    let sources = entries.filter(|path| path.extension().is_some_and(|extension| extension == "rs"));
    let mut files: Vec<PathBuf> =
        sources.map(|path| path.strip_prefix(&src).expect("it is below src").to_owned()).collect();
    let is_wing = |file: &Path| WINGS.iter().any(|wing| file == Path::new(wing).join("mod.rs"));
    files.retain(|file| !["lib.rs", "main.rs"].contains(&file.to_string_lossy().as_ref()) && !is_wing(file));
    files.sort();
    files.iter().map(|file| Source::read(file)).collect()
}

#[derive(Debug, Clone)]
struct Token {
    line: usize,
    text: String,
}

#[derive(Debug)]
struct Used {
    line: usize,
    dependency: String,
    /// From the dependency's name on: `tantivy::schema::Field`.
    path: String,
}

/// A source file, as tokens without comments and literals.
#[derive(Debug, Clone)]
struct Source {
    /// Its path below `src`.
    file: String,
    /// The module of the table that it belongs to.
    module: String,
    /// How many modules are around its text: 2 for `base/path.rs`, 3 for `index/local/store.rs`.
    depth: usize,
    tokens: Vec<Token>,
}

impl Source {
    fn read(file: &Path) -> Self {
        Self::new(file, &read(&format!("src/{}", file.display())))
    }

    fn new(file: &Path, text: &str) -> Self {
        let parts: Vec<String> =
            file.with_extension("").iter().map(|part| part.to_string_lossy().into_owned()).collect();
        let is_folder = parts.last().is_some_and(|part| part == "mod");
        Self {
            file: file.to_string_lossy().into_owned(),
            module: if WINGS.contains(&parts[0].as_str()) { parts[..2].join("/") } else { parts[0].clone() },
            depth: parts.len() - usize::from(is_folder),
            tokens: tokens(text),
        }
    }

    /// Whether it is the file or in the folder `home`, which is written without extension.
    fn is_in(&self, home: &str) -> bool {
        self.file.strip_prefix(home).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }

    fn text(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| &token.text)
    }

    /// The modules of the table that are named: after `crate::`, or after as many `super::` as lead there.
    fn modules_used(&self) -> Vec<Token> {
        let mut used = Vec::new();
        let tests_start = self.tests_start();
        for at in 0..self.tokens.len() {
            let before = at.checked_sub(1).map_or("", |before| self.text(before));
            match self.text(at) {
                "crate" | "memory_vault" if before != "$" && self.text(at + 1) == "::" => {
                    used.extend(self.firsts(at + 2));
                }
                "super" if before != "::" && self.text(at + 1) == "::" => {
                    let mut after = at;
                    while self.text(after) == "super" && self.text(after + 1) == "::" {
                        after += 2;
                    }
                    // Tests are in a module of their own.
                    if (after - at) / 2 >= self.depth + usize::from(at > tests_start) {
                        used.extend(self.firsts(after));
                    }
                }
                _ => {}
            }
        }
        used
    }

    /// The module at a place, or those at the beginnings of a group in braces.
    fn firsts(&self, at: usize) -> Vec<Token> {
        if WINGS.contains(&self.text(at)) {
            let wing = self.text(at);
            let named = if self.text(at + 1) == "::" { self.firsts(at + 2) } else { Vec::new() };
            let room = |room: Token| Token { text: format!("{wing}/{}", room.text), ..room };
            return named.into_iter().map(room).collect();
        }
        if self.text(at) != "{" {
            return self.tokens.get(at).cloned().into_iter().collect();
        }
        let mut firsts = Vec::new();
        let mut depth = 1;
        for at in at + 1..self.tokens.len() {
            match self.text(at) {
                "{" => depth += 1,
                "}" if depth == 1 => break,
                "}" => depth -= 1,
                "," => {}
                _ if depth == 1 && ["{", ","].contains(&self.text(at - 1)) => firsts.extend(self.firsts(at)),
                _ => {}
            }
        }
        firsts
    }

    /// The source without its tests, which may look at a store or a folder with whatever shows it best.
    fn program(&self) -> Self {
        let mut program = self.clone();
        let is_test =
            self.file.contains("/tests/") || self.file.ends_with("/tests.rs") || self.file == "base/chance.rs";
        if is_test {
            program.tokens.clear();
            return program;
        }
        program.tokens.truncate(self.tests_start());
        program
    }

    /// Where its tests begin, which come last, as clippy has it.
    fn tests_start(&self) -> usize {
        let attribute = ["#", "[", "cfg", "(", "test", ")", "]", "mod"];
        let starts = |tokens: &[Token]| {
            tokens.iter().map(|token| token.text.as_str()).take(8).eq(attribute) && tokens[9].text == "{"
        };
        self.tokens.windows(10).position(starts).unwrap_or(self.tokens.len())
    }

    fn dependencies_used(&self, listed: &BTreeMap<String, Vec<String>>) -> Vec<Used> {
        let mut used = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |before| self.text(before));
            let imported = before == "use" && [";", "as"].contains(&self.text(at + 1));
            if !listed.contains_key(&token.text)
                || [".", "::"].contains(&before)
                || !(imported || self.text(at + 1) == "::")
            {
                continue;
            }
            let mut path = token.text.clone();
            let mut next = at + 1;
            while self.text(next) == "::" && self.text(next + 1).starts_with(is_name) {
                path = format!("{path}::{}", self.text(next + 1));
                next += 2;
            }
            used.push(Used { line: token.line, dependency: token.text.clone(), path });
        }
        used
    }
}

fn is_name(character: char) -> bool {
    character.is_alphanumeric() || character == '_'
}

/// Rust as names, `::` and single characters; comments and literals are left out.
fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    flatten(text.parse().expect("a source that compiles"), &mut tokens);
    tokens
}

fn flatten(stream: TokenStream, tokens: &mut Vec<Token>) {
    let mut is_joint = false;
    for tree in stream {
        let line = tree.span().start().line;
        let was_joint = std::mem::take(&mut is_joint);
        match tree {
            TokenTree::Group(group) => {
                let [open, close] = match group.delimiter() {
                    Delimiter::Brace => ["{", "}"],
                    Delimiter::Parenthesis => ["(", ")"],
                    _ => ["[", "]"],
                };
                tokens.push(Token { line, text: open.into() });
                flatten(group.stream(), tokens);
                tokens.push(Token { line: group.span_close().start().line, text: close.into() });
            }
            TokenTree::Punct(mark) if mark.as_char() == ':' && was_joint => tokens.last_mut().unwrap().text.push(':'),
            TokenTree::Punct(mark) => {
                is_joint = mark.as_char() == ':' && mark.spacing() == Spacing::Joint;
                tokens.push(Token { line, text: mark.to_string() });
            }
            TokenTree::Ident(name) => tokens.push(Token { line, text: name.to_string() }),
            TokenTree::Literal(_) => {}
        }
    }
}
