//! What searches wait for, as the writer does it: what was saved before them comes first.

use std::time::Instant;

use super::fresh::FRESH_WITHIN;
use super::worker::{Worker, WorkerMessage};
use crate::vault::disk::Watcher;

/// Searches wait until so much of what was told can be found.
pub(super) struct Barrier {
    told: u64,
    since: Instant,
    /// Whether the vault has to be looked over for it.
    unseen: bool,
}

impl Worker<'_> {
    /// Begins to keep account of what is told.
    pub(super) fn begin_fresh(&self) {
        let messages = self.messages.clone();
        self.shared.fresh().begin(move |told| {
            let _ = messages.send(WorkerMessage::Serve { told });
        });
    }

    /// Says how it is known what was saved.
    pub(super) fn show_hearing(&self, watcher: &Watcher) {
        self.shared.fresh().listen(watcher, &self.options.cookies);
    }

    /// Takes what waits as due: searches wait for it.
    pub(super) fn await_told(&mut self, told: u64) {
        let since = Instant::now();
        // Nobody waits any more for what could not be had in time.
        self.awaited.retain(|awaited| since - awaited.since < FRESH_WITHIN.most);
        self.debounce.hurry();
        self.awaited.push(Barrier { told, since, unseen: self.rescans.look_soon(since) });
    }

    /// Tells searches what can be found by now of what they wait for.
    pub(super) fn serve_awaited(&mut self) {
        let is_behind = !self.scanned
            || self.rebuilding
            || self.rescans.is_missing()
            || self.rescans.distrusts_events()
            || !self.backlog.is_empty()
            || !self.large.is_empty();
        if self.awaited.is_empty() {
            return;
        }
        self.shared.fresh().get_on();
        if is_behind {
            return;
        }
        let now = Instant::now();
        for awaited in self.awaited.iter_mut().filter(|awaited| awaited.unseen) {
            if self.rescans.has_looked_since(awaited.since) {
                // What that found gone is believed to be, after a moment.
                self.debounce.hurry();
                (awaited.unseen, awaited.since) = (false, now);
            }
        }
        let debounce = &self.debounce;
        let is_served = |awaited: &mut Barrier| !awaited.unseen && !debounce.holds_of(awaited.since);
        if let Some(told) = self.awaited.extract_if(.., is_served).map(|awaited| awaited.told).max() {
            self.shared.fresh().serve(told);
        }
    }
}
