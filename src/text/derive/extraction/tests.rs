//! What stands of the claims of `benches/extraction`, and what does not: the numbers of `docs/memory-reference.md`.

use std::collections::BTreeMap;

use serde_json::json;

use super::check::{CheckedEntry, ExtractionAnswer, check_extraction};
use crate::text::derive::conversation::read_turns;

#[allow(dead_code, unreachable_pub, reason = "the benchmark uses the rest")]
#[path = "../../../../benches/extraction/score.rs"]
mod snippets;

/// What stands of one claim about the first of these lines of the person's, if it does.
fn checked(lines: &[&str], quote: &str, text: &str) -> Option<CheckedEntry> {
    let said: String = lines.iter().map(|line| format!("**18:32 · user:** {line}\n")).collect();
    let turns = read_turns(&said, &[]).into_iter().flat_map(|turn| {
        let voice = turn.voice;
        turn.lines.into_iter().map(move |line| (line.number, (voice, line.text)))
    });
    let entry = json!({"kind": "fact", "text": text, "quote": quote, "confidence": 0.95, "lines": [1, 1]});
    let answer = ExtractionAnswer { entries: vec![entry], summary: Vec::new() };
    check_extraction(&answer, &turns.collect(), None).entries.pop()
}

/// How many claims of each kind there are, and how many are proposed.
fn measured() -> BTreeMap<String, [usize; 2]> {
    let file = include_str!("../../../../benches/extraction/claims.txt");
    let claims = file.lines().filter(|line| line.contains(" | ")).map(|line| {
        let [kind, said, quote, text] = line.split(" | ").collect::<Vec<_>>().try_into().expect("four parts");
        (kind, said.to_owned(), quote.to_owned(), text.to_owned())
    });
    let found = snippets::snippets().into_iter().flat_map(|snippet| {
        let turns = snippet.turns;
        let claim = move |wanted: snippets::Predicate| {
            let said = turns[wanted.turn - 1].1.clone();
            ("right of the snippets", said.clone(), said, wanted.text)
        };
        snippet.wanted.into_iter().map(claim).collect::<Vec<_>>()
    });
    let mut counts: BTreeMap<String, [usize; 2]> = BTreeMap::new();
    for (kind, said, quote, text) in claims.chain(found.collect::<Vec<_>>()) {
        let stands = checked(&said.split(" // ").collect::<Vec<_>>(), &quote, &text).is_some();
        let count = counts.entry(kind.to_owned()).or_default();
        *count = [count[0] + 1, count[1] + usize::from(stands)];
        println!("{kind}: {text}: {}", if stands { "waits" } else { "dropped" });
    }
    counts
}

#[test]
fn claims_are_proposed_as_often_as_was_measured() {
    let known = [
        ("date", [4, 4]),
        ("denied", [5, 5]),
        ("hedged", [15, 15]),
        ("name", [8, 5]),
        ("name without capitals", [4, 4]),
        ("number", [4, 0]),
        ("other", [4, 4]),
        ("right", [32, 32]),
        ("right of the snippets", [36, 36]),
    ];
    assert_eq!(measured(), BTreeMap::from(known.map(|(kind, counts)| (kind.to_owned(), counts))));
}
