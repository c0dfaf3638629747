//! Notes that are called what was typed.

use jiff::Timestamp;

use super::super::{SearchRequest, Visible, search};
use crate::access::rules::Turn;
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileUpdate, Filter};

const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// A search by words.
pub(super) fn asked(text: &str, limit: usize) -> SearchRequest {
    SearchRequest {
        parts: Vec::new(),
        text: text.into(),
        mode: Mode::Keyword,
        limit,
        filter: Filter::default(),
        at: Timestamp::UNIX_EPOCH,
        min_relevance: None,
        context: None,
        turn: Turn::default(),
    }
}

#[test]
fn which_of_many_comes_first_does_not_depend_on_when_each_was_indexed() {
    // All of the first places by words are of notes that are called otherwise.
    let others = (0..12).map(|at| (format!("notes/{at}.md"), "# Metal\n\nrust rust rust rust\n".to_owned()));
    let mut notes: Vec<(String, String)> = others.collect();
    for (folder, text) in
        [("a", "iron stands in the rain for years, and nobody cares"), ("b", "rust"), ("c", "rust"), ("d", "")]
    {
        notes.push((format!("{folder}/rust.md"), format!("# Rust\n\nIt is a long way. {text}\n")));
    }
    let found = |notes: &[(String, String)]| -> Vec<String> {
        let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
        for (path, text) in notes {
            writer.apply(vec![FileUpdate::of_text(path, text, LANGUAGE)], Vec::new()).unwrap();
        }
        let reader = writer.publish().unwrap();
        let visible = Visible::of(&crate::access::rules::Scope::Everything, reader.files());
        let request = asked("rust", 3);
        let config = SearchConfig { candidates: 3, ..SearchConfig::default() };
        let found = search(reader.as_ref(), None, &visible, &config, &request).unwrap();
        found.hits.iter().map(|hit| hit.file.path.to_string()).collect()
    };
    let first = found(&notes);
    assert_eq!(first.len(), 3);
    assert_eq!(first[..2], ["b/rust.md", "c/rust.md"]);
    notes.reverse();
    assert_eq!(found(&notes), first);
}

#[test]
fn a_note_that_is_hidden_does_not_take_the_name_of_one_that_is_seen() {
    let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
    let notes = [
        ("notes/Kiln repair manual.md", "It is long."),
        ("notes/b.md", "The kiln repair, a kiln repair."),
        ("hidden/Kiln repairs.md", "Mine."),
    ];
    let updates = notes.map(|(path, text)| FileUpdate::of_text(path, text, LANGUAGE));
    writer.apply(updates.into(), Vec::new()).unwrap();
    let reader = writer.publish().unwrap();
    let found = |visible: &Visible| -> Vec<(String, Option<f64>)> {
        let request = asked("kiln repair", 9);
        let found = search(reader.as_ref(), None, visible, &SearchConfig::default(), &request).unwrap();
        found.hits.iter().map(|hit| (hit.file.path.to_string(), hit.relevance)).collect()
    };
    let files = reader.files();
    let seen = files.iter().filter(|file| !file.path.as_str().starts_with("hidden/")).map(|file| file.id);
    let seen = found(&Visible::only(seen.collect()));
    assert_eq!(seen[0].0, "notes/Kiln repair manual.md");
    assert!(seen[0].1 >= Some(0.5) && seen.len() == 2, "{seen:?}");
    let all = found(&Visible::of(&crate::access::rules::Scope::Everything, files));
    assert_eq!(all[0].0, "hidden/Kiln repairs.md", "the shorter name is nearer to what was typed");
}

/// "car" is the stem of the word, and begins the name of somebody who has nothing to do with it.
#[test]
fn the_short_stem_of_a_whole_word_is_not_the_beginning_of_a_name() {
    let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
    let notes = [("people/Carla Weber.md", "A friend."), ("notes/old.md", "Old cars rust, and a car is a car.")];
    let updates = notes.map(|(path, text)| FileUpdate::of_text(path, text, LANGUAGE));
    writer.apply(updates.into(), Vec::new()).unwrap();
    let reader = writer.publish().unwrap();
    let visible = Visible::of(&crate::access::rules::Scope::Everything, reader.files());
    let first = |text: &str| {
        let request = asked(text, 3);
        let found = search(reader.as_ref(), None, &visible, &SearchConfig::default(), &request).unwrap();
        found.hits.first().map(|hit| hit.file.path.to_string())
    };
    assert_eq!(first("cars").as_deref(), Some("notes/old.md"));
    assert_eq!(first("carla").as_deref(), Some("people/Carla Weber.md"));
}
