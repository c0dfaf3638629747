//! Chunks of notes as people write them: what an insertion changes, what the spans cover.

use std::collections::HashMap;

use memory_vault::text::derive::{Bounds, Chunk, chunk, chunk_within, token_estimate};
use memory_vault::text::note::Note;
use proptest::prelude::*;

use crate::fuzzing::properties::note;
use crate::support::prelude::*;

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

proptest! {
    #![proptest_config(proptest_config(200))]

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

/// What says nothing by itself, in all the ways in which it stands in notes. Lists of addresses differ, as those of notes do: where one text
/// stands again and again, there is nothing by which to cut it but counting.
fn noise() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("<a id=\"an-old-name\"></a>".to_owned()),
        (0..1_000_000u32, 1u32..30).prop_map(|(first, count)| {
            (first..first + count).map(|at| format!("[link{at}]: https://x.org/{at}\n")).collect()
        }),
        Just("![[drawing.png]]".to_owned()),
        Just("***".to_owned()),
        Just("<!-- a comment -->".to_owned()),
    ]
}

proptest! {
    #![proptest_config(proptest_config(200))]

    #[test]
    fn noise_between_passages_moves_none_of_their_boundaries_by_far(
        blocks in prop::collection::vec(prop_oneof![3 => block(), 2 => noise()], 1..40),
        more in prop_oneof![paragraph(), noise()].prop_filter("fits a chunk", |text| token_estimate(text) <= 128),
        at in any::<prop::sample::Index>(),
    ) {
        let before = blocks.join("\n\n");
        note(before.as_bytes());
        let mut after = blocks.clone();
        after.insert(at.index(blocks.len() + 1), more);
        let (before, after) = (cut(&before), cut(&after.join("\n\n")));
        // At most three groups of blocks change, and the noise beside them goes to others.
        prop_assert!(missing(&after, &before) <= 5, "{} new chunks", missing(&after, &before));
    }
}

/// The passages of a note: lines, headings, and the first words of what is embedded.
fn passages(text: &str) -> Vec<(usize, usize, String, String)> {
    let shown =
        |chunk: &Chunk| (chunk.lines.0, chunk.lines.1, chunk.heading_path.join(" > "), chunk.prose().to_owned());
    cut(text).iter().map(shown).collect()
}

#[test]
fn anchors_link_definitions_and_lone_embeds_were_passages_of_their_own() {
    let filled = |word: &str| format!("{word} {}", "with as many other words as make a passage ".repeat(14).trim_end());
    let (one, two) = (filled("one"), filled("two"));
    for noise in [
        "<a id=\"old\"></a>",
        "[cargo]: https://doc.rust-lang.org/cargo/\n[book]: <../a book.md> \"The book\"",
        "![[whiteboard.png|300]]",
        "![A chart](chart.png)",
        "***",
        "- - -",
        "<Listing number=\"2-2\" caption=\"The output\">",
        "```rust\n{{#rustdoc_include ../src/main.rs}}\n```",
        "^a1b2c3",
    ] {
        let lines = noise.lines().count();
        // Under a heading with nothing else it goes with that to what follows, at the end to what is above.
        let text = format!("# A\n\n{one}\n\n# B\n\n{noise}\n\n# C\n\n{two}\n");
        let found = passages(&text);
        assert_eq!(found, [(1, 3, "A".into(), one.clone()), (5, 10 + lines, "C".into(), two.clone())], "{noise}");
        let text = format!("{one}\n\n{noise}\n");
        assert_eq!(passages(&text), [(1, 2 + lines, String::new(), passages(&text)[0].3.clone())], "{noise}");
        assert!(passages(&text)[0].3.starts_with(&one), "{noise}");
        // Before all else, it goes to what follows.
        let text = format!("{noise}\n\n# A\n\n{one}\n");
        assert_eq!(passages(&text), [(1, 4 + lines, "A".into(), one.clone())], "{noise}");
        // A note that is nothing else has one passage, which is embedded as it is.
        assert_eq!(passages(noise), [(1, lines, String::new(), noise.to_owned())]);
    }
    // A comment is no passage, and is in none.
    let texts: Vec<String> = cut("<!-- a comment -->\n\n%%another%%").into_iter().map(|chunk| chunk.text).collect();
    assert_eq!(texts, ["a"], "what is left of the note is its name");
    assert_eq!(passages(&format!("{one}\n\n# A\n\n<!-- a comment -->\n\n{two}\n"))[1], (3, 7, "A".into(), two));
}

#[test]
fn a_long_list_of_link_definitions_goes_to_one_passage() {
    let links = |count: usize| (0..count).map(|at| format!("[link{at}]: ../chapter{at}.html\n")).collect::<String>();
    let text = format!("# A\n\nSaid here.\n\n{}", links(40));
    let all = cut(&text);
    assert_eq!((all.len(), all[0].lines), (1, (1, 44)), "{all:#?}");
    assert!(token_estimate(all[0].prose()) <= 256 && all[0].prose().starts_with("Said here."));
    assert!(all[0].body().ends_with("[link39]: ../chapter39.html"), "its words are found");
    // Pages of them are not carried along by what happens to stand above.
    let text = format!("# A\n\nSaid here.\n\n# B\n\n{}", links(400));
    let all = cut(&text);
    assert!(all.len() > 10 && all[0].body() == "Said here.", "{}", all.len());
    assert!(all.iter().all(|chunk| token_estimate(chunk.body()) <= 256));
}

#[test]
fn a_heading_with_nothing_under_it_was_a_passage_of_its_own() {
    let text = "# 2026-01-05\n\n## Tasks\n\n## Notes\n\nMet Bob.\n\n### Links\n\n## See also\n";
    let all = cut(text);
    assert_eq!(all.len(), 1, "{all:#?}");
    assert_eq!((all[0].lines, all[0].heading_path.join(" > ").as_str()), ((1, 11), "2026-01-05 > Notes"));
    assert_eq!(all[0].prose(), "Met Bob.");
    assert_eq!(all[0].text, text.trim_end());
    assert!(all[0].body().starts_with("## Tasks"), "it is found by its words: {:?}", all[0].body());
    // An outline is a passage, under what all of it is under.
    let all = cut("# Ideas\n\n## A boat\n\n## A shed\n");
    assert_eq!((all.len(), all[0].heading_path.join(" > ").as_str()), (1, "Ideas"));
    assert_eq!(all[0].prose(), "## A boat\n\n## A shed");
    assert_eq!(cut("# Ideas\n")[0].body(), "", "a title alone is what it was");
    let long = (0..200).map(|at| format!("## Heading number {at}\n\n")).collect::<String>();
    let all = cut(&long);
    assert!((4..40).contains(&all.len()), "{}", all.len());
    assert!(missing(&cut(&long.replacen("number 100", "changed", 1)), &all) <= 3);
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

#[test]
fn what_is_joined_stays_under_its_heading() {
    let chunks = cut("# One\n\nA river and a boat.\n\n### Two\n\n");
    let [chunk] = &chunks[..] else { panic!("{chunks:?}") };
    assert_eq!((&chunk.text[..chunk.body_start], chunk.body()), ("# One\n\n", "A river and a boat.\n\n### Two"));
}
