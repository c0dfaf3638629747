//! The short form of fuzzing: the inputs that are kept, and some made of them.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::prelude::*;

#[path = "../../fuzz/src/lib.rs"]
pub mod properties;

/// Inputs made of those that are kept.
const MADE: u64 = 2000;
/// What means something to a parser.
const SIGNS: &[u8] = b" \n\r\t#-+:\"'[]{}|%&<>`*=,\\\0";

/// Tries the property on the corpus of the fuzz target of the same name.
fn replay(target: &str, holds: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let kept: Vec<Vec<u8>> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let mut failed = Vec::new();
    let mut hold = |what: &str, data: &[u8]| {
        if catch_unwind(AssertUnwindSafe(|| holds(data))).is_err() {
            failed.push(format!("{what}: b\"{}\"", data.escape_ascii()));
        }
    };
    files.iter().zip(&kept).for_each(|(file, data)| hold(&file.display().to_string(), data));
    (0..MADE).for_each(|seed| hold("made", &made(&kept, &mut Random::new(seed))));
    assert!(failed.is_empty(), "{} inputs fail, as the messages above say:\n{}", failed.len(), failed.join("\n"));
}

/// One of the inputs with pieces of others in it, of itself twice, missing, or changed.
fn made(kept: &[Vec<u8>], dice: &mut Random) -> Vec<u8> {
    let mut data = kept[dice.below(kept.len())].clone();
    for _ in 0..=dice.below(4) {
        let at = dice.below(data.len() + 1);
        match dice.below(5) {
            0 => drop(data.splice(at..at, piece(&kept[dice.below(kept.len())], dice))),
            1 => drop(data.splice(at..at, piece(&data.clone(), dice))),
            2 => drop(data.drain(at..data.len().min(at + 1 + dice.below(16)))),
            3 => data.insert(at, SIGNS[dice.below(SIGNS.len())]),
            _ => data.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << dice.below(8)),
        }
    }
    data
}

fn piece(from: &[u8], dice: &mut Random) -> Vec<u8> {
    let start = dice.below(from.len() + 1);
    from[start..from.len().min(start + 1 + dice.below(40))].to_owned()
}

#[test]
fn frontmatter_is_read_or_refused() {
    replay("frontmatter", properties::frontmatter);
}

#[test]
fn any_text_is_a_note_and_its_passages_cover_it() {
    replay("note", properties::note);
}

#[test]
fn any_document_is_read_or_refused() {
    replay("document", properties::document);
}

#[test]
fn a_query_is_never_an_error() {
    let vault = properties::Vault::new();
    replay("query", |data| properties::query(&vault, data));
}

#[test]
fn a_configuration_is_refused_or_says_the_same_when_written_down() {
    replay("config", properties::config);
}

#[test]
fn the_api_never_fails() {
    let vault = properties::Vault::new();
    replay("api", |data| properties::api(&vault, data));
}
