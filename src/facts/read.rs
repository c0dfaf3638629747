//! Looking facts up.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::moments::Moments;
use super::properties::properties;
use super::scopes::{asked, book, is_tag_of_all};
use super::view::{gone, history, line_citation, of_file, of_other_window, of_standing, of_window};
use crate::config::MemoryScope;
use crate::derive::facts::{FactChange, FactWindow, Validity, full_name, split_name, windows};
use crate::items::FactsBook;
use crate::path::folded;
use crate::request::{RequestError, Room, Viewer, Visibility, limit};
use crate::wire::{FactChangeView, FactNear, FactProblem, FactState, FactView, FactsParams, FactsView};

/// Facts when nobody says how many.
const FACTS: usize = 200;
/// The same of a tag in all scopes.
const TAGGED: usize = 10;
/// Facts that may have been meant, at most.
const NEAR: usize = 5;

/// The facts that are asked for, as far as they are seen.
///
/// # Errors
/// When a parameter makes no sense, or a file cannot be read.
pub(crate) fn facts(viewer: &Viewer, params: &FactsParams) -> Result<FactsView, RequestError> {
    let found = found(viewer, params);
    let given = found.as_ref().map(|found| {
        let near = found.near.iter().map(|near| near.citation.clone());
        found.facts.iter().map(|fact| fact.citation.clone()).chain(near).collect()
    });
    viewer.log("facts", &said(params), given.unwrap_or_default());
    found
}

/// What is asked for, as the log has it.
fn said(params: &FactsParams) -> String {
    let scope = params.scope.as_ref().or(params.resolve.as_ref());
    let parts = [scope, params.namespace.as_ref(), params.key.as_ref(), params.prefix.as_ref(), params.tag.as_ref()];
    parts.into_iter().flatten().cloned().collect::<Vec<_>>().join(" ")
}

fn found(viewer: &Viewer, params: &FactsParams) -> Result<FactsView, RequestError> {
    let limit = limit(params.limit, if is_tag_of_all(params) { TAGGED } else { FACTS })?;
    let moments = Moments::of(params, viewer.at())?;
    let (scopes, first_wins) = asked(viewer, params)?;
    let visibility = Visibility::of(viewer)?;
    let limit = visibility.given().results(limit);
    let mut room = visibility.given().room();
    let (mut view, mut taken) = (FactsView::default(), HashSet::new());
    let mut books = Vec::with_capacity(scopes.len());
    for scope in &scopes {
        visibility.given().go_on()?;
        let book = match book(&visibility, scope) {
            // Of several the others have their answers.
            Err(error) if scopes.len() > 1 => {
                let path = viewer.workspace().ledger().path(scope)?.to_string();
                view.problems.push(FactProblem { path, line: None, message: error.message, is_unread: true });
                None
            }
            book => book?,
        };
        books.push((scope, book));
    }
    let winners = match first_wins && (params.tag.is_some() || params.changed_since.is_some()) {
        true => Some(winners(params, &visibility, &books)?),
        false => None,
    };
    if params.scope.as_deref() == Some("*") {
        let there = books.iter().filter(|(_, book)| book.is_some());
        view.scopes = there.map(|(scope, _)| scope.to_string()).collect();
    }
    'scopes: for (place, (scope, book)) in books.iter().enumerate() {
        let book = book.as_deref();
        let most = limit + taken.len();
        for mut fact in of_scope(params, &moments, &visibility, (scope, book, most), &mut view.problems)? {
            let name = (fact.namespace.clone(), fact.key.clone());
            let has_lost = winners.as_ref().and_then(|winners| winners.get(&name)).is_some_and(|won| *won != place);
            if has_lost || first_wins && taken.contains(&name) {
                continue;
            }
            hide_sources(&mut fact, &visibility);
            if view.facts.len() >= limit || !take(&mut room, &fact) {
                view.cut = true;
                break 'scopes;
            }
            taken.insert(name);
            view.facts.push(fact);
        }
    }
    if let (true, Some(key)) = (view.facts.is_empty() && !view.cut, &params.key) {
        view.near = near(&visibility, key)?;
    }
    Ok(view)
}

/// Of each name that has an answer in some scope the place of the first that has: whatever its tags, and whenever it has changed.
fn winners(
    params: &FactsParams,
    visibility: &Visibility,
    books: &[(&MemoryScope, Option<Arc<FactsBook>>)],
) -> Result<HashMap<(String, String), usize>, RequestError> {
    let all = FactsParams { tag: None, changed_since: None, ..params.clone() };
    let moments = Moments::of(&all, visibility.viewer().at())?;
    let mut winners = HashMap::new();
    for (place, (scope, book)) in books.iter().enumerate() {
        for fact in of_scope(&all, &moments, visibility, (scope, book.as_deref(), usize::MAX), &mut Vec::new())? {
            winners.entry((fact.namespace, fact.key)).or_insert(place);
        }
    }
    Ok(winners)
}

/// The facts of one scope that are asked for, as far as they are seen, and what of their file cannot be read.
fn of_scope(
    params: &FactsParams,
    moments: &Moments,
    visibility: &Visibility,
    (scope, book, most): (&MemoryScope, Option<&FactsBook>, usize),
    problems: &mut Vec<FactProblem>,
) -> Result<Vec<FactView>, RequestError> {
    let mut facts = Vec::new();
    if let Some(book) = book {
        if !visibility.is_agents() {
            problems.extend(book.problems().map(|(path, line, message)| FactProblem {
                path,
                line,
                message,
                is_unread: false,
            }));
        }
        // The headings of a file are read in lower case.
        let namespace = params.namespace.as_ref().map(|namespace| namespace.to_lowercase());
        let question =
            FactQuestion { params, namespace: namespace.as_deref(), moments, name: &scope.to_string(), book };
        for (namespace, key) in question.names() {
            visibility.given().go_on()?;
            facts.extend(question.answer(namespace, key));
        }
    }
    // What a note said of itself then is not known.
    if visibility.viewer().workspace().config().facts.properties && !moments.is_past {
        facts.extend(properties(visibility, scope, params, most)?);
    }
    Ok(facts)
}

/// Facts of that key that may have been meant: in another namespace or scope, or true at another time.
fn near(visibility: &Visibility, key: &str) -> Result<Vec<FactNear>, RequestError> {
    let mut near = Vec::new();
    for scope in visibility.viewer().workspace().ledger().scopes() {
        visibility.given().go_on()?;
        // A file that cannot be read was not asked for.
        let Ok(Some(book)) = book(visibility, &scope) else { continue };
        for fact in book.facts.called(key).take(NEAR - near.len()) {
            near.push(FactNear {
                scope: scope.to_string(),
                namespace: fact.namespace.clone(),
                key: fact.key.clone(),
                citation: line_citation(&book, fact),
            });
        }
    }
    Ok(near)
}

/// A question to the facts of one scope.
struct FactQuestion<'a> {
    params: &'a FactsParams,
    /// The namespace that is asked for, in lower case.
    namespace: Option<&'a str>,
    moments: &'a Moments,
    /// The scope's name.
    name: &'a str,
    book: &'a FactsBook,
}

impl<'a> FactQuestion<'a> {
    /// The names of the facts that may be meant, by namespace and key.
    fn names(&self) -> Vec<(&'a str, &'a str)> {
        let (params, book) = (self.params, self.book);
        if let (Some(namespace), Some(key)) = (self.namespace, &params.key) {
            let known =
                book.history.of(namespace, key).next().map(|change| (change.namespace.as_str(), change.key.as_str()));
            let there = book.facts.get(namespace, key).map(|fact| (fact.namespace.as_str(), fact.key.as_str()));
            return there.or(known).into_iter().collect();
        }
        let there: Vec<(&str, &str)> = match self.namespace {
            Some(namespace) => {
                book.facts.namespace(namespace).map(|fact| (fact.namespace.as_str(), fact.key.as_str())).collect()
            }
            None => book.facts.facts().map(|fact| (fact.namespace.as_str(), fact.key.as_str())).collect(),
        };
        let needs_gone = self.moments.is_past || self.moments.changed_since.is_some() || params.history == Some(true);
        let known = needs_gone.then(|| book.history.names()).into_iter().flatten();
        let mut names: Vec<(&str, &str)> = there.into_iter().chain(known).filter(|name| self.means(name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn means(&self, (namespace, key): &(&str, &str)) -> bool {
        let Self { params, book, .. } = self;
        self.namespace.is_none_or(|wanted| wanted == *namespace)
            && params.key.as_ref().is_none_or(|wanted| wanted == key)
            && params.prefix.as_ref().is_none_or(|prefix| begins(namespace, key, prefix))
            && params.tag.as_ref().is_none_or(|wanted| {
                let wanted = folded(wanted.trim_start_matches('#'));
                let fact = book.facts.get(namespace, key);
                fact.is_some_and(|fact| {
                    fact.tags.iter().any(|tag| {
                        let tag = folded(tag);
                        tag == wanted || tag.strip_prefix(&wanted).is_some_and(|below| below.starts_with('/'))
                    })
                })
            })
    }

    /// What is to be said of a fact; nothing where it has no answer at that moment.
    fn answer(&self, namespace: &str, key: &str) -> Option<FactView> {
        let Self { params, moments, name, book, .. } = self;
        let known = || {
            book.history.of(namespace, key).filter(|change| moments.known_at.is_none_or(|at| change.noticed() <= at))
        };
        if let Some(since) = moments.changed_since {
            known().next_back().filter(|change| change.noticed() >= since)?;
        }
        let with_history = params.history == Some(true);
        // A file that went while nobody looked says nothing of now.
        if moments.is_past && book.stamp.is_none() && moments.as_of >= moments.now {
            return None;
        }
        let fact = book.facts.get(namespace, key);
        let mut view = match fact {
            // Now, and from now on, the file says what is true.
            _ if moments.known_at.is_some() || moments.as_of < moments.now => {
                match self.then((namespace, key), known()) {
                    Some(view) => view,
                    None if with_history || moments.changed_since.is_some() => {
                        let last = known().rfind(|change| change.kind.is_said());
                        gone(name, book, (namespace, key), Some(last?))
                    }
                    None => return None,
                }
            }
            Some(fact) => match book.history.standing(fact, moments.as_of) {
                Some(window) => of_standing(name, book, fact, &window, moments.as_of),
                None => of_file(name, book, fact, moments.as_of),
            },
            None => gone(name, book, (namespace, key), book.history.last_said(namespace, key)),
        };
        let is_asked_for = match view.state {
            FactState::Current => true,
            FactState::Expired | FactState::Future => {
                params.expired == Some(true) || with_history || moments.changed_since.is_some()
            }
            FactState::Retracted | FactState::Unset => with_history || moments.changed_since.is_some(),
        };
        if with_history {
            history(&mut view, book, moments.known_at);
        }
        is_asked_for.then_some(view)
    }

    /// What was true at another moment than now, by those changes.
    fn then<'h>(
        &self,
        (namespace, key): (&str, &str),
        known: impl Iterator<Item = &'h FactChange>,
    ) -> Option<FactView> {
        let Self { moments, name, book, .. } = self;
        let windows = windows(known);
        if let Some(window) = windows.iter().find(|window| window.holds(moments.as_of)) {
            return Some(of_window(name, book, (namespace, key), window));
        }
        // A file whose changes nobody notes says by itself when it is true.
        if book.history.of(namespace, key).next().is_none() && moments.known_at.is_none() {
            let fact = book.facts.get(namespace, key).filter(|fact| !fact.window.is_empty())?;
            return Some(of_file(name, book, fact, moments.as_of));
        }
        let other = other_window(&windows, moments.as_of)?;
        Some(of_other_window(name, book, (namespace, key), other, moments.as_of))
    }
}

/// The window that had ended at a moment at which nothing was true, or else had not begun, by what is said of its end or its beginning.
fn other_window<'w, 'h>(windows: &'w [FactWindow<'h>], at: i64) -> Option<&'w FactWindow<'h>> {
    let mut true_ones = windows.iter().filter(|window| !window.is_retracted);
    let over = true_ones.clone().rev().find(|window| window.until.is_some_and(|until| until <= at));
    // One that another value ended, or that was taken away, is not over by itself.
    let over = over.filter(|window| window.change.kind.window().and_then(Validity::end) == window.until);
    over.or_else(|| {
        true_ones.find(|window| {
            let says_from = window.change.kind.window().is_some_and(|said| said.from.is_some());
            says_from && window.from.is_some_and(|from| at < from)
        })
    })
}

/// A place that is not seen is not named.
fn hide_sources(fact: &mut FactView, visibility: &Visibility) {
    if !visibility.is_agents() {
        return;
    }
    let hide = |source: &mut Option<String>| {
        let is_seen = source.as_ref().is_some_and(|source| visibility.sees_source(source));
        *source = source.take().filter(|_| is_seen);
    };
    hide(&mut fact.source);
    fact.history.iter_mut().for_each(|change| hide(&mut change.source));
}

/// Takes room for all that is said of a fact.
fn take(room: &mut Room, fact: &FactView) -> bool {
    let chars = |value: &serde_json::Value| value.to_string().chars().count();
    let of_change = |change: &FactChangeView| chars(&change.old) + chars(&change.new) + 40;
    let texts = fact.tags.iter().chain([&fact.namespace, &fact.key]).chain(&fact.source);
    let said: usize = texts.map(|text| text.chars().count()).sum();
    let windows: usize = fact.windows.iter().chain(&fact.next).map(|window| chars(&window.value)).sum();
    room.take(said + chars(&fact.value) + fact.history.iter().map(of_change).sum::<usize>() + windows)
}

/// Whether a fact's name begins so. Headings are read in lower case, so that the case of a namespace does not count.
fn begins(namespace: &str, key: &str, prefix: &str) -> bool {
    let (name, (above, last)) = (full_name(namespace, key), split_name(prefix));
    name.starts_with(&full_name(&above.to_lowercase(), last)) || name.starts_with(&prefix.to_lowercase())
}
