//! A fact as it is answered.

use serde_json::Value;

use crate::derive::facts::{Fact, FactChange, FactChangeKind, FactPhase, FactWindow, read_value, windows};
use crate::items::FactsBook;
use crate::request::rfc3339;
use crate::wire::{FactChangeView, FactState, FactView, FactWindowView, citation};

/// The name of a fact within a scope.
pub(super) type Name<'a> = (&'a str, &'a str);

/// A value as written, read.
pub(super) fn value(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| read_value(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}

/// A fact as its file has it at a moment.
pub(super) fn of_file(scope: &str, book: &FactsBook, fact: &Fact, at: i64) -> FactView {
    let known = book.history.of(&fact.namespace, &fact.key);
    let change = known
        .rev()
        .find(|change| change.kind.is_said() && change.kind.value().is_some_and(|(text, _)| text == fact.text));
    let state = match fact.phase(at) {
        None => FactState::Retracted,
        Some(FactPhase::Current) => FactState::Current,
        Some(FactPhase::Expired) => FactState::Expired,
        Some(FactPhase::Future) => FactState::Future,
    };
    let known = windows(book.history.of(&fact.namespace, &fact.key));
    let window = known.iter().rev().find(|window| change.is_some_and(|change| window.change.id == change.id));
    let said = fact.window.from.as_ref().and_then(|from| from.ms);
    let from = if fact.window.from.is_some() { said } else { window.and_then(|window| window.from) };
    FactView {
        value: if fact.text.is_empty() { Value::Null } else { fact.value.clone() },
        state,
        valid_from: from.map(rfc3339),
        valid_to: fact.window.end().map(rfc3339),
        tags: fact.tags.clone(),
        citation: line_citation(book, fact),
        ..empty(scope, book, (&fact.namespace, &fact.key), change)
    }
}

/// Where a fact stands.
pub(super) fn line_citation(book: &FactsBook, fact: &Fact) -> String {
    citation(book.path.as_str(), fact.line as u32, fact.line as u32)
}

/// What was true of a fact in a window.
pub(super) fn of_window(scope: &str, book: &FactsBook, name: Name<'_>, window: &FactWindow<'_>) -> FactView {
    let fact = book.facts.get(name.0, name.1);
    FactView {
        value: value(Some(window.text)),
        state: FactState::Current,
        valid_from: window.from.map(rfc3339),
        valid_to: window.until.map(rfc3339),
        tags: fact.map(|fact| fact.tags.clone()).unwrap_or_default(),
        ..empty(scope, book, name, Some(window.change))
    }
}

/// A fact of which the file says what begins later, is over or was never true, and what is true of it until further notice, or until that
/// begins.
pub(super) fn of_standing(scope: &str, book: &FactsBook, fact: &Fact, window: &FactWindow<'_>, at: i64) -> FactView {
    let is_to_come = fact.phase(at) == Some(FactPhase::Future);
    let next = is_to_come.then(|| FactWindowView {
        value: fact.value.clone(),
        valid_from: fact.window.from.as_ref().and_then(|from| from.ms).map(rfc3339),
        valid_to: fact.window.end().map(rfc3339),
        retracted: false,
    });
    FactView { next, ..of_window(scope, book, (&fact.namespace, &fact.key), window) }
}

/// What had been true of a fact in a window that was over at a moment, or was to be true in one that had not begun.
pub(super) fn of_other_window(
    scope: &str,
    book: &FactsBook,
    name: Name<'_>,
    window: &FactWindow<'_>,
    at: i64,
) -> FactView {
    let is_over = window.until.is_some_and(|until| until <= at);
    let state = if is_over { FactState::Expired } else { FactState::Future };
    FactView { state, ..of_window(scope, book, name, window) }
}

/// A fact that has no value since a change.
pub(super) fn gone(scope: &str, book: &FactsBook, name: Name<'_>, change: Option<&FactChange>) -> FactView {
    empty(scope, book, name, change)
}

fn empty(scope: &str, book: &FactsBook, (namespace, key): Name<'_>, change: Option<&FactChange>) -> FactView {
    let is_retracted = change.is_some_and(|change| change.kind == FactChangeKind::Retracted);
    FactView {
        scope: scope.to_owned(),
        namespace: namespace.to_owned(),
        key: key.to_owned(),
        value: Value::Null,
        state: if is_retracted { FactState::Retracted } else { FactState::Unset },
        valid_from: None,
        valid_to: None,
        learned: change.map(|change| rfc3339(change.noticed())),
        by: change.map(|change| change.by.clone()),
        source: change.and_then(|change| change.source.clone()),
        tags: Vec::new(),
        path: book.path.to_string(),
        citation: book.path.to_string(),
        next: None,
        history: Vec::new(),
        windows: Vec::new(),
    }
}

/// The changes of a fact, and what was true when by those that were known.
pub(super) fn history(view: &mut FactView, book: &FactsBook, known_at: Option<i64>) {
    let changes = book.history.of(&view.namespace, &view.key);
    let known: Vec<&FactChange> = changes.filter(|change| known_at.is_none_or(|at| change.noticed() <= at)).collect();
    view.history = known.iter().map(|change| change_view(change)).collect();
    view.windows = windows(known.into_iter()).iter().map(window_view).collect();
}

fn change_view(change: &FactChange) -> FactChangeView {
    let (new, window) = (change.kind.value(), change.kind.window());
    let name = match change.kind {
        FactChangeKind::Set { .. } => "set",
        FactChangeKind::Corrected { .. } => "corrected",
        FactChangeKind::Was { .. } => "was",
        FactChangeKind::Unset => "unset",
        FactChangeKind::Retracted => "retracted",
        FactChangeKind::WasNot { .. } => "was-not",
    };
    FactChangeView {
        learned: rfc3339(change.noticed()),
        change: name.to_owned(),
        old: value(change.old.as_deref()),
        new: value(new.map(|(text, _)| text)),
        from: window.and_then(|window| window.from.as_ref()).map(|from| from.text.clone()),
        until: window.and_then(|window| window.until.as_ref()).map(|until| until.text.clone()),
        by: change.by.clone(),
        source: change.source.clone(),
        id: change.id.clone(),
    }
}

fn window_view(window: &FactWindow<'_>) -> FactWindowView {
    FactWindowView {
        value: value(Some(window.text)),
        valid_from: window.from.map(rfc3339),
        valid_to: window.until.map(rfc3339),
        retracted: window.is_retracted,
    }
}
