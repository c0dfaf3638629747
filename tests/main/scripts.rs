//! Notes in sixteen scripts, of `tests/scripts`: what people call them and write in them is found, however their words are parted.
//!
//! There a note is a heading and a paragraph. `|` in the heading says where its first word ends, if no blank does; `*` stand around a
//! word of the paragraph, as somebody who reads the script would look for it.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use memory_vault::config::Mode;

use crate::support::TestVault;

const PER_SCRIPT: usize = 20;

struct Written {
    path: String,
    title: String,
    /// The title without its first word.
    rest: String,
    body: String,
    /// A word out of the midst of the body.
    word: String,
}

struct Script {
    name: String,
    notes: Vec<Written>,
}

/// The scripts by name. A note's file is called by a number, so that it is no help.
fn scripts() -> Vec<Script> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scripts");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files.iter().map(|file| script(&fs::read_to_string(file).unwrap())).collect()
}

fn script(text: &str) -> Script {
    let (name, notes) = text.strip_prefix("# ").and_then(|text| text.split_once('\n')).expect("a name");
    let notes = notes.split("\n## ").skip(1).enumerate().map(|(at, note)| {
        let (title, body) = note.split_once('\n').expect("a heading and a paragraph");
        let (_, rest) = title.split_once('|').or_else(|| title.split_once(' ')).expect("a title of two words");
        let word = body.split('*').nth(1).expect("a word between `*`");
        Written {
            path: format!("notes/{name}/{at}.md"),
            title: title.replace('|', ""),
            rest: rest.to_owned(),
            body: body.trim().replace('*', ""),
            word: word.to_owned(),
        }
    });
    Script { name: name.to_owned(), notes: notes.collect() }
}

/// By which parts of its notes, as `of` gives them, a script's notes are not among the first so many.
fn missed<'a>(
    vault: &TestVault,
    script: &'a Script,
    mode: Mode,
    of: fn(&Written) -> &str,
    first: usize,
) -> Vec<&'a str> {
    let missed = script.notes.iter().filter(|note| {
        let found = vault.search_by(mode, of(note));
        let mut seen = HashSet::new();
        let mut notes = found.paths().into_iter().filter(|path| seen.insert(*path)).take(first);
        !notes.any(|path| path == note.path)
    });
    missed.map(|note| of(note)).collect()
}

#[test]
fn notes_are_found_in_every_script() {
    let scripts = scripts();
    assert!(scripts.len() >= 15, "{} scripts", scripts.len());
    let mut vault = TestVault::new();
    for note in scripts.iter().flat_map(|script| &script.notes) {
        vault.write(&note.path, format!("# {}\n\n{}\n", note.title, note.body));
    }
    vault.sync();
    let title: fn(&Written) -> &str = |note| &note.title;
    let rest: fn(&Written) -> &str = |note| &note.rest;
    let word: fn(&Written) -> &str = |note| &note.word;
    let tried = [
        ("title first, words", Mode::Keyword, title, 1, 19),
        ("title first, hybrid", Mode::Hybrid, title, 1, 19),
        ("title without its first word in 5, words", Mode::Keyword, rest, 5, 18),
        ("title without its first word in 5, hybrid", Mode::Hybrid, rest, 5, 18),
        ("word of the text in 10, words", Mode::Keyword, word, 10, 19),
    ];
    let mut failed = String::new();
    println!("| script | {} |", tried.map(|(what, ..)| what).join(" | "));
    for script in &scripts {
        assert_eq!(script.notes.len(), PER_SCRIPT, "{}", script.name);
        let mut counts = Vec::new();
        for (what, mode, of, first, wanted) in tried {
            let missed = missed(&vault, script, mode, of, first);
            let found = PER_SCRIPT - missed.len();
            counts.push(found.to_string());
            if found < wanted {
                failed += &format!("\n{}, {what}: {found} of {PER_SCRIPT}, and not {missed:?}", script.name);
            } else if found < PER_SCRIPT {
                eprintln!("{}, {what}: not {missed:?}", script.name);
            }
        }
        println!("| {} | {} |", script.name, counts.join(" | "));
    }
    assert!(failed.is_empty(), "{failed}");
}
