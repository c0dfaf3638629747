//! The sentences of a text, as Unicode finds them (UAX #29), in a time that grows with the text alone.
//!
//! Whether a full stop ends a sentence is told by the next letter (rule SB8). The library looks for that letter anew at every bracket and
//! blank behind the stop, so that a stop with 200,000 brackets behind it takes minutes. Such a run is parted here.

use std::sync::LazyLock;

use regex::Regex;
use unicode_segmentation::UnicodeSegmentation;

/// Maximum number of characters behind a full stop before the next letter, number or line. No text that is read has
/// more.
const MOST_BEHIND_STOP: usize = 64;

/// A full stop of which the next letter says whether it ends a sentence, and all before that, a number, an end of a line or another full stop. A
/// mark that is put on another character is no letter, though some count as such.
static STOP: LazyLock<Regex> = LazyLock::new(|| {
    let stops = r".\u{2024}\u{fe52}\u{ff0e}";
    let ends = r"\p{Alphabetic}\p{N}\n\r\u{85}\u{2028}\u{2029}";
    Regex::new(&format!(r"[{stops}](?:[^{ends}{stops}]|[\p{{M}}\u{{ff9e}}\u{{ff9f}}])+")).expect("a test uses it")
});

/// The sentences of a text, with all that is between them. A run of more than [`MOST_BEHIND_STOP`] marks and blanks behind a full stop is
/// parted from what follows; all others are the library's.
pub(crate) fn sentence_bounds(text: &str) -> impl Iterator<Item = &str> {
    let behind = |stop: &str| stop.char_indices().nth(MOST_BEHIND_STOP + 1).map(|(at, _)| at);
    let cuts = STOP.find_iter(text).filter_map(move |stop| Some(stop.start() + behind(stop.as_str())?));
    let mut from = 0;
    let stretches = cuts.chain([text.len()]).map(move |end| &text[std::mem::replace(&mut from, end)..end]);
    stretches.flat_map(UnicodeSegmentation::split_sentence_bounds)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;
    use crate::base::chance::proptest_config;
    use crate::text::derive::said;

    const WORDS: [&str; 40] = [
        "The", "key", "e.g.", "Dr.", "U.S.", "3.14", "p. 4", "Über", "straße", "C’est", "où", "¿Qué?", "años", "Это",
        "дом", "т.", "е.", "谢谢", "我们决定了", "。", "東京", "「はい。」", "ครับ", "สวัสดี", "नमस्ते", "।", "مرحبا", "؟",
        "שלום", "Ε.Ε.", "ναι", "한국어", "!", "...", "?", ".", "\u{301}", "(a.)", "“No.”", "…",
    ];
    const BETWEEN: [&str; 9] = [" ", "", "  ", "\n", "\r\n", ") ", ". ", " — ", "\u{a0}"];

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn ordinary_texts_have_the_sentences_that_the_library_finds(
            parts in prop::collection::vec((prop::sample::select(&WORDS[..]), prop::sample::select(&BETWEEN[..])), 0..60),
        ) {
            let text: String = parts.iter().flat_map(|(word, between)| [*word, *between]).collect();
            let ours: Vec<&str> = sentence_bounds(&text).collect();
            let theirs: Vec<&str> = text.split_sentence_bounds().collect();
            prop_assert_eq!(ours, theirs);
        }
    }

    #[test]
    fn a_megabyte_of_brackets_behind_a_full_stop_takes_no_minutes() {
        const BYTES: usize = 1 << 20;
        for run in [")", " ", " )", "\u{301})", "\u{345})", "1)", ".)", "“"] {
            let text = format!("a.{}b", run.repeat(BYTES / run.len()));
            let started = Instant::now();
            assert_eq!(sentence_bounds(&text).map(str::len).sum::<usize>(), text.len());
            assert!(!said(&text).blocks.is_empty());
            assert!(started.elapsed() < Duration::from_secs(30), "{run:?} took {:?}", started.elapsed());
        }
    }

    #[test]
    fn what_follows_a_long_run_begins_a_sentence() {
        let text = format!("Name. {}here", "_".repeat(100));
        let found: Vec<&str> = sentence_bounds(&text).collect();
        assert_eq!((found[0], found.concat()), ("Name. ", text.clone()));
        assert!(found.last().unwrap().ends_with("here"));
    }
}
