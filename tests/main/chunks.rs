//! Chunks of notes as people write them: what an insertion changes, what the spans cover.

use std::collections::HashMap;

use memory_vault::derive::{Bounds, Chunk, chunk, chunk_within, token_estimate};
use memory_vault::note::Note;
use memory_vault::path::VaultPath;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::fuzzing::properties::note;
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

fn cut(text: &str) -> Vec<Chunk> {
    chunk(&VaultPath::new("notes/a.md").unwrap(), &Note::parse(text, "a"), text)
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

/// A conversation, a turn for each text; one that is more than a line is quoted.
fn conversation(texts: &[String]) -> String {
    let turn = |(at, text): (usize, &String)| match text.contains('\n') {
        true => format!("**10:{:02} · Maya:**\n> {}", at % 60, text.replace('\n', "\n> ")),
        false => format!("**10:{:02} · Maya:** {text}", at % 60),
    };
    texts.iter().enumerate().map(turn).collect::<Vec<_>>().join("\n\n")
}

fn cut_conversation(text: &str) -> Vec<Chunk> {
    chunk(&VaultPath::new("conversations/a.md").unwrap(), &Note::parse(text, "a"), text)
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
        let (before, after) = (cut(&before), cut(&after.join("\n\n")));
        prop_assert!(missing(&after, &before) <= 3, "{} new chunks", missing(&after, &before));
    }

    #[test]
    fn a_turn_is_a_chunk_and_its_edit_changes_no_other(
        texts in prop::collection::vec(prop::collection::vec(block(), 1..3).prop_map(|blocks| blocks.join("\n\n")), 1..12),
        more in paragraph(),
        at in any::<prop::sample::Index>(),
    ) {
        let before = cut_conversation(&conversation(&texts));
        let short: Vec<bool> = texts.iter().map(|text| token_estimate(text) < 120).collect();
        if short.iter().all(|short| *short) {
            prop_assert_eq!(before.len(), texts.len());
        }
        let mut after = texts.clone();
        let at = at.index(texts.len());
        after[at] = format!("{}\n\n{more}", texts[at]);
        let after = cut_conversation(&conversation(&after));
        let own = |chunks: &[Chunk]| chunks.iter().filter(|chunk| chunk.text.contains(&format!("**10:{at:02} ·"))).count();
        prop_assert!(own(&before) >= 1 && own(&after) >= 1);
        let others = texts.len() - 1;
        let kept = after.len() - missing(&after, &before);
        prop_assert!(kept >= others, "{kept} of {others} others are as they were");
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
        note(text.as_bytes());
    }
}

#[test]
fn what_a_person_left_open_takes_in_no_turn() {
    let front = "---\ntitle: x\nsource: capture\nsession: s\n---\n\n";
    let turns =
        "**10:01 · Maya:**\n> one\n>\n> # more\n\n**10:02 · user:** two\n\n**2026-01-06 10:03 · Maya:** three\n";
    for open in
        ["```rust\nmine", "~~~\nmine", "mine\n```", "%%\nmine", "<div>\n<pre>\nmine", "> ```\n> mine", "- mine\n  ```"]
    {
        let text = format!("{front}**10:00 · user:** zero\n\n{open}\n\n{turns}");
        let chunks = cut_conversation(&text);
        let said: Vec<&str> = chunks.iter().map(|chunk| chunk.text.as_str()).collect();
        let begins = |time: &str| said.iter().filter(|said| said.starts_with(time)).count();
        for time in ["**10:00", "**10:01", "**10:02", "**2026-01-06 10:03"] {
            assert_eq!(begins(time), 1, "{time} after {open:?}: {said:#?}");
        }
        assert_eq!(*said.last().unwrap(), "**2026-01-06 10:03 · Maya:** three", "after {open:?}");
    }
    // A conversation that somebody else wrote is read as it is written.
    let text = format!("```\nmine\n\n{turns}");
    assert_eq!(cut_conversation(&text).len(), 1);
}

#[test]
fn bounds_leave_the_first_passages_as_they_are() {
    let text: String = (0..20).map(|at| format!("# Head {at}\n\nSaid in number {at}.\n\n")).collect();
    let (path, note) = (VaultPath::new("notes/a.md").unwrap(), Note::parse(&text, "a"));
    let all = cut(&text);
    let of = |chunks, bytes| chunk_within(&path, &note, &text, Bounds { chunks, bytes });
    for (bounded, count) in
        [(of(7, usize::MAX), 7), (of(usize::MAX, all[..5].iter().map(size).sum()), 5), (of(0, 0), 0)]
    {
        assert_eq!(bounded.chunks, all[..count]);
        assert_eq!(bounded.rest, Some(all[count].lines.0), "where the rest begins");
    }
    assert_eq!((of(20, usize::MAX).chunks, of(20, usize::MAX).rest), (all, None));
}

fn size(chunk: &Chunk) -> usize {
    chunk.text.len() + chunk.heading_path.iter().map(String::len).sum::<usize>()
}

#[test]
fn a_heading_of_megabytes_makes_no_passage_of_megabytes() {
    let text = format!("{}---\n\nsaid below\n", "k: v\n".repeat(400_000));
    let chunks = cut(&text);
    assert_eq!((chunks.len(), chunks[0].body()), (1, "said below"));
    assert!(chunks[0].text.len() < 3000 && chunks[0].bytes == (0..text.len() - 1), "{:?}", chunks[0].bytes);
}
