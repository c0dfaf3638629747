//! Counts the circles between files: a file that uses another, which in the end uses it.
//!
//! A file uses another when it names something that is defined there. What a file only hands on (`pub use`) it does not
//! use, and a name that is handed on leads to where it is defined.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Source, is_name, sources};

/// The circles within one folder that may stay, each with its reason.
const ALLOWED: &[(&[&str], &str)] = &[
    (
        &["capture/drafts.rs", "capture/kept.rs", "capture/pages.rs"],
        "a draft tells the pages when it could not be written; the pages and what is kept private look at the drafts",
    ),
    (
        &[
            "engine_local/damage.rs",
            "engine_local/diff.rs",
            "engine_local/embeddings.rs",
            "engine_local/recovery.rs",
            "engine_local/snapshot.rs",
            "engine_local/store.rs",
            "engine_local/vector_sets.rs",
        ],
        "one type, `Store`, with a file for each of its tasks",
    ),
    (
        &[
            "state/agents.rs",
            "state/damage.rs",
            "state/former.rs",
            "state/key.rs",
            "state/later.rs",
            "state/read_log.rs",
            "state/store.rs",
            "state/tokens.rs",
            "state/tombstones.rs",
        ],
        "one type, `State`, with a file for each of its tasks",
    ),
    (
        &[
            "sync/awaited.rs",
            "sync/embedding.rs",
            "sync/erasing.rs",
            "sync/large.rs",
            "sync/reading.rs",
            "sync/verify.rs",
            "sync/watching.rs",
            "sync/worker.rs",
        ],
        "one type, `Worker`, with a file for each of its tasks",
    ),
    (&["vault/home.rs", "vault/lock.rs"], "a home is locked, and a lock looks whether the home is still the one"),
];

#[test]
fn files_go_round_in_no_circles() {
    let sources: Vec<Source> = sources().iter().map(Source::program).collect();
    let uses = uses(&sources);
    let circles = circles(&uses);
    let allowed: BTreeSet<Vec<String>> =
        ALLOWED.iter().map(|(files, _)| files.iter().map(|file| (*file).to_owned()).collect()).collect();
    let mut wrong = Vec::new();
    for circle in circles.iter().filter(|circle| folders(circle).len() > 1 || !allowed.contains(*circle)) {
        let ties = circle.iter().flat_map(|file| {
            let inside = uses[file].iter().filter(|(to, _)| circle.contains(to));
            inside.map(move |(to, names)| format!("\n  {file} -> {to}: {}", Vec::from_iter(names.clone()).join(", ")))
        });
        wrong.push(ties.collect::<String>());
    }
    assert!(wrong.is_empty(), "{} circles, and what ties each:\n{}", wrong.len(), wrong.join("\n"));
    // A circle that is gone would leave room for another one.
    let gone: Vec<&Vec<String>> = allowed.iter().filter(|circle| !circles.contains(*circle)).collect();
    assert_eq!(gone, Vec::<&Vec<String>>::new(), "no circles any more: take them off the list");
}

/// What may be misread.
#[test]
fn what_a_file_uses_is_found_through_what_others_hand_on() {
    let source = |(file, code): &(&str, &str)| Source::new(file.as_ref(), code);
    let used = |files: &[(&str, &str)]| -> Vec<(String, Vec<String>)> {
        let uses = uses(&files.iter().map(source).collect::<Vec<_>>());
        uses.into_iter().map(|(file, used)| (file, used.into_keys().collect())).collect()
    };
    let rest = [("a/mod.rs", "mod x; mod y; pub use x::{X, Y as Z}; pub struct Own;"), ("a/x.rs", ""), ("a/y.rs", "")];
    for (code, expected) in [
        ("use crate::a::{X, Own};", &["a/mod.rs", "a/x.rs"][..]),
        ("use crate::a; fn f(z: a::Z) {}", &["a/x.rs"]),
        ("fn f() { crate::a::y::g() }", &["a/y.rs"]),
        ("use crate::a as b; use std::{a, fmt as x}; fn f() { b::g(); x::h(); a::Z::i() }", &["a/mod.rs"]),
        ("mod inner { use super::super::a::Z; }", &["a/x.rs"]),
    ] {
        let mut files = rest.to_vec();
        files.push(("b.rs", code));
        let found = used(&files);
        let (none, b) = found.split_at(3);
        assert!(none.iter().all(|(_, used)| used.is_empty()), "{none:?}");
        assert_eq!(b[0].1, expected, "{code}");
    }
    let uses = [("a", vec!["b"]), ("b", vec!["c"]), ("c", vec!["b", "d"]), ("d", vec![])];
    let uses =
        uses.map(|(from, to)| (from.to_owned(), to.iter().map(|to| ((*to).to_owned(), BTreeSet::new())).collect()));
    assert_eq!(circles(&uses.into()), [["b", "c"].map(str::to_owned).to_vec()].into());
}

/// For each file, the files that it uses, and by which names.
type Uses = BTreeMap<String, BTreeMap<String, BTreeSet<String>>>;

fn uses(sources: &[Source]) -> Uses {
    let map = Map { files: sources.iter().map(|source| (module(&source.file), File::of(source))).collect() };
    let mut uses = Uses::new();
    for (module, file) in &map.files {
        let used = uses.entry(file.name.clone()).or_default();
        let private = file.imports.iter().filter(|import| !import.is_handed_on || file.mentions.contains(&import.name));
        let imported = private.map(|import| import.path.clone());
        for path in imported.chain(file.paths.iter().cloned()) {
            if let Some(to) = map.home(module, &path, 0).filter(|to| *to != file.name) {
                used.entry(to).or_default().insert(path.last().cloned().unwrap_or_default());
            }
        }
    }
    uses
}

/// The sets of files each of which leads to all others of its set.
fn circles(uses: &Uses) -> BTreeSet<Vec<String>> {
    let reached = |from: &String| {
        let mut reached = BTreeSet::new();
        let mut next: Vec<&String> = uses[from].keys().collect();
        while let Some(file) = next.pop() {
            if reached.insert(file) {
                next.extend(uses[file].keys());
            }
        }
        reached
    };
    let reached: BTreeMap<&String, BTreeSet<&String>> = uses.keys().map(|file| (file, reached(file))).collect();
    let around = uses.keys().filter(|file| reached[file].contains(file));
    let circle =
        |file: &String| reached[file].iter().filter(|to| reached[**to].contains(file)).copied().cloned().collect();
    around.map(circle).collect()
}

/// The folders of some files. A file `x.rs` that has a folder `x` belongs to it, as `x/mod.rs` does.
fn folders(files: &[String]) -> BTreeSet<String> {
    let src = crate::root().join("src");
    let folder = |file: &String| {
        let own = file.trim_end_matches(".rs");
        let parent = file.rsplit_once('/').map_or("", |(parent, _)| parent);
        if src.join(own).is_dir() { own.to_owned() } else { parent.to_owned() }
    };
    files.iter().map(folder).collect()
}

/// Names that lead to names. The compiler refuses those that never end; this is for what is misread.
const MAX_STEPS: usize = 8;

/// A path of names, from the crate's root on.
type Names = Vec<String>;

/// `a::b` of `a/b.rs` and of `a/b/mod.rs`.
fn module(file: &str) -> Names {
    let names = file.trim_end_matches(".rs").trim_end_matches("/mod");
    names.split('/').map(str::to_owned).collect()
}

/// All files, by their modules.
struct Map {
    files: BTreeMap<Names, File>,
}

impl Map {
    /// The file in which is defined what a path means in a module; nothing when that is a module, or outside.
    fn home(&self, within: &Names, path: &[String], steps: usize) -> Option<String> {
        let path = self.absolute(within, path, steps)?;
        let mut module = Names::new();
        for (at, name) in path.iter().enumerate() {
            let handed_on = self.files.get(&module).and_then(|file| {
                let import = file.imports.iter().find(|import| import.name == *name)?;
                let is_last = at + 1 == path.len();
                (is_last || !self.is_module(&module, name)).then(|| [&import.path[..], &path[at + 1..]].concat())
            });
            if let Some(handed_on) = handed_on.filter(|_| steps < MAX_STEPS) {
                return self.home(&module, &handed_on, steps + 1);
            }
            if !self.is_module(&module, name) {
                return self.files.get(&module).map(|file| file.name.clone());
            }
            module.push(name.clone());
        }
        None
    }

    fn is_module(&self, module: &Names, child: &String) -> bool {
        self.files.contains_key(&[&module[..], std::slice::from_ref(child)].concat())
    }

    /// A path that starts with `crate`, `self`, `super`, a module of this one, or an import that is one.
    fn absolute(&self, within: &Names, path: &[String], steps: usize) -> Option<Names> {
        let first = path.first()?;
        match first.as_str() {
            "crate" | "memory_vault" => Some(path[1..].to_vec()),
            "self" => Some([&within[..], &path[1..]].concat()),
            "super" => {
                let up = path.iter().take_while(|name| *name == "super").count();
                Some([within.get(..within.len().checked_sub(up)?)?, &path[up..]].concat())
            }
            _ if self.is_module(within, first) => Some([&within[..], path].concat()),
            _ => {
                let import = self.files.get(within)?.imports.iter().find(|import| import.name == *first)?;
                let leads_on = steps < MAX_STEPS && import.path.first() != Some(first);
                leads_on.then(|| self.absolute(within, &[&import.path[..], &path[1..]].concat(), steps + 1))?
            }
        }
    }
}

/// A name that a file has from elsewhere.
struct Import {
    name: String,
    path: Names,
    /// Whether others may take it from here.
    is_handed_on: bool,
}

/// What a file names.
struct File {
    name: String,
    imports: Vec<Import>,
    /// The paths outside of imports.
    paths: BTreeSet<Names>,
    /// All names outside of imports.
    mentions: BTreeSet<String>,
}

impl File {
    fn of(source: &Source) -> Self {
        let mut file =
            Self { name: source.file.clone(), imports: Vec::new(), paths: BTreeSet::new(), mentions: BTreeSet::new() };
        // A module within the file is read as part of it, with a `super` less.
        let (mut braces, mut inline) = (0, Vec::new());
        let mut at = 0;
        while at < source.tokens.len() {
            let before = at.checked_sub(1).map_or("", |before| source.text(before));
            let text = source.text(at);
            match text {
                "{" => {
                    braces += 1;
                    if at >= 2 && source.text(at - 2) == "mod" {
                        inline.push(braces);
                    }
                }
                "}" => {
                    inline.pop_if(|depth| *depth == braces);
                    braces -= 1;
                }
                _ => {}
            }
            // `use<>` is a bound.
            if text == "use" && before != "$" && source.text(at + 1) != "<" {
                let is_handed_on = before == "pub" || before == ")";
                at = file.import(source, at + 1, &Names::new(), is_handed_on, inline.len());
            } else if text.starts_with(is_name) && ![".", "$", "'"].contains(&before) {
                file.mentions.insert(text.to_owned());
                let mut path = vec![text.to_owned()];
                while source.text(at + 1) == "::" && source.text(at + 2).starts_with(is_name) {
                    at += 2;
                    path.push(source.text(at).to_owned());
                }
                if path.len() > 1 && before != "::" {
                    file.paths.insert(without_supers(path, inline.len()));
                }
            }
            at += 1;
        }
        file
    }

    /// Reads a tree of imports; gives the place after it.
    fn import(&mut self, source: &Source, mut at: usize, above: &Names, is_handed_on: bool, inline: usize) -> usize {
        let mut path = above.clone();
        loop {
            match source.text(at) {
                "::" => at += 1,
                "{" => {
                    at += 1;
                    while source.text(at) != "}" && at < source.tokens.len() {
                        at = self.import(source, at, &path, is_handed_on, inline);
                        at += usize::from(source.text(at) == ",");
                    }
                    return at + 1;
                }
                "," | ";" | "}" | "" => break,
                "as" => {
                    let name = source.text(at + 1).to_owned();
                    self.imports.push(Import { name, path: without_supers(path, inline), is_handed_on });
                    return at + 2;
                }
                name => {
                    path.push(name.to_owned());
                    at += 1;
                }
            }
        }
        path.pop_if(|last| last == "self" && !above.is_empty());
        if let Some(name) = path.last().cloned() {
            self.imports.push(Import { name, path: without_supers(path, inline), is_handed_on });
        }
        at
    }
}

fn without_supers(mut path: Names, inline: usize) -> Names {
    let supers = path.iter().take_while(|name| *name == "super").count().min(inline);
    path.drain(..supers);
    path
}
