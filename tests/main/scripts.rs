//! Notes in sixteen scripts, of `tests/scripts`: what people call them and write in them is found, however their words are parted.
//!
//! There a note is a heading and a paragraph. `|` in the heading says where its first word ends, if no blank does; `*` stand around a
//! word of the paragraph, as somebody who reads the script would look for it.

use std::collections::HashSet;

use crate::support::prelude::*;

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
    missed.map(of).collect()
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
    for script in &scripts {
        assert_eq!(script.notes.len(), PER_SCRIPT, "{}", script.name);
        for (what, mode, of, first, wanted) in tried {
            let missed = missed(&vault, script, mode, of, first);
            let found = PER_SCRIPT - missed.len();
            if found < wanted {
                failed += &format!("\n{}, {what}: {found} of {PER_SCRIPT}, and not {missed:?}", script.name);
            }
        }
    }
    assert!(failed.is_empty(), "{failed}");
}

#[test]
fn a_noun_was_not_found_for_the_particle_after_it() {
    let mut vault = TestVault::new().with("notes/soup.md", "# 국\n\n할머니는 꼭 멸치로 육수를 내셨다.\n");
    vault.write("notes/book.md", "# 일기\n\n오늘은 책을 읽었다.\n").sync();
    assert_eq!(vault.words("멸치 곰국").paths(), ["notes/soup.md"]);
    assert_eq!(vault.words("+육수").paths(), ["notes/soup.md"]);
    assert_eq!(vault.words("책").paths(), ["notes/book.md"]);
}

#[test]
fn a_word_of_one_sign_was_never_found() {
    let mut vault = TestVault::new().with("notes/roof.md", "# 屋根\n\n大工さんは瓦が割れていると言った。\n");
    vault.write("notes/books.md", "# 暑假\n\n给孩子买几本有趣的书。\n").sync();
    assert_eq!(vault.words("瓦").paths(), ["notes/roof.md"]);
    assert_eq!(vault.words("书").paths(), ["notes/books.md"]);
    assert_eq!(vault.words("+书 孩子").paths(), ["notes/books.md"]);
}

#[test]
fn half_a_word_with_marks_on_its_letters_did_not_go_on() {
    let mut vault = TestVault::new().with("notes/tamil.md", "# சாம்பார்\n\nகடைசியில் பெருங்காயம் சேர்க்கவும்.\n");
    vault.write("notes/hindi.md", "# बैठक\n\nकल विद्यालय जाना है।\n").sync();
    assert_eq!(vault.words("பெருங்").paths(), ["notes/tamil.md"]);
    assert_eq!(vault.words("विद्या").paths(), ["notes/hindi.md"]);
    assert_eq!(vault.words("विद्* x").paths(), ["notes/hindi.md"]);
}
