//! Answers as a broken or hostile server might give them: good ones with pieces missing, doubled, changed or put in.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::{Index, select};

/// What means something to who reads JSON, numbers and lines.
const PIECES: &[&str] = &[
    "", "{", "}", "[", "]", "\"", ",", ":", "null", "-1", "1e39", "1e999", "NaN", "0", "\\u0000", "\\ud800", "\n",
    "\r\n", "é", "\u{0}", "../", "{\"a\":", "[[[[[[[[", "true", "999999999999999999999",
];

/// A good answer that is bent, in up to four places.
pub(crate) fn bent(good: &'static [&'static str]) -> impl Strategy<Value = String> {
    let change = (0..4u8, any::<Index>(), any::<Index>(), select(PIECES));
    (select(good), vec(change, 0..5)).prop_map(|(good, changes)| {
        let mut text: Vec<char> = good.chars().collect();
        for (how, one, other, piece) in changes {
            let (from, to) = (one.index(text.len() + 1), other.index(text.len() + 1));
            let (from, to) = (from.min(to), from.max(to));
            match how {
                0 => drop(text.splice(from..from, piece.chars())),
                1 => drop(text.splice(from..to.min(from + 8), piece.chars())),
                2 => drop(text.splice(from..from, text[from..to].to_vec())),
                _ => text.truncate(to),
            }
        }
        text.into_iter().collect()
    })
}
