//! The property, and random operations to try it with.

use memory_vault::access::rules::Scope;
use memory_vault::index::search::{Visible, search};
use proptest::prelude::*;

use super::engine::Engine;
use super::op::{Change, News, Op, change, op};
use super::tree::Tree;
use crate::support::prelude::*;

const QUERIES: [&str; 7] =
    ["river boat", "garden", "\"green apple\"", "apple -river", "code_name tea", "unheard of", "café"];

/// Plays the operations; fails with what the index and the files differ in.
pub fn play(ops: &[Op]) -> Result<(), String> {
    let Some(mut engine) = Engine::start() else {
        skipped("this system has no file events");
        return Ok(());
    };
    let mut tree = Tree::new(engine.root());
    for op in ops {
        match op {
            Op::Tree(change) => {
                tree.apply(change);
                engine.hear();
                engine.lost |= std::mem::take(&mut tree.unseen);
            }
            Op::News(news) => engine.play(news),
        }
    }
    engine.rest();
    compare(&engine.vault, &tree)?;
    let followed = engine.vault.answers(&QUERIES);
    difference(&followed, &engine.vault.fresh_answers(&QUERIES)).map_or(Ok(()), Err)
}

/// Holds the index against the model: every word that marks a note is found in it and its copies, and nowhere else.
fn compare(vault: &TestVault, tree: &Tree) -> Result<(), String> {
    let notes = tree.notes();
    let same = |what: &str, found: BTreeSet<&str>, expected: BTreeSet<&str>| match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: found {found:?}, expected {expected:?}")),
    };
    for mark in tree.marks() {
        let with_mark = || notes.iter().filter(|(_, text)| text.marks().any(|found| found == mark));
        let hits = vault.search_with(&SearchQuery {
            q: mark.clone(),
            mode: Some(Mode::Keyword),
            limit: Some(100),
            ..SearchQuery::default()
        });
        same(&mark, hits.paths().into_iter().collect(), with_mark().map(|(path, _)| *path).collect())?;
        for hit in hits.0.results.iter().map(|hit| &hit.chunk).filter(|hit| hit.content.contains(&mark)) {
            let text = fs::read_to_string(vault.path(&hit.path)).unwrap();
            let (first, last) = (hit.line_start as usize, hit.line_end as usize);
            if !text.lines().take(last).skip(first - 1).any(|line| line.contains(&mark)) {
                return Err(format!("{mark} is not in {}", hit.citation));
            }
        }
        let public = with_mark().filter(|(_, text)| !text.is_private());
        let found = public_paths(vault, &mark);
        same("for everyone", found.iter().map(String::as_str).collect(), public.map(|(path, _)| *path).collect())?;
    }
    let status = vault.status();
    let problems = status.problems.iter().map(|problem| problem.path.as_str());
    // Whether a link leads to a folder is seen when it is looked at, and may change without it.
    let problems: BTreeSet<&str> = problems.filter(|path| !tree.is_other_link(path)).collect();
    same("problems", problems, tree.problems())?;
    match status.files == notes.len() {
        true => Ok(()),
        false => Err(format!("{} notes are indexed, and {} are there", status.files, notes.len())),
    }
}

/// Where those find a word who see nothing private.
fn public_paths(vault: &TestVault, word: &str) -> BTreeSet<String> {
    let snapshot = vault.app().shared.snapshot().unwrap();
    let found = search(
        snapshot.as_ref(),
        None,
        &Visible::of(&Scope::public(), snapshot.files()),
        &vault.config.search,
        &search_request(word, Mode::Keyword, 100),
    )
    .unwrap();
    found.hits.into_iter().map(|hit| hit.file.path.to_string()).collect()
}

/// A case takes long: what fails is made smaller for a while only.
fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { max_shrink_iters: 200, ..proptest_config(cases) }
}

/// Whether the file system tells names apart that differ in case or Unicode normalisation alone, as the model does.
fn names_are_bytes() -> bool {
    let folder = tempfile::tempdir().unwrap();
    let path = |name| folder.path().join(name);
    fs::write(path("caf\u{e9}"), "").unwrap();
    let apart = !path("CAF\u{c9}").exists() && !path("cafe\u{301}").exists();
    if !apart {
        skipped("this file system takes different names for one");
    }
    apart
}

proptest! {
    #![proptest_config(config(24))]

    #[test]
    fn the_index_says_what_the_files_say(ops in prop::collection::vec(op(), 5..60)) {
        if names_are_bytes() {
            play(&ops).map_err(TestCaseError::fail)?;
        }
    }
}

proptest! {
    #![proptest_config(config(4))]

    /// Files that have long been as they are count as unchanged when their stamps are. No event tells of the changes.
    #[test]
    fn a_rescan_finds_what_changed_by_stamps_alone(
        before in prop::collection::vec(change(), 20..50),
        after in prop::collection::vec(change(), 5..30),
    ) {
        if names_are_bytes() {
            let tree = |changes: Vec<Change>| changes.into_iter().map(Op::Tree);
            let news = |news| std::iter::once(Op::News(news));
            let ops = tree(before).chain(news(News::Age)).chain(tree(after)).chain(news(News::LoseAll));
            play(&ops.collect::<Vec<_>>()).map_err(TestCaseError::fail)?;
        }
    }
}
