//! The extraction score is right: servers whose score is known get it.

#[path = "../../../benches/extraction/score.rs"]
mod snippets;

use self::snippets::{Score, Snippet, as_conversation, entries_of, score, snippets};
use super::config;
use crate::support::prelude::*;

/// All snippets, read by a server that answers so, each as the only conversation that it comes from.
fn scores(answer: impl Fn(&Snippet) -> Value + Send + Sync + 'static) -> BTreeMap<String, Score> {
    let endpoint = Endpoint::start();
    let all = snippets();
    endpoint.fails(move |asked: &Asked| {
        let is_of = |snippet: &&Snippet| asked.texts[1].contains(&snippet.turns[0].1);
        Some(Fault::SaysThis(json!({"entries": answer(all.iter().find(is_of).unwrap())}).to_string()))
    });
    let mut vault = Daemon::with_config(&config(&endpoint.address(), "verification = false\naccept = []\n"));
    for (at, snippet) in snippets().iter().enumerate() {
        vault.write(&format!("conversations/{at:03}.md"), as_conversation(snippet));
    }
    let view = super::sync(&vault);
    assert_eq!((&view["queued"], &view["dead"]), (&json!(0), &json!(0)), "{view}");
    let file = fs::read_to_string(vault.path("memories/pending.md")).unwrap_or_default();
    let mut scores: BTreeMap<String, Score> = BTreeMap::new();
    for (at, snippet) in snippets().iter().enumerate() {
        let from = format!("conversations/{at:03}.md#");
        let own: Vec<&str> = file.lines().filter(|line| line.contains(&from)).collect();
        let sum = scores.entry(snippet.language.clone()).or_default();
        *sum = sum.plus(score(snippet, &entries_of(&own.join("\n"))));
    }
    scores
}

/// What is to be found, as it may be said.
fn gold(snippet: &Snippet) -> Vec<Value> {
    let entry = |wanted: &snippets::Predicate| {
        let line = 2 * wanted.turn - 1;
        let quote = &snippet.turns[wanted.turn - 1].1;
        json!({"kind": wanted.kind, "text": wanted.text, "confidence": 0.9, "lines": [line, line], "quote": quote})
    };
    snippet.wanted.iter().map(entry).collect()
}

#[test]
fn a_model_that_finds_all_scores_all_in_every_language() {
    let scores = scores(|snippet| json!(gold(snippet)));
    assert_eq!(scores.len(), 4);
    for (language, score) in scores {
        assert!(score.wanted >= 8, "{language}: {score:?}");
        assert_eq!((score.found_share(), score.invented_share()), (1.0, 0.0), "{language}: {score:?}");
    }
    for language in ["English", "German", "Spanish", "Chinese"] {
        assert!(snippets().iter().filter(|snippet| snippet.language == language).count() >= 10);
    }
}

#[test]
fn what_a_model_invents_is_dropped_before_it_counts() {
    // What is to be found with another number or name, what assistants say, and what nobody says.
    let scores = scores(|snippet| {
        let bent = gold(snippet).into_iter().map(|mut entry| {
            entry["text"] = json!(format!("{} 777", entry["text"].as_str().unwrap()));
            entry
        });
        let said = snippet.turns.iter().enumerate().filter(|(_, (who, _))| who == "assistant");
        let said = said.map(
            |(at, (_, said))| json!({"kind": "fact", "text": said, "lines": [2 * at + 1, 2 * at + 1], "quote": said}),
        );
        let first = &snippet.turns[0].1;
        let never =
            json!({"kind": "preference", "text": "Enjoys sailing around Zanzibar", "lines": [1, 1], "quote": first});
        json!(bent.chain(said).chain([never]).collect::<Vec<_>>())
    });
    for (language, score) in scores {
        assert_eq!((score.found, score.entries), (0, 0), "{language}: {score:?}");
    }
}

#[test]
fn the_shares_are_of_what_was_wanted_and_of_what_was_given() {
    let all = snippets();
    let tea = all.iter().find(|snippet| snippet.name == "Tabs").unwrap();
    let of = |entries: &[&str]| score(tea, &entries.iter().map(|entry| (*entry).to_owned()).collect::<Vec<_>>());
    assert_eq!(of(&["Prefers TABS to spaces"]), Score { wanted: 1, found: 1, entries: 1, invented: 0 });
    assert_eq!(
        of(&["Prefers tabs", "tabs and spaces", "tabs, not spaces"]),
        Score { wanted: 1, found: 1, entries: 3, invented: 2 }
    );
    let none = of(&[]);
    assert_eq!((none.found_share(), none.invented_share()), (0.0, 0.0));
    assert_eq!(
        entries_of("# X\n- [fact] Likes (green) tea (confidence 0.9) #a ^e-1\n- plain\n"),
        ["Likes (green) tea", "plain"]
    );
}
