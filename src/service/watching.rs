//! From what the indexer knows of the watcher, and the timer of its backups, to what status says of them.

use jiff::Timestamp;

use super::time::rfc3339;
use super::views::{Backup, Watching};
use crate::backup;
use crate::sync::WatchState;
use crate::vault;

impl Watching {
    pub(super) fn of(state: WatchState, reconcile_seconds: u64) -> Self {
        let (by, reason) = match state.by {
            None => ("not yet", None),
            Some(vault::Watching::Events) => ("events", None),
            Some(vault::Watching::Partly(reason)) => ("events and polling", Some(reason)),
            Some(vault::Watching::Polling(reason)) => ("polling", Some(reason)),
        };
        let time = |time: Option<Timestamp>| time.map(|time| rfc3339(time.as_millisecond()));
        Self {
            by: by.into(),
            reason,
            missing_since: time(state.missing_since),
            losses: state.losses,
            lost_at: time(state.lost_at),
            recovered_at: time(state.recovered_at),
            reconcile_seconds,
            compared_at: time(state.compared_at),
        }
    }
}

impl Backup {
    pub(super) fn of(state: backup::State) -> Self {
        let time = |time| Timestamp::try_from(time).ok().map(|time| rfc3339(time.as_millisecond()));
        Self { last_at: state.last_at.and_then(time), last_commit: state.last_commit, failure: state.failure }
    }
}
