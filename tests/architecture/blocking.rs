//! Nothing that can block runs on the threads that run tasks: what waits for a disk, or for another process, there holds up every
//! request, `/health` too, and a stop. It goes on a thread that may block.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::{Source, read, sources};

/// The modules that have asynchronous code.
const MODULES: [&str; 4] = ["api", "cli", "daemon", "mcp"];

/// What a file may do all the same, each with its reason.
const ALLOWED: &[(&str, &str, &str)] = &[];

/// What runs the code that it is given elsewhere.
const ELSEWHERE: [&str; 3] = ["spawn_blocking", "blocking", "thread::spawn"];

/// Methods of paths that look at a disk.
const OF_PATHS: [&str; 10] = [
    "canonicalize",
    "exists",
    "is_dir",
    "is_file",
    "is_symlink",
    "metadata",
    "read_dir",
    "read_link",
    "symlink_metadata",
    "try_exists",
];

/// What the place of a vault tells without looking at a disk.
const OF_A_HOME: [&str; 4] = ["clone", "owner_token_file", "root", "state_dir"];

/// Functions that look at a disk, or wait for something else.
const FUNCTIONS: [&str; 10] = [
    "Config::load",
    "Daemon::start",
    "Daemon::start_locally",
    "Home::find",
    "Home::open",
    "ask_host",
    "block_on",
    "listen_locally",
    "thread::sleep",
    "to_socket_addrs",
];

#[test]
fn nothing_that_blocks_runs_where_tasks_run() {
    let of_files = functions_of_files();
    let (mut wrong, mut used) = (BTreeSet::new(), BTreeSet::new());
    for source in sources().iter().map(Source::program).filter(|source| MODULES.contains(&source.module.as_str())) {
        for (line, what) in blocking(&source, &of_files) {
            match ALLOWED.iter().find(|(file, call, _)| *file == source.file && *call == what) {
                Some(allowed) => drop(used.insert(allowed)),
                None => drop(wrong.insert(format!("src/{}:{line}: {what}", source.file))),
            }
        }
    }
    assert_eq!(wrong, BTreeSet::new(), "call it in `spawn_blocking`");
    assert_eq!(used.len(), ALLOWED.len(), "take off the list what is not done any more");
}

/// What may be misread.
#[test]
fn what_blocks_is_told_from_what_does_not() {
    let of_files = functions_of_files();
    let found = |code: &str| -> Vec<String> {
        blocking(&Source::new("daemon/a.rs".as_ref(), code), &of_files).into_iter().map(|(_, what)| what).collect()
    };
    for (code, what) in [
        ("async fn f() { std::fs::read(path); }", "fs::read"),
        ("async fn f(path: &Path) -> bool { path.exists() }", "exists"),
        ("fn f() { spawn(async move { app.home().daemon(); }); }", "home.daemon"),
        ("fn f() { get(async || File::open(path)); }", "File::open"),
        ("fn f() { get(|| async { crate::fs::write_atomically(a, b, 0) }); }", "fs::write_atomically"),
        ("async fn f() { create_private_dir(path); }", "create_private_dir"),
        ("async fn f() { Config::load(root); }", "Config::load"),
        ("async fn f() { g(); } fn g() { h(); } fn h() { path.metadata(); }", "g"),
        ("struct S; impl S { async fn f(&self) { self.g(); } fn g(&self) { home.lock(); } }", "g"),
        ("async fn f() { let look = || path.exists(); spawn_blocking(other); }", "exists"),
    ] {
        assert_eq!(found(code), [what], "{code}");
    }
    for code in [
        "fn f() { std::fs::read(path); } async fn g() { asks().await; }",
        "async fn f() { spawn_blocking(move || std::fs::read(path)).await; }",
        "async fn f() { let look = move || { path.exists() }; spawn_blocking(look).await; }",
        "async fn f() { std::thread::spawn(move || g()); } fn g() { path.exists(); }",
        "async fn f() { spawn_blocking(move || g()).await; } fn g() { path.exists(); }",
        "async fn f() { home.root(); home.clone(); state.lock(); note.metadata; }",
        "async fn f() { other.g(); x::g(); } impl S { fn g(&self) { path.exists(); } }",
    ] {
        assert!(found(code).is_empty(), "{code}: {:?}", found(code));
    }
}

/// The functions of the module of file operations.
fn functions_of_files() -> BTreeSet<String> {
    let source = Source::new("fs.rs".as_ref(), &read("src/fs.rs")).program();
    let after_fn = source.tokens.windows(2).filter(|pair| pair[0].text == "fn");
    after_fn.map(|pair| pair[1].text.clone()).filter(|name| name != "on").collect()
}

/// A function that is no task.
struct Function {
    name: String,
    is_method: bool,
    body: Range<usize>,
}

/// What blocks in the asynchronous code of a file, with its lines; also by a function of the same file.
fn blocking(source: &Source, of_files: &BTreeSet<String>) -> BTreeSet<(usize, String)> {
    let (tasks, functions, away) = (tasks(source), functions(source), elsewhere(source));
    let is_away = |at: usize| away.iter().any(|range| range.contains(&at));
    let mut blocks: Vec<bool> = functions
        .iter()
        .map(|function| function.body.clone().any(|at| !is_away(at) && direct(source, at, of_files).is_some()))
        .collect();
    let calls = |at: usize, blocks: &[bool]| {
        let called = functions.iter().zip(blocks).find(|(function, blocks)| **blocks && is_call(source, at, function));
        called.map(|(function, _)| function.name.clone())
    };
    loop {
        let next: Vec<bool> = functions
            .iter()
            .zip(&blocks)
            .map(|(function, known)| {
                *known || function.body.clone().any(|at| !is_away(at) && calls(at, &blocks).is_some())
            })
            .collect();
        if next == blocks {
            break;
        }
        blocks = next;
    }
    let places = tasks.into_iter().flatten().filter(|at| !is_away(*at));
    let found = places.filter_map(|at| {
        let what = direct(source, at, of_files).or_else(|| calls(at, &blocks))?;
        Some((source.tokens[at].line, what))
    });
    found.collect()
}

/// What blocks by its name.
fn direct(source: &Source, at: usize, of_files: &BTreeSet<String>) -> Option<String> {
    let (name, next) = (source.text(at), source.text(at + 1));
    let before = |offset: usize| at.checked_sub(offset).map_or("", |at| source.text(at));
    let is_method = before(1) == ".";
    match next {
        "::" if name == "File" || (name == "fs" && before(2) != "tokio") => {
            Some(format!("{name}::{}", source.text(at + 2)))
        }
        "(" if is_method => {
            let of_home = before(2) == "home" || (before(2) == ")" && before(3) == "(" && before(4) == "home");
            if of_home && !OF_A_HOME.contains(&name) {
                return Some(format!("home.{name}"));
            }
            (OF_PATHS.contains(&name) || FUNCTIONS.contains(&name)).then(|| name.to_owned())
        }
        "(" => {
            let whole = if before(1) == "::" { format!("{}::{name}", before(2)) } else { name.to_owned() };
            let is_free = before(1) != "::" && before(1) != "fn" && of_files.contains(name);
            (is_free || FUNCTIONS.contains(&whole.as_str())).then_some(whole)
        }
        _ => None,
    }
}

/// Whether a function of the same file is called there: by its name alone, of `Self`, or of `self`.
fn is_call(source: &Source, at: usize, function: &Function) -> bool {
    let before = |offset: usize| at.checked_sub(offset).map_or("", |at| source.text(at));
    source.text(at) == function.name
        && source.text(at + 1) == "("
        && match before(1) {
            "fn" => false,
            "." => function.is_method && before(2) == "self",
            "::" => before(2) == "Self",
            _ => !function.is_method,
        }
}

/// The bodies of asynchronous functions, blocks and closures.
fn tasks(source: &Source) -> Vec<Range<usize>> {
    let starts = (0..source.tokens.len()).filter(|at| source.text(*at) == "async");
    starts.filter_map(|at| task(source, at)).collect()
}

fn task(source: &Source, at: usize) -> Option<Range<usize>> {
    let mut next = at + 1;
    if source.text(next) == "fn" {
        return body(source, next);
    }
    if source.text(next) == "move" {
        next += 1;
    }
    if source.text(next) == "|" {
        next = (next + 1..source.tokens.len()).find(|at| source.text(*at) == "|")? + 1;
        return Some(next..end_of_value(source, next));
    }
    (source.text(next) == "{").then(|| next..closing(source, next))
}

/// The functions of a file that are no tasks.
fn functions(source: &Source) -> Vec<Function> {
    let names = (0..source.tokens.len()).filter(|at| {
        // Not the type of a pointer to one.
        let is_named = source.text(*at) == "fn" && source.text(at + 1) != "(";
        is_named && at.checked_sub(1).is_none_or(|before| source.text(before) != "async")
    });
    let found = names.filter_map(|at| {
        let body = body(source, at)?;
        let open = (at..body.start).find(|at| source.text(*at) == "(")?;
        let is_method = (open..closing(source, open)).any(|at| source.text(at) == "self");
        Some(Function { name: source.text(at + 1).to_owned(), is_method, body })
    });
    found.collect()
}

/// The code that runs on another thread: what is given to [`ELSEWHERE`], there or by the name of a closure.
fn elsewhere(source: &Source) -> Vec<Range<usize>> {
    let mut away = Vec::new();
    for at in 0..source.tokens.len() {
        let path = match at.checked_sub(2) {
            Some(before) if source.text(at - 1) == "::" && source.text(before) == "thread" => "thread::spawn",
            _ => source.text(at),
        };
        let runs = ELSEWHERE.contains(&path) && path.ends_with(source.text(at)) && source.text(at + 1) == "(";
        if !runs || at.checked_sub(1).is_some_and(|before| source.text(before) == "fn") {
            continue;
        }
        let given = at + 1..closing(source, at + 1);
        if given.len() == 3 {
            let name = source.text(at + 2);
            let declared = (0..at).rev().find(|at| source.text(*at) == "let" && source.text(at + 1) == name);
            away.extend(declared.map(|declared| declared..end_of_value(source, declared)));
        }
        away.push(given);
    }
    away
}

/// The body of a function, in braces.
fn body(source: &Source, at: usize) -> Option<Range<usize>> {
    let mut next = at;
    loop {
        next = match source.text(next) {
            "" | ";" => return None,
            "{" => return Some(next..closing(source, next)),
            "(" | "[" => closing(source, next),
            _ => next + 1,
        };
    }
}

/// The place after what closes a bracket.
fn closing(source: &Source, open: usize) -> usize {
    let mut depth = 0;
    for at in open..source.tokens.len() {
        match source.text(at) {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at + 1;
        }
    }
    source.tokens.len()
}

/// The place after a value: before the comma, the semicolon or the bracket that ends it.
fn end_of_value(source: &Source, start: usize) -> usize {
    let mut at = start;
    loop {
        at = match source.text(at) {
            "" | ";" | "," | ")" | "]" | "}" => return at,
            "(" | "[" | "{" => closing(source, at),
            _ => at + 1,
        };
    }
}
