//! What a question names that notes are called.

use super::lines::LineSight;
use crate::derive::Label;
use crate::derive::words::is_word;
use crate::request::ReadScope;

/// Minimum length of a name, in letters: shorter ones are words of any text.
const MIN_LETTERS: usize = 4;
/// Maximum length of a name, in words.
const MAX_WORDS: usize = 4;
/// Maximum number of words of a question that are looked at.
const MAX_LOOKED: usize = 200;

/// The longest run of words that a note which is seen is called, if any. A name of one word has to begin as names do, unless the script has
/// no capitals: `notes`, `plan` and `ideas` are words before they are titles.
pub(super) fn named(query: &str, sight: &LineSight) -> Option<String> {
    let scopes = sight.scopes();
    let runs = query.split(|character: char| !is_word(character) && !matches!(character, '\'' | '-' | '_'));
    let words: Vec<&str> = runs.filter(|run| !run.is_empty()).take(MAX_LOOKED).collect();
    for length in (1..=MAX_WORDS.min(words.len())).rev() {
        for run in words.windows(length) {
            let name = run.join(" ");
            let letters = name.chars().filter(|character| is_word(*character)).count();
            let begins = name.chars().next().is_some_and(|first| !first.is_lowercase());
            if letters < MIN_LETTERS || (length == 1 && !begins) {
                continue;
            }
            if is_known(&name, sight, &scopes) {
                return Some(name);
            }
        }
    }
    None
}

/// Whether a note that is seen is called so: for an agent one that is as it was indexed, since it may be private by now.
pub(super) fn is_known(name: &str, sight: &LineSight, scopes: &[&ReadScope]) -> bool {
    let Some(label) = Label::of_name(name) else { return false };
    scopes.iter().any(|scope| {
        let files = scope.reader().files();
        if !scope.is_agents() {
            return files.facets().has_label(label, scope.visible());
        }
        let called = files.facets().labelled(label);
        let given = called.iter().filter_map(|id| files.get(id)).find(|file| scope.has(file) && scope.gives(file));
        given.inspect(|file| sight.look_at_indexed(scope, file.path.as_str())).is_some()
    })
}
