//! What a request to forget may mean, and whether it is clear enough to do it. Pure.
//!
//! The unit is a paragraph, list item or table row: a chunk of a search may hold several facts. Meaning alone never deletes.
//! It is clear what is meant when
//!
//! - it is the hash of a candidate; or
//! - its words stand, next to each other and in that order, in one place and no other; or
//! - one place has all of its words, and every other at most half of them.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

use crate::derive::ChunkId;
use crate::note::{BlockKind, Note};
use crate::path::VaultPath;

/// What can be forgotten by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ForgettablePlace {
    /// The file.
    pub path: VaultPath,
    /// Names it.
    pub hash: ChunkId,
    /// Its text, without comments.
    pub text: String,
    /// First and last line, from 1.
    pub lines: (usize, usize),
    /// Its words, folded, in order.
    words: Vec<String>,
}

/// The places of a file, in order.
pub(super) fn places(path: &VaultPath, note: &Note, source: &str) -> Vec<ForgettablePlace> {
    let mut seen = HashMap::new();
    let mut places = Vec::new();
    for block in &note.blocks {
        if matches!(block.kind, BlockKind::Heading(_) | BlockKind::Rule | BlockKind::Comment | BlockKind::Other) {
            continue;
        }
        let text = note.visible(source, block.span.clone()).trim().to_owned();
        let words = words(&text);
        if words.is_empty() {
            continue;
        }
        let nth = seen.entry(text.clone()).and_modify(|nth| *nth += 1).or_insert(0_u32);
        let hash = name(path, &text, *nth);
        places.push(ForgettablePlace { path: path.clone(), hash, lines: lines(note, &block.span), text, words });
    }
    places
}

fn lines(note: &Note, span: &Range<usize>) -> (usize, usize) {
    (note.lines.line_of(span.start), note.lines.line_of(span.end.saturating_sub(1).max(span.start)))
}

/// Names a place by its file, its text and how many of the same stand above it. No chunk has the same name.
fn name(path: &VaultPath, text: &str, nth: u32) -> ChunkId {
    let mut hasher = blake3::Hasher::new_derive_key("memory-vault: the name of a place that can be forgotten");
    for part in [path.as_str().as_bytes(), text.as_bytes(), &nth.to_le_bytes()] {
        hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
    }
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    ChunkId::from_bits(u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

fn words(text: &str) -> Vec<String> {
    text.unicode_words().map(|word| word.nfkc().collect::<String>().to_lowercase()).collect()
}

/// What is meant by a request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// This one.
    One(usize),
    /// One of these, the likeliest first, or none.
    Perhaps(Vec<usize>),
}

/// Which places a request means. `near` are those that a search found, the best first.
pub(super) fn meant(query: &str, places: &[ForgettablePlace], near: &[usize], most: usize) -> Meant {
    if let Ok(hash) = query.trim().parse::<ChunkId>()
        && let Some(at) = places.iter().position(|place| place.hash == hash)
    {
        return Meant::One(at);
    }
    let wanted = words(query);
    if wanted.is_empty() {
        return Meant::Perhaps(Vec::new());
    }
    let exact: Vec<usize> = (0..places.len()).filter(|at| holds(&places[*at].words, &wanted)).collect();
    if let [only] = exact[..] {
        return Meant::One(only);
    }
    let distinct: HashSet<&String> = wanted.iter().collect();
    let shares: Vec<usize> =
        places.iter().map(|place| place.words.iter().collect::<HashSet<_>>().intersection(&distinct).count()).collect();
    let mut ranked: Vec<usize> = (0..places.len()).filter(|at| shares[*at] > 0).collect();
    ranked.sort_by_key(|at| (std::cmp::Reverse(shares[*at]), *at));
    if let Some(first) = ranked.first()
        && exact.is_empty()
        && shares[*first] == distinct.len()
        && ranked.get(1).is_none_or(|second| shares[*second] * 2 <= distinct.len())
    {
        return Meant::One(*first);
    }
    // All of the words, then what is near in meaning, then some of the words.
    let (all, some): (Vec<usize>, Vec<usize>) = ranked.into_iter().partition(|at| shares[*at] == distinct.len());
    let mut seen = HashSet::new();
    let likely = exact.into_iter().chain(all).chain(near.iter().copied()).chain(some);
    Meant::Perhaps(likely.filter(|at| seen.insert(*at)).take(most).collect())
}

/// Whether words stand among others next to each other and in order.
fn holds(words: &[String], wanted: &[String]) -> bool {
    words.windows(wanted.len()).any(|found| found == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Likes\n\n- The person likes green tea in the morning.\n- The person likes dark mode.\n- Dark chocolate is \
                        fine.\n\nThe dentist is on Monday.\n\n```\nlet mode = dark;\n```\n";

    fn of(text: &str) -> Vec<ForgettablePlace> {
        places(&VaultPath::new("agents/a/MEMORY.md").unwrap(), &Note::parse(text, ""), text)
    }

    fn means(query: &str) -> Meant {
        meant(query, &of(TEXT), &[], 6)
    }

    #[test]
    fn places_are_facts_and_have_names() {
        let found = of(TEXT);
        let lines: Vec<(usize, usize)> = found.iter().map(|place| place.lines).collect();
        assert_eq!(lines, [(3, 3), (4, 4), (5, 5), (7, 7), (9, 11)]);
        let twice = of("- a\n- a\n");
        assert_ne!(twice[0].hash, twice[1].hash);
        assert_eq!(of(&format!("{TEXT}\nmore\n"))[1].hash, found[1].hash);
    }

    #[test]
    fn what_is_clear_is_one() {
        assert_eq!(means("Green tea"), Meant::One(0));
        assert_eq!(means("  the dentist is on monday! "), Meant::One(3));
        assert_eq!(means("likes dark mode"), Meant::One(1));
        // All of its words, in another order, and no other place has half of them.
        assert_eq!(means("Monday dentist"), Meant::One(3));
        assert_eq!(means(&of(TEXT)[2].hash.to_string()), Meant::One(2));
    }

    #[test]
    fn what_is_not_clear_is_shown() {
        assert_eq!(means("The person likes"), Meant::Perhaps(vec![0, 1, 3]));
        assert_eq!(means("dark"), Meant::Perhaps(vec![1, 2, 4]));
        assert_eq!(means("likes person green"), Meant::Perhaps(vec![0, 1]));
        assert_eq!(means("forget the dentist"), Meant::Perhaps(vec![3, 0, 1]));
        assert_eq!(means("swimming"), Meant::Perhaps(vec![]));
        assert_eq!(means("?!"), Meant::Perhaps(vec![]));
        assert_eq!(means("0123456789abcdef"), Meant::Perhaps(vec![]));
        // Meaning alone never deletes.
        assert_eq!(meant("colour scheme", &of(TEXT), &[1], 6), Meant::Perhaps(vec![1]));
        assert_eq!(meant("dark", &of(TEXT), &[0], 2), Meant::Perhaps(vec![1, 2]));
    }
}
