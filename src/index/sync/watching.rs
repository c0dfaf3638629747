//! When to look at the vault: as the watcher says, every so often, and when its folder is back.

use std::sync::Arc;
use std::time::{Duration, Instant};

use jiff::Timestamp;

use super::reading::Large;
use super::shared::Shared;
use super::syncer::SyncOptions;
use super::worker::{Next, Worker, WorkerMessage};
use crate::base::allocator;
use crate::base::clock::rfc3339;
use crate::base::config::FILE_NAME;
use crate::index::engine::EngineError;
use crate::vault::disk::{Change, Identity, Signal, WatchedBy, Watcher};

/// Interval at which the vault's folder is looked at: nothing tells that a drive was unplugged, or that a folder is
/// back.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Rest after a rescan that events or polling ask for, as a multiple of the time it took.
const REST_FACTOR: u32 = 10;

/// The watcher, and when the vault is looked at next.
pub(super) struct RescanSchedule {
    watcher: Option<Watcher>,
    /// The vault's folder; `None` while it is not there.
    root: Option<Identity>,
    /// The folders elsewhere, likewise.
    outside: Vec<Option<Identity>>,
    next_check: Instant,
    next_scan: Instant,
    /// When it is compared next where events cannot be had.
    next_poll: Instant,
    next_reconciliation: Instant,
    /// When it was last looked over.
    looked: Option<Instant>,
    /// No rescan but a timed one before.
    rested: Instant,
    /// Whether the watches are set anew at the next rescan.
    renew: bool,
}

impl RescanSchedule {
    pub(super) fn new(options: &SyncOptions) -> Self {
        let now = Instant::now();
        Self {
            watcher: None,
            root: Identity::of_vault(&options.root),
            outside: options.rules.outside().identities(),
            next_check: now + CHECK_INTERVAL,
            next_scan: now,
            next_poll: now,
            next_reconciliation: now,
            looked: None,
            rested: now,
            renew: false,
        }
    }

    /// Whether the vault's folder is not there.
    pub(super) fn is_missing(&self) -> bool {
        self.root.is_none()
    }

    /// When the whole vault is compared next.
    fn next_scan(&self) -> Instant {
        let polls = self.watcher.as_ref().is_some_and(|watcher| watcher.watching().needs_polling());
        if polls { self.next_scan.min(self.next_poll) } else { self.next_scan }
    }

    /// Whether the whole vault is to be compared because events were lost, and is not yet.
    pub(super) fn distrusts_events(&self) -> bool {
        self.renew
    }

    /// Has the vault looked over as soon as may be, where that is needed to know of changes; says whether it is.
    pub(super) fn look_soon(&mut self, now: Instant) -> bool {
        let polls = self.watcher.as_ref().is_some_and(|watcher| watcher.watching().needs_polling());
        if polls {
            self.next_poll = self.next_poll.min(self.rested.max(now));
        }
        polls
    }

    /// Whether all that was saved by then has been seen.
    pub(super) fn has_looked_since(&self, then: Instant) -> bool {
        self.looked.is_some_and(|looked| looked >= then)
    }

    /// When there is something to do that nobody asks for.
    pub(super) fn next(&self) -> Instant {
        if self.is_missing() {
            return self.next_check;
        }
        self.next_check.min(self.next_scan())
    }

    /// Has the whole vault looked at soon, with watches set anew.
    fn distrust_events(&mut self) {
        self.renew = true;
        self.next_scan = self.next_scan.min(self.rested.max(Instant::now()));
    }
}

/// The time, as it is shown.
pub(super) fn shown_now() -> String {
    rfc3339(Timestamp::now().as_millisecond())
}

/// What is wrong when [`Identity::of_vault`] finds nothing.
pub(super) fn missing(options: &SyncOptions) -> String {
    format!("the vault's folder {} does not exist, or has no {FILE_NAME}", options.root.display())
}

/// Shows since when the vault's folder is not there, with a `failure`, or that it is.
pub(super) fn show_missing(shared: &Shared, failure: Option<String>) {
    shared.update(|progress| {
        let since = progress.watch.missing_since.take().unwrap_or_else(shown_now);
        progress.watch.missing_since = failure.is_some().then_some(since);
        progress.failure = failure;
    });
}

impl Worker<'_> {
    /// Starts to watch.
    pub(super) fn watch(&mut self) {
        let messages = self.messages.clone();
        self.shared.fresh().begin(move |told| {
            let _ = messages.send(WorkerMessage::to_do(move |worker| worker.await_told(told)));
        });
        let (messages, shared) = (self.messages.clone(), Arc::clone(self.shared));
        let signal = move |signal| {
            if let Some(signal) = shared.fresh().hear(signal) {
                let _ = messages.send(WorkerMessage::to_do(|worker| worker.signal(signal)));
            }
        };
        let (rules, cookies) = (Arc::new(self.options.rules.clone()), Arc::clone(&self.options.cookies));
        let watcher = Watcher::start(&self.options.root, rules, self.options.index.watch, Some(cookies), signal);
        self.rescans.watcher = Some(watcher);
        self.show_watching();
    }

    fn show_watching(&self) {
        let fresh = self.shared.fresh();
        self.rescans.watcher.iter().for_each(|watcher| fresh.listen(watcher, &self.options.cookies));
        let (by, reason) = match self.rescans.watcher.as_ref().map(Watcher::watching) {
            None => ("not yet", None),
            Some(WatchedBy::Events) => ("events", None),
            Some(WatchedBy::Partly(reason)) => ("events and polling", Some(reason.clone())),
            Some(WatchedBy::Polling(reason)) => ("polling", Some(reason.clone())),
        };
        self.shared.update(|progress| {
            if let Some(reason) = reason.as_ref().filter(|_| progress.watch.reason != reason) {
                tracing::warn!("changes are noticed by polling: {reason}");
            }
            (progress.watch.by, progress.watch.reason) = (by.to_owned(), reason);
        });
    }

    pub(super) fn signal(&mut self, signal: Signal) -> Result<(), EngineError> {
        let now = Instant::now();
        match signal {
            Signal::Root => {
                self.rescans.next_check = now;
                self.rescans.distrust_events();
            }
            Signal::Lost => {
                tracing::warn!("the watcher lost events; the whole vault is compared");
                self.rescans.distrust_events();
                self.shared.update(|progress| {
                    progress.watch.losses += 1;
                    (progress.watch.lost_at, progress.watch.recovered_at) = (Some(shown_now()), None);
                });
            }
            // Whatever happens while it goes or comes, all of it is compared when it is back.
            Signal::Changed(..) | Signal::Folder(_) if self.rescans.is_missing() => {}
            Signal::Changed(path, change) => self.debounce.note(path, change, now),
            // It is no news of the vault's.
            Signal::Cookie(_) => {}
            Signal::Folder(folder) => {
                // Watch it before it is listed, so that nothing made in it meanwhile is missed.
                if let Some(watcher) = &mut self.rescans.watcher {
                    watcher.cover(&folder);
                    self.show_watching();
                }
                self.debounce.note(folder, Change::Closed, now);
            }
        }
        Ok(())
    }

    /// Looks whether the vault's folder and the stores are there and are what they were.
    pub(super) fn check_place(&mut self, now: Instant) {
        if now < self.rescans.next_check {
            return;
        }
        self.rescans.next_check = now + CHECK_INTERVAL;
        let is_in_place = self.is_in_place();
        if self.rescans.is_missing() {
            return;
        }
        if !is_in_place {
            tracing::info!("the vault's folder, or one elsewhere, is another, or is back; everything is compared");
        }
        if !(self.store.is_in_place() && self.options.lock.is_held()) {
            tracing::warn!("the index was deleted or replaced; it is opened again");
            self.next.get_or_insert(Next::Reopen);
        }
    }

    /// Whether the vault's folder is the one that was last seen.
    pub(super) fn is_in_place(&mut self) -> bool {
        let before = self.rescans.root;
        self.see_root();
        let moved = self.see_outside();
        if moved || before != self.rescans.root {
            // Whoever asks looks at nothing now, and everything is looked at soon.
            (self.rescans.next_check, self.rescans.next_scan) = (Instant::now(), Instant::now());
            self.rescans.renew = true;
        }
        !moved && before == self.rescans.root && !self.rescans.is_missing()
    }

    /// Whether a folder elsewhere has come, gone or been replaced since this was asked last.
    fn see_outside(&mut self) -> bool {
        let found = self.options.rules.outside().identities();
        std::mem::replace(&mut self.rescans.outside, found) != self.rescans.outside
    }

    fn see_root(&mut self) {
        let found = Identity::of_vault(&self.options.root);
        if found.is_none() {
            // What it holds is unknown, not gone.
            self.backlog.clear();
            self.large = Large::default();
            self.debounce.clear();
            self.shared.fresh().doubt();
        }
        if self.rescans.root.is_none() || found.is_none() {
            let failure = found.is_none().then(|| missing(self.options));
            if let Some(failure) = failure.as_ref().filter(|_| self.rescans.root.is_some()) {
                tracing::warn!("{failure}; searches go on with what was last known");
            }
            show_missing(self.shared, failure);
        }
        self.rescans.root = found;
    }

    /// Compares the whole vault with the index when it is time.
    pub(super) fn rescan_if_due(&mut self, now: Instant) -> Result<(), EngineError> {
        if now < self.rescans.next_scan() {
            return Ok(());
        }
        let reconcile = Duration::from_secs(self.options.index.reconcile_seconds);
        if now >= self.rescans.next_reconciliation {
            self.rescans.next_reconciliation = now + reconcile;
            // Many searches at a time leave it scattered over the allocator's arenas: up to twice what is in use.
            allocator::release();
            if self.scanned {
                // The watcher has just been started, the first time.
                self.rescans.renew = true;
                // Of a folder that is away for a moment the embeddings stay.
                if self.pending_files() == 0 && self.store.has_many_unused()? {
                    self.store.prune_vectors(false)?;
                }
            }
        }
        if std::mem::take(&mut self.rescans.renew)
            && let Some(watcher) = &mut self.rescans.watcher
        {
            // Before the scan, so that no change falls between them.
            watcher.renew();
            self.show_watching();
        }
        self.rescans.next_scan = self.rescans.next_reconciliation;
        let started = Instant::now();
        if !self.look(self.store.is_foreign())? {
            return Ok(());
        }
        self.report();
        self.rescans.looked = Some(started);
        let done = Instant::now();
        let rest = (done - started) * REST_FACTOR;
        self.rescans.rested = done + rest;
        self.rescans.next_poll = done + Duration::from_secs(self.options.index.poll_seconds).max(rest);
        self.shared.update(|progress| progress.watch.compared_at = Some(shown_now()));
        Ok(())
    }
}
