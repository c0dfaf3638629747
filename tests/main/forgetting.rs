//! What is forgotten is gone, and nothing else is.

use memory_vault::chunk::{Chunk, RemoveError, chunk, without_chunk, without_lines};
use memory_vault::note::Note;
use memory_vault::path::VaultPath;
use proptest::prelude::*;

use crate::support::cases;

fn cut(source: &str) -> (Note, Vec<Chunk>) {
    let path = VaultPath::new("notes/a.md").unwrap();
    let note = Note::parse(source, "a");
    let chunks = chunk(&path, &note, source);
    (note, chunks)
}

/// The note without a passage that is these words of it; `None` when the file goes.
#[track_caller]
fn without(source: &str, passage: &str) -> Option<String> {
    let (note, chunks) = cut(source);
    let start = source.find(passage).unwrap();
    let chunk = Chunk { bytes: start..start + passage.len(), ..chunks[0].clone() };
    without_chunk(&note, source, &chunk).unwrap().text
}

#[test]
fn what_stays_is_byte_for_byte_what_it_was() {
    for (source, passage, expected) in [
        ("one\n\ntwo\n\n\nthree\n", "two", Some("one\n\n\nthree\n")),
        ("---\nt: 1\n---\n\none\n\ntwo\n", "one", Some("---\nt: 1\n---\n\ntwo\n")),
        ("one\n\ntwo", "two", Some("one\n")),
        ("one\n\ntwo\n\n", "two", Some("one\n\n")),
        ("one\r\n\r\ntwo\r\n\r\nthree\r\n", "two", Some("one\r\n\r\nthree\r\n")),
        ("---\nt: 1\n---\n# T\n\none\n", "# T\n\none", None),
        ("\n# T\n\n", "# T", None),
        ("# A\n\none\n\n# B\n\ntwo\n", "# B\n\ntwo", Some("# A\n\none\n")),
        // Headings stay with those that stand under them.
        ("# A\n\none\n\ntwo\n", "# A\n\none", Some("# A\n\ntwo\n")),
        ("# A\n\n## B\n\none\n\n## C\n\ntwo\n", "# A\n\n## B\n\none", Some("# A\n\n## C\n\ntwo\n")),
        // What is no passage is no reason to keep less of it.
        ("%% mine %%\n\none\n", "one", Some("%% mine %%\n")),
        // Nothing but the code keeps the paragraphs apart.
        ("one\n```\ntwo\n```\nthree\n", "```\ntwo\n```", Some("one\n\nthree\n")),
        // What then would be frontmatter is none.
        ("one\n\n---\nt: 2\n---\n\nthree\n", "one", Some("\n---\nt: 2\n---\n\nthree\n")),
        ("- one\n- two\n- three\n", "- two", Some("- one\n- three\n")),
        ("One. Two. Three.\n", "Two.", Some("One. Three.\n")),
        ("One.\nTwo. Three.\n", "Two.", Some("One.\nThree.\n")),
        ("One. Two.\nThree.\n", "Two.", Some("One.\nThree.\n")),
        ("> one\n>\n> two\n>\n> three\n", "> two\n>", Some("> one\n>\n> three\n")),
    ] {
        assert_eq!(without(source, passage).as_deref(), expected, "{source:?} without {passage:?}");
    }
}

#[test]
fn a_part_of_a_long_block_goes_without_its_fences() {
    let lines = |word: &str| (0..60).map(|at| format!("{word}({at});\n")).collect::<String>();
    let source = format!("Before.\n\n```rust\n{}{}{}```\n\nAfter.\n", lines("one"), lines("two"), lines("three"));
    let (note, chunks) = cut(&source);
    assert!(chunks.len() > 3, "{}", chunks.len());
    for chunk in &chunks {
        let text = without_chunk(&note, &source, chunk).unwrap().text.unwrap();
        let (after, _) = cut(&text);
        assert_eq!(after.blocks.iter().filter(|block| block.kind == memory_vault::note::BlockKind::Code).count(), 1);
        assert_eq!(text.matches("```").count(), 2, "{text}");
        assert!(text.contains("After.") || chunk.text.contains("After."), "{text}");
    }
}

#[test]
fn a_note_that_is_private_stays_so() {
    let source = format!("{}\n\nA secret. #private\n", "alpha ".repeat(130));
    let (note, chunks) = cut(&source);
    let last = chunks.last().unwrap();
    assert_eq!(without_chunk(&note, &source, last), Err(RemoveError::KeepsPrivate));
    assert_eq!(without_lines(&note, &source, 3, 3), Err(RemoveError::KeepsPrivate));
    assert!(without_chunk(&note, &source, &chunks[0]).is_ok());
}

#[test]
fn lines_go_exactly_and_frontmatter_does_not() {
    let source = "---\nprivate: true\n---\n# T\n\none\ntwo\n\nthree\n";
    let (note, _) = cut(source);
    let without = |first, last| without_lines(&note, source, first, last).map(|left| left.text);
    assert_eq!(without(6, 6).unwrap().unwrap(), "---\nprivate: true\n---\n# T\n\ntwo\n\nthree\n");
    assert_eq!(without(6, 7).unwrap().unwrap(), "---\nprivate: true\n---\n# T\n\nthree\n");
    assert_eq!(without(4, 9).unwrap(), None);
    assert_eq!(without(5, 5), Err(RemoveError::Nothing));
    for (first, last) in [(0, 1), (2, 2), (3, 6), (7, 6), (9, 99)] {
        assert_eq!(without(first, last), Err(RemoveError::Outside), "{first}-{last}");
    }
}

fn block() -> impl Strategy<Value = String> {
    let words = |most: usize| prop::collection::vec("[a-z]{3,9}", 1..most).prop_map(|words| words.join(" "));
    prop_oneof![
        4 => words(160),
        2 => (1..4usize, words(4)).prop_map(|(level, text)| format!("{} {text}", "#".repeat(level))),
        2 => prop::collection::vec(words(60), 1..4).prop_map(|items| {
            items.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
        }),
        1 => (words(30), words(90)).prop_map(|(one, two)| format!("1. {one}\n   - {two}\n2. {one}")),
        1 => words(400).prop_map(|text| format!("```\n{}\n```", text.replace(" ", "\n"))),
        1 => words(60).prop_map(|text| format!("> {text}\n>\n> {text}")),
        1 => words(6).prop_map(|text| format!("| a | b |\n|---|---|\n| {text} | x |\n| y | {text} |")),
        1 => words(6).prop_map(|text| format!("%% {text} %%")),
        1 => Just("---".to_owned()),
        1 => words(60).prop_map(|text| format!("{text}. {text}! {text}?")),
    ]
}

fn source() -> impl Strategy<Value = String> {
    let gap = prop_oneof![6 => Just("\n\n"), 2 => Just("\n"), 1 => Just("\n\n\n")];
    let front = prop_oneof![Just(""), Just("---\ntitle: T\n---\n"), Just("---\ntags: [a]\n---\n\n")];
    let end = prop_oneof![Just("\n"), Just(""), Just("\n\n")];
    (front, prop::collection::vec((block(), gap), 1..8), end, any::<bool>()).prop_map(
        |(front, blocks, end, windows)| {
            let mut text = front.to_owned();
            let last = blocks.len() - 1;
            for (at, (block, gap)) in blocks.into_iter().enumerate() {
                text.push_str(&block);
                text.push_str(if at == last { end } else { gap });
            }
            if windows { text.replace('\n', "\r\n") } else { text }
        },
    )
}

/// What can be read in a text, apart from blank space and headings.
fn bodies(chunks: &[Chunk]) -> String {
    chunks.iter().map(Chunk::body).flat_map(str::chars).filter(|c| !c.is_whitespace()).collect()
}

fn blank_runs(text: &str) -> usize {
    let mut longest = 0;
    let mut run = 0;
    for line in text.lines() {
        run = if line.trim().is_empty() { run + 1 } else { 0 };
        longest = longest.max(run);
    }
    longest
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(96)))]

    #[test]
    fn the_other_passages_stay(source in source()) {
        let (note, chunks) = cut(&source);
        for (at, one) in chunks.iter().enumerate() {
            let left = match without_chunk(&note, &source, one) {
                Ok(left) => left.text.unwrap_or_else(|| source[..note.body.start].to_owned()),
                // Nothing is done where it cannot be done well.
                Err(RemoveError::Entangled) => continue,
                Err(error) => return Err(TestCaseError::fail(error.to_string())),
            };
            prop_assert!(left.starts_with(&source[..note.body.start]), "the frontmatter is untouched");
            let (_, after) = cut(&left);
            let expected: Vec<Chunk> =
                chunks.iter().enumerate().filter(|(other, _)| *other != at).map(|(_, chunk)| chunk.clone()).collect();
            let fences = |text: String| text.replace("```", "");
            prop_assert_eq!(fences(bodies(&after)), fences(bodies(&expected)), "{:?}\n{:?}", one.text, left);
            prop_assert!(blank_runs(&left) <= blank_runs(&source).max(1), "{:?}", left);
            prop_assert!(left.len() < source.len());
        }
    }
}
