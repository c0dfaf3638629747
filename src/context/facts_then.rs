//! Facts as they were known at a moment in the past.

use super::block::MemoryLine;
use super::likeness::QuestionWords;
use super::lines::LineSight;
use super::trust::is_planted;
use crate::config::MemoryScope;
use crate::derive::facts::{full_name, windows};
use crate::wire::citation;

/// Maximum number of facts of then that are given for a question.
const MAX_FACTS: usize = 10;

/// Facts as they were known then, of files that have changed since: those that share words with a question, the likest first. The histories tell
/// them; a file that has not changed is found as any note is.
pub(super) fn facts_of(sight: &LineSight, query: &str, at: i64) -> Vec<MemoryLine> {
    let workspace = sight.given.workspace();
    let mut words = QuestionWords::of(query, workspace.config().search.stemmer);
    let ledger = workspace.ledger();
    let mut found = Vec::new();
    let own = sight.agent().map(|slug| MemoryScope::Agent(slug.to_owned()));
    for scope in std::iter::once(MemoryScope::User).chain(own) {
        let Ok(path) = ledger.path(&scope) else { continue };
        let Some(file) = sight.file_as_now(path.as_str()) else { continue };
        if sight.is_of_then(file) || is_planted(sight.given.reader().files(), file) {
            continue;
        }
        let Ok(book) = ledger.book(&scope) else { continue };
        // What was read has to be what was seen.
        if sight.given.is_agents() && book.stamp != Some(file.stamp) {
            continue;
        }
        book.history_paths().for_each(|path| sight.look_at(&path));
        if !book.history_paths().all(|path| sight.gives_history(&path)) {
            continue;
        }
        for (namespace, key) in book.history.names() {
            let known = book.history.of(namespace, key).filter(|change| change.noticed() <= at);
            let windows = windows(known);
            let Some(window) = windows.iter().find(|window| window.holds(at)) else { continue };
            let text = format!("{}: {}", full_name(namespace, key), window.text);
            let likeness = words.in_text(&text.replace(['_', '/', '-', '.'], " "));
            if likeness > 0 {
                let line = book.facts.get(namespace, key).map_or(1, |fact| fact.line as u32);
                found.push((likeness, MemoryLine::new(text, citation(path.as_str(), line, line))));
            }
        }
    }
    found.sort_by(|(one, a), (two, b)| two.cmp(one).then_with(|| a.text.cmp(&b.text)));
    found.truncate(MAX_FACTS);
    found.into_iter().map(|(_, line)| line).collect()
}
