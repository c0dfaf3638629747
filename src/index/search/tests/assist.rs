//! The best, read and judged by somebody else.

use std::cell::OnceCell;
use std::sync::{Arc, Mutex};
use std::time::Instant;

use jiff::Timestamp;

use super::super::run::Results;
use super::super::{Assistant, MaySend, SearchHelp, SearchRequest, Unassisted, Visible, assisted_search};
use crate::access::rules::{Scope, Turn};
use crate::base::config::{Mode, SearchConfig, StemmerLanguage};
use crate::index::engine::tests::exact::ExactEngine;
use crate::index::engine::{Engine, FileEntry, FileUpdate, Filter};
use crate::models::{ModelAsker, ModelError, Reranker};

/// Says of each chunk what it is told, and notes what it was given.
struct Scripted {
    judge: fn(&str) -> f64,
    fails: bool,
    given: Mutex<Vec<String>>,
}

impl Reranker for Scripted {
    fn rerank(
        &self,
        query: &str,
        passages: &[String],
        _: Option<&ModelAsker>,
        _: Instant,
    ) -> Result<Arc<[f64]>, ModelError> {
        assert_eq!(query, "water");
        self.given.lock().unwrap().extend(passages.iter().cloned());
        if self.fails {
            Err(ModelError::TimedOut)
        } else {
            Ok(passages.iter().map(|text| (self.judge)(text)).collect())
        }
    }
}

const LANGUAGE: StemmerLanguage = StemmerLanguage::English;

/// What a search is like that is not as all others here.
struct Asked<'a> {
    reranker: Option<&'a Scripted>,
    may_send: &'a dyn Fn(&FileEntry) -> MaySend,
    failed: Option<&'a OnceCell<String>>,
    limit: usize,
    min_relevance: Option<f64>,
    sees_nothing: bool,
}

impl Default for Asked<'_> {
    fn default() -> Self {
        Self { reranker: None, may_send: &all, failed: None, limit: 30, min_relevance: None, sees_nothing: false }
    }
}

/// Notes with less and less of the word, of one chunk each.
fn searched(config: &SearchConfig, how: &Asked<'_>) -> Results {
    let mut writer = ExactEngine::new(LANGUAGE).open().unwrap();
    let note = |at: usize| {
        let text = format!("# Note {at}\n\n{}{}\n", "water ".repeat(30 - at), "stone ".repeat(at));
        FileUpdate::of_text(&format!("notes/{at:02}.md"), &text, LANGUAGE)
    };
    let named = FileUpdate::of_text("notes/called.md", "# Water\n\nStone and paper, and more of it.\n", LANGUAGE);
    writer.apply((0..26).map(note).chain([named]).collect(), Vec::new()).unwrap();
    let reader = writer.publish().unwrap();
    let failed = OnceCell::new();
    let scope = if how.sees_nothing { Scope::Nothing } else { Scope::Everything };
    let visible = Visible::of(&scope, reader.files());
    let request = SearchRequest {
        parts: Vec::new(),
        text: "water".into(),
        mode: Mode::Keyword,
        limit: how.limit,
        filter: Filter::default(),
        at: Timestamp::UNIX_EPOCH,
        min_relevance: how.min_relevance,
        context: None,
        turn: Turn::default(),
    };
    let assistant = how.reranker.map(|reranker| Assistant {
        reranker: Ok(reranker as &dyn Reranker),
        may_send: how.may_send,
        asker: None,
        failed: how.failed.unwrap_or(&failed),
        until: Instant::now(),
    });
    assisted_search(
        reader.as_ref(),
        None,
        &visible,
        config,
        &request,
        SearchHelp { assistant: assistant.as_ref(), ..SearchHelp::default() },
    )
    .unwrap()
}

fn found(reranker: Option<&Scripted>, may_send: &dyn Fn(&FileEntry) -> MaySend, config: &SearchConfig) -> Results {
    searched(config, &Asked { reranker, may_send, ..Asked::default() })
}

fn scripted(judge: fn(&str) -> f64) -> Scripted {
    Scripted { judge, fails: false, given: Mutex::default() }
}

fn paths(found: &Results) -> Vec<&str> {
    found.hits.iter().map(|hit| hit.file.path.as_str()).collect()
}

fn all(_: &FileEntry) -> MaySend {
    MaySend::Yes
}

#[test]
fn a_judgement_counts_seventy_per_cent_and_the_score_before_thirty() {
    let config = SearchConfig::default();
    let before = found(None, &all, &config);
    assert_eq!(paths(&before)[0], "notes/called.md");
    let judge = scripted(|text| {
        if text.contains("Note 19") {
            0.8
        } else if text.contains("Note 3\n") {
            0.6
        } else {
            0.2
        }
    });
    let after = found(Some(&judge), &all, &config);
    assert!(after.unassisted.is_empty());
    // The first is called so, and is not read; nor is what comes after the best twenty.
    assert_eq!(paths(&after)[0], "notes/called.md");
    assert_eq!(judge.given.lock().unwrap().len(), 20);
    assert_eq!(paths(&after)[21..], paths(&before)[21..]);
    let score = |results: &Results, path: &str| {
        results.hits.iter().find(|hit| hit.file.path.as_str() == path).map(|hit| hit.score).unwrap()
    };
    let (most, least, end) = (before.hits[1].score, before.hits[20].score, before.hits[21].score);
    for (path, judged) in [("notes/19.md", 1.0), ("notes/03.md", 2.0 / 3.0), ("notes/05.md", 0.0)] {
        let scaled = (score(&before, path) - least) / (most - least);
        let expected = end + (most - end) * (0.7 * judged + 0.3 * scaled);
        assert!((score(&after, path) - expected).abs() < 1e-9, "{path}: {} {expected}", score(&after, path));
    }
    assert_eq!(paths(&after)[1..3], ["notes/03.md", "notes/19.md"]);
    assert!(after.hits.is_sorted_by(|one, two| one.score >= two.score));
}

#[test]
fn what_is_not_sent_keeps_its_place_by_its_score() {
    let config = SearchConfig::default();
    let judge = scripted(|text| if text.contains("Note 9\n") { 1.0 } else { 0.0 });
    let open = |file: &FileEntry| match file.path.as_str() {
        "notes/00.md" | "notes/01.md" => MaySend::No,
        _ => MaySend::Yes,
    };
    let after = found(Some(&judge), &open, &config);
    assert!(matches!(after.unassisted[..], [Unassisted::Withheld(2)]));
    assert!(judge.given.lock().unwrap().iter().all(|text| !text.contains("Note 0\n") && !text.contains("Note 1\n")));
    // The best of all by its score keeps that score; the next is right behind it, and what is judged 0 far behind.
    assert_eq!(paths(&after)[1..3], ["notes/00.md", "notes/01.md"]);
    assert_eq!(paths(&after)[3], "notes/09.md");
}

#[test]
fn whoever_says_nothing_changes_nothing() {
    let config = SearchConfig::default();
    let before = found(None, &all, &config);
    let same = |after: &Results| paths(after) == paths(&before);
    assert!(same(&found(Some(&scripted(|_| 0.3)), &all, &config)), "the same of all");
    let failing = Scripted { fails: true, ..scripted(|_| 0.0) };
    let failed = found(Some(&failing), &all, &config);
    assert!(same(&failed) && matches!(&failed.unassisted[..], [Unassisted::OrderKept(_)]));
    let judge = scripted(|_| 0.0);
    let withheld = found(Some(&judge), &|_| MaySend::No, &config);
    assert!(same(&withheld) && judge.given.lock().unwrap().is_empty());
    assert!(matches!(withheld.unassisted[..], [Unassisted::Withheld(20)]));
}

#[test]
fn a_hit_that_is_cut_was_one_of_those_that_were_asked_for() {
    let config = SearchConfig::default();
    let judge = scripted(|text| if text.contains("Note 19") { 1.0 } else { 0.0 });
    let how = Asked { reranker: Some(&judge), limit: 5, min_relevance: Some(0.6), ..Asked::default() };
    let some = searched(&config, &how);
    // What is judged 0 is cut, however many words it has, and others take its place.
    assert_eq!(paths(&some), ["notes/called.md", "notes/19.md", "notes/20.md", "notes/21.md", "notes/22.md"]);
    assert_eq!(some.left_out, 3);
    assert_eq!(some.hits[1].relevance, Some(1.0));
    let every = found(Some(&judge), &all, &config);
    let relevance = |path: &str| every.hits.iter().find(|hit| hit.file.path.as_str() == path).unwrap().relevance;
    assert!(relevance("notes/03.md").unwrap() <= 0.3, "{:?}", relevance("notes/03.md"));
}

#[test]
fn whoever_sees_nothing_has_nobody_asked() {
    let judge = scripted(|_| 0.0);
    let how = Asked { reranker: Some(&judge), sees_nothing: true, ..Asked::default() };
    let nothing = searched(&SearchConfig::default(), &how);
    assert!(nothing.hits.is_empty() && nothing.unassisted.is_empty());
    assert!(judge.given.lock().unwrap().is_empty());
}

#[test]
fn a_request_asks_once_what_fails_however_often_it_is_begun_anew() {
    let config = SearchConfig::default();
    let (failed, judge) = (OnceCell::new(), Scripted { fails: true, ..scripted(|_| 0.0) });
    for _ in 0..3 {
        let how = Asked { reranker: Some(&judge), failed: Some(&failed), ..Asked::default() };
        let found = searched(&config, &how);
        assert!(matches!(found.unassisted[..], [Unassisted::OrderKept(_)]));
    }
    assert_eq!(judge.given.lock().unwrap().len(), 20);
}

#[test]
fn nothing_is_judged_beside_what_is_to_be_hidden() {
    let judge = scripted(|_| 0.5);
    let hides = |file: &FileEntry| match file.path.as_str() {
        "notes/05.md" => MaySend::Hidden,
        _ => MaySend::Yes,
    };
    let found = found(Some(&judge), &hides, &SearchConfig::default());
    let [Unassisted::Hidden(files)] = &found.unassisted[..] else { panic!("{:?}", found.unassisted) };
    assert_eq!((files.len(), files[0].path.as_str()), (1, "notes/05.md"));
    assert!(judge.given.lock().unwrap().is_empty());
}
