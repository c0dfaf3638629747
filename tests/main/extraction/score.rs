//! The extraction score is right: shares are of what was wanted and of what was given.

#[allow(dead_code, reason = "the benchmark uses the rest")]
#[path = "../../../benches/extraction/score.rs"]
mod snippets;

use self::snippets::{Score, entries_of, score, snippets};

#[test]
fn the_shares_are_of_what_was_wanted_and_of_what_was_given() {
    let all = snippets();
    for language in ["English", "German", "Spanish", "Chinese"] {
        assert!(all.iter().filter(|snippet| snippet.language == language).count() >= 10);
    }
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
