//! The task that notes what people change in their facts.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use jiff::Timestamp;

use super::{FactStore, NoticedFacts, SETTLE_MS};
use crate::base::fs::FsError;
use crate::base::tasks::{Task, TaskSignal};
use crate::index::sync::Shared;
use crate::text::derive::facts::FactPhase;
use crate::vault::disk::{Files, Lock};

/// The longest time between two looks, where nothing is heard of a change.
const LOOK_EVERY: Duration = Duration::from_secs(60);

/// What the task works with.
pub(crate) struct FactsParts {
    /// The facts.
    pub(crate) fact_store: Arc<FactStore>,
    /// Who writes the histories.
    pub(crate) files: Arc<Files>,
    /// Tells that notes have changed.
    pub(crate) shared: Arc<Shared>,
    /// The right to write in the vault.
    pub(crate) lock: Arc<Lock>,
}

/// What the task has seen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct FactsSeen {
    /// Facts that are true now.
    pub(crate) current: usize,
    /// Facts whose time is over.
    pub(crate) expired: usize,
    /// Facts whose time has not come.
    pub(crate) future: usize,
    /// What is wrong in the files: path, line, message.
    pub(crate) problems: Vec<(String, Option<usize>, String)>,
}

impl FactsParts {
    /// Starts the task.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(self) -> Result<Task<FactsSeen>, FsError> {
        let signal = TaskSignal::default();
        self.shared.wakes(&signal);
        Task::start("facts", signal, move |_, seen| {
            let now = Timestamp::now().as_millisecond();
            let next = self.look(now, seen);
            Some(next.map_or(LOOK_EVERY, |at| Duration::from_millis(at.abs_diff(now)).min(LOOK_EVERY)))
        })
    }

    /// Notes what has changed, and counts; gives when to look again: when the time of a fact begins or ends next, or what waits is noted.
    fn look(&self, now: i64, seen: &Mutex<FactsSeen>) -> Option<i64> {
        let (mut books, mut failed) = (Vec::new(), Vec::new());
        let mut waits = self.lock.is_held() && self.fact_store.let_go(now);
        for scope in self.fact_store.scopes() {
            match self.lock.is_held().then(|| self.fact_store.notice(&self.files, &scope)) {
                None | Some(Ok(NoticedFacts::All)) => {}
                Some(Ok(NoticedFacts::Waits)) => waits = true,
                Some(Err(error)) => {
                    tracing::warn!("the facts of `{scope}` are not followed: {error}");
                    failed.extend(
                        self.fact_store.path(&scope).ok().map(|path| (path.to_string(), None, error.to_string())),
                    );
                }
            }
            books.extend(self.fact_store.book(&scope));
        }
        let again = waits.then_some(now + SETTLE_MS);
        let mut kept = FactsSeen { problems: failed, ..FactsSeen::default() };
        let mut next = None::<i64>;
        for book in &books {
            for fact in book.facts.facts() {
                let standing = book.history.standing(fact, now);
                match fact.phase(now) {
                    _ if standing.is_some() => kept.current += 1,
                    Some(FactPhase::Current) => kept.current += 1,
                    Some(FactPhase::Expired) => kept.expired += 1,
                    Some(FactPhase::Future) => kept.future += 1,
                    None => {}
                }
                let begin = fact.window.from.as_ref().and_then(|from| from.ms);
                let ends = standing.and_then(|window| window.until);
                let turns = [begin, fact.window.end(), ends].into_iter().flatten().filter(|at| *at > now);
                next = turns.chain(next).min();
            }
            kept.problems.extend(book.problems());
        }
        self.shared.show_expired_facts(kept.expired);
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = kept;
        next.into_iter().chain(again).min()
    }
}
