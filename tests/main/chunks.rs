//! Chunks of notes as people write them: what an insertion changes, what the spans cover.

use std::collections::HashMap;

use memory_vault::chunk::{Chunk, chunk, token_estimate};
use memory_vault::note::Note;
use memory_vault::path::VaultPath;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::support::cases;

fn words(count: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    prop::collection::vec("[a-z]{1,9}|[A-Z][a-z]{2,8}|[0-9]{1,4}|caf\u{e9}|\u{6771}\u{4eac}|naïve,", count)
        .prop_map(|words| words.join(" "))
}

fn paragraph() -> impl Strategy<Value = String> {
    prop_oneof![words(1..30), words(20..90), prop::collection::vec(words(5..20), 1..8).prop_map(|all| all.join(". "))]
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => paragraph(),
        2 => (1usize..4, words(1..6)).prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        1 => prop::collection::vec(words(1..25), 1..8).prop_map(|items| format!("- {}", items.join("\n- "))),
        1 => prop::collection::vec(words(1..12), 1..20).prop_map(|lines| format!("```\n{}\n```", lines.join("\n"))),
        1 => words(3..30).prop_map(|text| format!("> {text}")),
        1 => words(1..9).prop_map(|text| format!("%%{text}%%")),
        1 => words(2..5).prop_map(|text| format!("| a | b |\n|---|---|\n| {text} | x |")),
    ]
}

fn cut(text: &str) -> (Note, Vec<Chunk>) {
    let note = Note::parse(text, "a");
    let chunks = chunk(&VaultPath::new("notes/a.md").unwrap(), &note, text);
    (note, chunks)
}

/// How many of `one` are not in `other`, repeats counted.
fn missing(one: &[Chunk], other: &[Chunk]) -> usize {
    let mut count: HashMap<(&[String], &str), isize> = HashMap::new();
    for chunk in other {
        *count.entry((&chunk.heading_path, &chunk.text)).or_default() += 1;
    }
    for chunk in one {
        *count.entry((&chunk.heading_path, &chunk.text)).or_default() -= 1;
    }
    count.values().filter(|left| **left < 0).map(|left| left.unsigned_abs()).sum()
}

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: cases(200),
        rng_seed: RngSeed::Fixed(7),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn one_inserted_paragraph_changes_at_most_three_chunks(
        blocks in prop::collection::vec(block(), 1..50),
        // A longer one is more than one passage by itself.
        more in paragraph().prop_filter("fits a chunk", |text| token_estimate(text) <= 128),
        at in any::<prop::sample::Index>(),
    ) {
        let before = blocks.join("\n\n");
        let mut after = blocks.clone();
        after.insert(at.index(blocks.len() + 1), more);
        let (before, after) = (cut(&before).1, cut(&after.join("\n\n")).1);
        prop_assert!(missing(&after, &before) <= 3, "{} new chunks", missing(&after, &before));
    }

    #[test]
    fn spans_cover_the_body_and_lines_are_those_of_the_file(
        blocks in prop::collection::vec(block(), 0..30),
        front in prop_oneof![Just(""), Just("---\ntitle: x\ntags: [a]\n---\n"), Just("\u{feff}")],
        crlf in any::<bool>(),
    ) {
        let mut text = format!("{front}{}\n", blocks.join("\n\n"));
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        let (note, chunks) = cut(&text);
        let mut covered = vec![false; text.len()];
        for chunk in &chunks {
            prop_assert!(text.is_char_boundary(chunk.bytes.start) && text.is_char_boundary(chunk.bytes.end));
            covered[chunk.bytes.clone()].iter_mut().for_each(|byte| *byte = true);
            let lines = |end: usize| text[..end].matches('\n').count() + 1;
            prop_assert_eq!(chunk.lines, (lines(chunk.bytes.start), lines(chunk.bytes.end)), "{:?}", chunk);
        }
        for (at, character) in text.char_indices().filter(|(at, _)| note.body.contains(at)) {
            let comment = note.comments.iter().any(|range| range.contains(&at));
            prop_assert!(covered[at] || comment || character.is_whitespace(), "{character:?} at {at} is in no chunk");
        }
        for pair in chunks.windows(2) {
            prop_assert!(pair[0].bytes.end <= pair[1].bytes.start, "{pair:?} overlap");
        }
    }
}
