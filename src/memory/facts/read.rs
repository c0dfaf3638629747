//! Looking facts up: which scopes and moments a request asks for, what it may see, and a fact as it is answered; and the task that follows the
//! files: notes what somebody has changed in them, and counts.

use std::collections::HashMap;
use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use serde_json::Value;

use crate::access::request::{
    Budget, Edge, RequestError, Viewer, Visibility, Workspace, limit, memory_scopes, parse, parse_last, rfc3339,
};
use crate::base::config::MemoryScope;
use crate::base::fs::FsError;
use crate::base::path::VaultPath;
use crate::base::tasks::{Task, TaskSignal};
use crate::memory::items::{FactStore, FactsSnapshot, ItemError};
use crate::serve::wire::{
    FactChangeView, FactNear, FactProblem, FactState, FactView, FactWindowView, FactsParams, FactsState, FactsView,
    citation,
};
use crate::text::derive::facts::{
    Fact, FactChange, FactChangeKind, FactWindow, full_name, has_tag, read_value, split_name, windows,
};

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
    let limit = visibility.given.results(limit);
    let mut room = visibility.given.room();
    let mut view = FactsView::default();
    let mut books = Vec::with_capacity(scopes.len());
    for scope in &scopes {
        visibility.given.go_on()?;
        match book(&visibility, scope) {
            Ok(book) => books.extend(book.map(|book| (scope, book))),
            // Of several the others have their answers.
            Err(error) if scopes.len() > 1 => {
                let path = viewer.workspace().fact_store.path(scope)?.to_string();
                view.problems.push(FactProblem { path, line: None, message: error.message, is_unread: true });
            }
            Err(error) => return Err(error),
        }
    }
    if params.scope.as_deref() == Some("*") {
        view.scopes = books.iter().map(|(scope, _)| scope.to_string()).collect();
    }
    // Of each name the first scope that has an answer, whatever its tags, and whenever it has changed: it hides those of the others.
    let mut winners = HashMap::new();
    if first_wins {
        let all = FactsParams { tag: None, changed_since: None, ..params.clone() };
        let moments = Moments { changed_since: None, ..moments };
        for (place, (scope, book)) in books.iter().enumerate() {
            for fact in of_scope(&all, &moments, &visibility, (scope, book))? {
                winners.entry((fact.namespace, fact.key)).or_insert(place);
            }
        }
    }
    'scopes: for (place, (scope, book)) in books.iter().enumerate() {
        if !visibility.is_agents() {
            view.problems.extend(problems_of(&viewer.workspace().fact_store, book));
        }
        for mut fact in of_scope(params, &moments, &visibility, (scope, book))? {
            let name = (fact.namespace.clone(), fact.key.clone());
            if first_wins && *winners.entry(name).or_insert(place) != place {
                continue;
            }
            hide_sources(&mut fact, &visibility);
            if view.facts.len() >= limit || !take(&mut room, &fact) {
                view.cut = true;
                break 'scopes;
            }
            view.facts.push(fact);
        }
    }
    if let (true, Some(key)) = (view.facts.is_empty() && !view.cut, &params.key) {
        view.near = near(&visibility, key)?;
    }
    Ok(view)
}

/// The facts of one scope that are asked for.
fn of_scope(
    params: &FactsParams,
    moments: &Moments,
    visibility: &Visibility,
    (scope, book): (&MemoryScope, &FactsSnapshot),
) -> Result<Vec<FactView>, RequestError> {
    // The headings of a file are read in lower case.
    let namespace = params.namespace.as_ref().map(|namespace| namespace.to_lowercase());
    let question = FactQuestion { params, namespace: namespace.as_deref(), moments, name: &scope.to_string(), book };
    let mut facts = Vec::new();
    for (namespace, key) in question.names() {
        visibility.given.go_on()?;
        facts.extend(question.answer(namespace, key));
    }
    Ok(facts)
}

/// What is wrong with the files of a scope.
fn problems_of(fact_store: &FactStore, book: &FactsSnapshot) -> impl Iterator<Item = FactProblem> {
    let of_copy = |copy: VaultPath| {
        let message = "a sync service made this copy of the history, which is not read; move its lines to the end of \
            facts.history.md, and delete it";
        (copy.to_string(), None, message.to_owned())
    };
    let copies = fact_store.copies_of_history(&book.path).into_iter().map(of_copy);
    book.problems().chain(copies).map(|(path, line, message)| FactProblem { path, line, message, is_unread: false })
}

/// Facts of that key that may have been meant: in another namespace or scope, or true at another time.
fn near(visibility: &Visibility, key: &str) -> Result<Vec<FactNear>, RequestError> {
    let mut near = Vec::new();
    for scope in visibility.viewer.workspace().fact_store.scopes() {
        visibility.given.go_on()?;
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
    book: &'a FactsSnapshot,
}

impl<'a> FactQuestion<'a> {
    /// The names of the facts that may be meant, by namespace and key.
    fn names(&self) -> Vec<(&'a str, &'a str)> {
        let (params, book) = (self.params, self.book);
        let there = book.facts.facts().map(Fact::name);
        let needs_gone = self.moments.is_past || self.moments.changed_since.is_some() || params.history == Some(true);
        let known = needs_gone.then(|| book.history.names()).into_iter().flatten();
        let mut names: Vec<(&str, &str)> = there.chain(known).filter(|name| self.means(name)).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn means(&self, (namespace, key): &(&str, &str)) -> bool {
        let Self { params, book, .. } = self;
        self.namespace.is_none_or(|wanted| wanted == *namespace)
            && params.key.as_ref().is_none_or(|wanted| wanted == key)
            && params.prefix.as_ref().is_none_or(|prefix| begins(namespace, key, prefix))
            && params
                .tag
                .as_ref()
                .is_none_or(|wanted| book.facts.get(namespace, key).is_some_and(|fact| has_tag(&fact.tags, wanted)))
    }

    /// What is to be said of a fact; nothing where it has no answer at that moment.
    fn answer(&self, namespace: &str, key: &str) -> Option<FactView> {
        let Self { params, moments, book, .. } = self;
        let known =
            || book.history.of(namespace, key).filter(|change| moments.known_at.is_none_or(|at| change.learned <= at));
        if let Some(since) = moments.changed_since {
            known().next_back().filter(|change| change.learned >= since)?;
        }
        let with_history = params.history == Some(true);
        let wants_all = with_history || moments.changed_since.is_some();
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
                    None => self.gone((namespace, key), Some(known().rfind(|change| change.kind.is_said())?)),
                }
            }
            Some(fact) => match book.history.standing(fact, moments.as_of) {
                // The file says what begins later, is over or was never true; until further notice, or until that begins, this is true.
                Some(window) => {
                    let is_to_come = fact.phase(moments.as_of) == Some(FactState::Future);
                    let next = is_to_come.then(|| FactWindowView {
                        value: fact.value.clone(),
                        valid_from: fact.window.begin().map(rfc3339),
                        valid_to: fact.window.end().map(rfc3339),
                        retracted: false,
                    });
                    FactView { next, ..self.of_window((namespace, key), &window) }
                }
                None => self.of_file(fact),
            },
            None => self.gone((namespace, key), book.history.last_said(namespace, key)),
        };
        let is_asked_for = match view.state {
            FactState::Current => true,
            FactState::Expired | FactState::Future => params.expired == Some(true) || wants_all,
            FactState::Retracted | FactState::Unset => wants_all,
        };
        if with_history {
            view.history = known().map(change_view).collect();
            view.windows = windows(known()).iter().map(window_view).collect();
        }
        is_asked_for.then_some(view)
    }

    /// What was true at another moment than now, by those changes.
    fn then<'h>(
        &self,
        (namespace, key): (&str, &str),
        known: impl Iterator<Item = &'h FactChange>,
    ) -> Option<FactView> {
        let Self { moments, book, .. } = self;
        let windows = windows(known);
        if let Some(window) = windows.iter().find(|window| window.holds(moments.as_of)) {
            return Some(self.of_window((namespace, key), window));
        }
        // A file whose changes nobody notes says by itself when it is true.
        if book.history.of(namespace, key).next().is_none() && moments.known_at.is_none() {
            let fact = book.facts.get(namespace, key).filter(|fact| !fact.window.is_empty())?;
            return Some(self.of_file(fact));
        }
        // It was over at that moment, or had not begun.
        let other = other_window(&windows, moments.as_of)?;
        let is_over = other.until.is_some_and(|until| until <= moments.as_of);
        let state = if is_over { FactState::Expired } else { FactState::Future };
        Some(FactView { state, ..self.of_window((namespace, key), other) })
    }

    /// A fact as its file has it.
    fn of_file(&self, fact: &Fact) -> FactView {
        let known = self.book.history.of(&fact.namespace, &fact.key);
        let is_it = |change: &&FactChange| change.kind.is_said() && change.new.as_deref() == Some(&fact.text);
        let change = known.clone().rev().find(is_it);
        let state = fact.phase(self.moments.as_of).unwrap_or(FactState::Retracted);
        let known = windows(known);
        let window = known.iter().rev().find(|window| change.is_some_and(|change| window.change.id == change.id));
        let from = match fact.window.from {
            Some(_) => fact.window.begin(),
            None => window.and_then(|window| window.from),
        };
        FactView {
            value: if fact.text.is_empty() { Value::Null } else { fact.value.clone() },
            state,
            valid_from: from.map(rfc3339),
            valid_to: fact.window.end().map(rfc3339),
            tags: fact.tags.clone(),
            citation: line_citation(self.book, fact),
            ..self.gone(fact.name(), change)
        }
    }

    /// What was true of a fact in a window.
    fn of_window(&self, (namespace, key): (&str, &str), window: &FactWindow<'_>) -> FactView {
        let fact = self.book.facts.get(namespace, key);
        FactView {
            value: value(Some(window.text)),
            state: FactState::Current,
            valid_from: window.from.map(rfc3339),
            valid_to: window.until.map(rfc3339),
            tags: fact.map(|fact| fact.tags.clone()).unwrap_or_default(),
            ..self.gone((namespace, key), Some(window.change))
        }
    }

    /// A fact that has no value since a change.
    fn gone(&self, (namespace, key): (&str, &str), change: Option<&FactChange>) -> FactView {
        let is_retracted = change.is_some_and(|change| change.kind == FactChangeKind::Retracted);
        FactView {
            scope: self.name.to_owned(),
            namespace: namespace.to_owned(),
            key: key.to_owned(),
            state: if is_retracted { FactState::Retracted } else { FactState::Unset },
            learned: change.map(|change| rfc3339(change.learned)),
            by: change.map(|change| change.by.clone()),
            source: change.and_then(|change| change.source.clone()),
            path: self.book.path.to_string(),
            citation: self.book.path.to_string(),
            ..FactView::default()
        }
    }
}

/// The window that had ended at a moment at which nothing was true, or else had not begun, by what is said of its end or its beginning.
fn other_window<'w, 'h>(windows: &'w [FactWindow<'h>], at: i64) -> Option<&'w FactWindow<'h>> {
    let mut true_ones = windows.iter().filter(|window| !window.is_retracted);
    let over = true_ones.clone().rev().find(|window| window.until.is_some_and(|until| until <= at));
    // One that another value ended, or that was taken away, is not over by itself.
    let over = over.filter(|window| window.change.window.end() == window.until);
    over.or_else(|| {
        true_ones.find(|window| window.change.window.from.is_some() && window.from.is_some_and(|from| at < from))
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
fn take(room: &mut Budget, fact: &FactView) -> bool {
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

/// The moments that a question is about, in milliseconds since 1970.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Moments {
    /// When it is to be true.
    as_of: i64,
    /// When it is to be known; `None` is now.
    known_at: Option<i64>,
    /// Whether the question is about another moment than now.
    is_past: bool,
    /// Now.
    now: i64,
    /// Changes since then alone.
    changed_since: Option<i64>,
}

impl Moments {
    fn of(params: &FactsParams, now: Timestamp) -> Result<Self, RequestError> {
        let moment =
            |name: &str, text: &Option<String>| text.as_deref().map(|text| parse_last(name, text, now)).transpose();
        let as_of = moment("as_of", &params.as_of)?;
        let known_at = moment("known_at", &params.known_at)?;
        let changed_since = params.changed_since.as_deref();
        Ok(Self {
            as_of: as_of.or(known_at).unwrap_or(now.as_millisecond()),
            known_at,
            now: now.as_millisecond(),
            is_past: as_of.is_some() || known_at.is_some(),
            changed_since: changed_since.map(|text| parse("changed_since", text, Edge::Start, now)).transpose()?,
        })
    }
}

/// The scopes that a request asks, and whether the first that has a key hides the others.
fn asked(viewer: &Viewer, params: &FactsParams) -> Result<(Vec<MemoryScope>, bool), RequestError> {
    match (params.scope.as_deref(), params.resolve.as_deref()) {
        _ if is_tag_of_all(params) => Ok((viewer.workspace().fact_store.scopes(), false)),
        (Some("*"), None) => Ok((viewer.workspace().fact_store.scopes(), false)),
        (Some(scopes), None) => Ok((scopes_named("scope", scopes)?, false)),
        (_, Some(scopes)) => Ok((scopes_named("resolve", scopes)?, true)),
        (None, None) => {
            let own = viewer.agent().map(|slug| MemoryScope::Agent(slug.to_owned()));
            Ok((own.into_iter().chain([MemoryScope::User]).collect(), false))
        }
    }
}

/// Whether facts are asked for by a tag, whatever scope they are of.
fn is_tag_of_all(params: &FactsParams) -> bool {
    params.tag.is_some() && params.resolve.is_none() && matches!(params.scope.as_deref(), None | Some("*"))
}

fn scopes_named(name: &str, text: &str) -> Result<Vec<MemoryScope>, RequestError> {
    Ok(memory_scopes(name, text)?.into_iter().map(|(scope, _)| scope).collect())
}

/// A scope by its name.
pub(in crate::memory) fn one(text: &str) -> Result<MemoryScope, RequestError> {
    MemoryScope::parse(text).map_err(|error| RequestError::invalid(format!("`scope`: {error}")))
}

/// The facts of a scope, as far as they are seen: an agent sees them as they are in the index, and learns nothing of what it may not see.
fn book(visibility: &Visibility, scope: &MemoryScope) -> Result<Option<Arc<FactsSnapshot>>, RequestError> {
    let (workspace, is_agents) = (visibility.viewer.workspace(), visibility.is_agents());
    let fact_store = &workspace.fact_store;
    let unread = |error: ItemError| if is_agents { Ok(None) } else { Err(error.into()) };
    let path = match fact_store.path(scope) {
        Ok(path) => path,
        Err(error) => return unread(error),
    };
    let file = visibility.file(path.as_str()).map(|(_, file)| file);
    if is_agents && file.is_none() {
        return Ok(None);
    }
    if let Ok(files) = workspace.files()
        && let Err(error) = fact_store.notice(files, scope)
    {
        tracing::warn!("the history of `{path}` does not follow: {error}");
    }
    let book = match fact_store.book(scope) {
        Ok(book) => book,
        Err(error) => return unread(error),
    };
    // What was read has to be what was seen.
    let is_seen = !is_agents || file.map(|file| file.stamp) == book.stamp;
    let sees_history = || visibility.sees_history(&book.history_path());
    Ok(is_seen.then(|| if sees_history() { Arc::clone(&book) } else { Arc::new(book.without_history()) }))
}

/// A value as written, read.
fn value(text: Option<&str>) -> Value {
    text.map_or(Value::Null, |text| read_value(text).unwrap_or_else(|_| Value::String(text.to_owned())))
}

/// Where a fact stands.
fn line_citation(book: &FactsSnapshot, fact: &Fact) -> String {
    citation(book.path.as_str(), fact.line as u32, fact.line as u32)
}

fn change_view(change: &FactChange) -> FactChangeView {
    let name = match change.kind {
        FactChangeKind::Set => "set",
        FactChangeKind::Corrected => "corrected",
        FactChangeKind::Was => "was",
        FactChangeKind::Unset => "unset",
        FactChangeKind::Retracted => "retracted",
        FactChangeKind::WasNot => "was-not",
    };
    FactChangeView {
        learned: rfc3339(change.learned),
        change: name.to_owned(),
        old: value(change.old.as_deref()),
        new: value(change.new.as_deref()),
        from: change.window.from.as_ref().map(|from| from.text.clone()),
        until: change.window.until.as_ref().map(|until| until.text.clone()),
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

/// The longest time between two looks, where nothing is heard of a change.
const LOOK_EVERY: Duration = Duration::from_secs(60);
/// When to look again where facts have gone only just, in milliseconds.
const LOOK_AGAIN_MS: i64 = 3_000;

/// Starts the task.
///
/// # Errors
/// When no thread can be started.
pub(crate) fn keep_facts(workspace: &Arc<Workspace>) -> Result<Task<FactsState>, FsError> {
    let (vault, signal) = (Arc::clone(workspace), TaskSignal::default());
    vault.shared.wakes(&signal);
    Task::start("facts", signal, move |_, shown| {
        let now = Timestamp::now().as_millisecond();
        let (state, next) = look(&vault, now);
        vault.shared.show_expired_facts(state.expired);
        *shown.lock().unwrap_or_else(PoisonError::into_inner) = state;
        Some(next.map_or(LOOK_EVERY, |at| Duration::from_millis(at.abs_diff(now)).min(LOOK_EVERY)))
    })
}

/// Notes what has changed, and counts; gives when to look again: when the time of a fact begins or ends next, or what waits is noted.
fn look(vault: &Workspace, now: i64) -> (FactsState, Option<i64>) {
    let (mut state, fact_store) = (FactsState::default(), &vault.fact_store);
    let waits = vault.files().is_ok() && fact_store.let_go(now);
    let mut next = waits.then_some(now + LOOK_AGAIN_MS);
    for scope in fact_store.scopes() {
        match vault.files().ok().map(|files| fact_store.notice(files, &scope)) {
            None | Some(Ok(false)) => {}
            Some(Ok(true)) => next = [now + LOOK_AGAIN_MS].into_iter().chain(next).min(),
            Some(Err(error)) => {
                tracing::warn!("the facts of `{scope}` are not followed: {error}");
                let problem = |path| FactProblem { path, line: None, message: error.to_string(), is_unread: false };
                state.problems.extend(fact_store.path(&scope).ok().map(|path| problem(path.to_string())));
            }
        }
        let Ok(book) = fact_store.book(&scope) else { continue };
        for fact in book.facts.facts() {
            let standing = book.history.standing(fact, now);
            match fact.phase(now) {
                _ if standing.is_some() => state.current += 1,
                Some(FactState::Current) => state.current += 1,
                Some(FactState::Expired) => state.expired += 1,
                Some(FactState::Future) => state.future += 1,
                Some(FactState::Retracted | FactState::Unset) | None => {}
            }
            let ends = standing.and_then(|window| window.until);
            let turns = [fact.window.begin(), fact.window.end(), ends].into_iter().flatten().filter(|at| *at > now);
            next = turns.chain(next).min();
        }
        state.problems.extend(problems_of(fact_store, &book));
    }
    (state, next)
}

#[cfg(test)]
mod tests_of_moments {
    use super::*;

    #[test]
    fn a_date_is_asked_about_at_its_end() {
        let now: Timestamp = "2026-05-01T12:00:00Z".parse().unwrap();
        let of = |as_of: Option<&str>, known_at: Option<&str>| {
            let params = FactsParams {
                as_of: as_of.map(Into::into),
                known_at: known_at.map(Into::into),
                ..FactsParams::default()
            };
            Moments::of(&params, now).unwrap()
        };
        let day = of(Some("2026-03-15"), None);
        assert_eq!(day.as_of + 1, parse("x", "2026-03-16", Edge::Start, now).unwrap());
        assert!(day.is_past && day.known_at.is_none());
        let known = of(None, Some("2026-03-15T10:00:00Z"));
        assert_eq!((known.as_of, known.known_at), (1_773_568_800_000, Some(1_773_568_800_000)));
        assert_eq!(of(None, None).as_of, now.as_millisecond());
        let params = FactsParams { as_of: Some("soon".into()), ..FactsParams::default() };
        assert!(Moments::of(&params, now).is_err());
    }
}
