//! The task that follows the files of facts: notes what somebody has changed in them, and counts.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::read::problems_of;
use crate::access::request::Workspace;
use crate::base::fs::FsError;
use crate::base::tasks::{Task, TaskSignal};
use crate::serve::wire::{FactProblem, FactState, FactsState};

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
        state.problems.extend(problems_of(&book));
    }
    (state, next)
}
