//! The text of a history: what is put at its end, and what is taken out of it for good.

use std::collections::HashMap;

use super::change::{FactChange, FactChangeKind, read_line};

/// What a new history begins with.
const HEAD: &str = "# History of facts.md\n\nEach line is a change of a fact: when it was noticed, which, from what to what, by whom. \
    `vault` adds to it, and tells by it what was true when. Edit facts.md; what was never true is taken back there by `~~striking it out~~`.\n\n";

/// The first line of a history that was noticed at a moment, from 1.
pub(crate) fn line_noticed_at(source: &str, at: i64) -> Option<usize> {
    let found = source.lines().position(|line| read_line(line).is_some_and(|change| change.noticed() == at));
    found.map(|line| line + 1)
}

/// The text of a history with changes at its end.
#[cfg(test)]
pub(super) fn with_changes(source: &str, changes: &[FactChange]) -> String {
    format!("{source}{}", lines_after(source, changes))
}

/// What is put at the end of a history with that text, where changes come after it.
pub(crate) fn lines_after(source: &str, changes: &[FactChange]) -> String {
    let end = if source.contains("\r\n") { "\r\n" } else { "\n" };
    let mut text = match source {
        source if source.trim().is_empty() => HEAD.to_owned(),
        source if source.ends_with('\n') => String::new(),
        _ => end.to_owned(),
    };
    for change in changes {
        text += &change.to_string();
        text += end;
    }
    text
}

/// The text of a history without the values that are meant. What it says of others stays, with when and where it was learned: where one
/// took the place of another, it does so of none.
///
/// The name of a line is made of what it says and of the names before it, so that a value could be guessed by them: from the first line of a
/// fact that says another thing, its lines are named anew.
pub(crate) fn without_changes(source: &str, mut is_meant: impl FnMut(&FactChange, &str) -> bool) -> String {
    let mut text = String::with_capacity(source.len());
    // Of each fact the name of the line before, and whether it is another than it was.
    let mut before: HashMap<(String, String), (String, bool)> = HashMap::new();
    for line in source.split_inclusive('\n') {
        let said = line.trim_end_matches(['\r', '\n']);
        let Some(mut change) = read_line(said) else {
            text += line;
            continue;
        };
        let (last, is_other) = before.entry((change.namespace.clone(), change.key.clone())).or_default();
        let is_old = change.old.as_deref().is_some_and(|old| is_meant(&change, old));
        let is_new = change.kind.value().is_some_and(|(new, _)| is_meant(&change, new));
        *is_other |= is_old || is_new;
        if !*is_other {
            *last = change.id;
            text += line;
            continue;
        }
        if is_old {
            change.old = None;
        }
        match change.kind {
            _ if !is_new => {}
            FactChangeKind::Set { .. } => change.kind = FactChangeKind::Unset,
            FactChangeKind::Corrected { .. } => change.kind = FactChangeKind::Retracted,
            FactChangeKind::Was { .. }
            | FactChangeKind::WasNot { .. }
            | FactChangeKind::Unset
            | FactChangeKind::Retracted => continue,
        }
        // Of none became none.
        if (is_old || is_new) && change.old.is_none() && change.kind.value().is_none() {
            continue;
        }
        change.name_after(last);
        change.id.clone_into(last);
        text += &change.to_string();
        text += &line[said.len()..];
    }
    text
}

/// The text of a history without the places that are meant: where something was learned is not said there any more.
pub(crate) fn without_sources(source: &str, is_meant: impl Fn(&str) -> bool) -> String {
    let mut text = String::with_capacity(source.len());
    for line in source.split_inclusive('\n') {
        let said = line.trim_end_matches(['\r', '\n']);
        match read_line(said).filter(|change| change.source.as_deref().is_some_and(&is_meant)) {
            Some(change) => {
                text += &FactChange { source: None, ..change }.to_string();
                text += &line[said.len()..];
            }
            None => text += line,
        }
    }
    text
}
