//! The indexer, and a watcher whose signals it is handed as the test likes.

use std::fs::File;
use std::sync::mpsc::{Receiver, channel};

use memory_vault::base::config::WatchMode;
use memory_vault::serve::jobs;
use memory_vault::vault::disk::{Change, NoteRules, Signal, WatchedBy, Watcher};

use super::op::News;
use crate::support::prelude::*;

/// Opened and closed to learn that all events before have come. No note of the vault's.
const SENTINEL: &str = "sentinel.md";

pub struct Engine {
    pub vault: TestVault,
    watcher: Watcher,
    arrived: Receiver<Signal>,
    waiting: Vec<Signal>,
    /// Whether something happened that no signal will name, so that only a rescan finds it.
    pub lost: bool,
}

impl Engine {
    /// Over a new vault; `None` where the system has no events.
    pub fn start() -> Option<Self> {
        let mut vault = TestVault::new();
        vault.config.index.exclude = vec![SENTINEL.into()];
        vault.write(SENTINEL, "").sync();
        let root = vault.root();
        let rules = Arc::new(NoteRules::new(&root, &[]).unwrap());
        let (signals, arrived) = channel();
        let signal = move |signal| drop(signals.send(signal));
        let watcher = Watcher::start(&root, rules, WatchMode::Auto, None, signal);
        let events = *watcher.watching() == WatchedBy::Events;
        events.then_some(Self { vault, watcher, arrived, waiting: Vec::new(), lost: false })
    }

    pub fn root(&self) -> PathBuf {
        self.vault.root()
    }

    /// Takes the signals of all that has happened so far. They wait to be delivered.
    pub fn hear(&mut self) {
        drop(File::options().write(true).open(self.root().join(SENTINEL)).unwrap());
        loop {
            match self.arrived.recv_timeout(PATIENCE).expect("the sentinel makes an event") {
                Signal::Changed(path, Change::Closed) if path.as_str() == SENTINEL => return,
                Signal::Changed(path, _) if path.as_str() == SENTINEL => {}
                signal => self.waiting.push(signal),
            }
        }
    }

    pub fn play(&mut self, news: &News) {
        match news {
            News::Deliver(seed) => self.deliver(&mut Random::new(*seed)),
            News::Settle(seed) => {
                self.deliver(&mut Random::new(*seed));
                self.vault.settle();
            }
            News::Lose(seed) => {
                let mut dice = Random::new(*seed);
                let before = self.waiting.len();
                self.waiting.retain(|_| dice.below(2) == 0);
                self.lost |= self.waiting.len() < before;
            }
            News::LoseAll => {
                self.waiting.clear();
                self.lost = true;
            }
            News::Rumour(at, kind) => {
                let path = VaultPath::new(at.path()).unwrap();
                let change = [Change::Closed, Change::Written, Change::Removed].get(*kind).copied();
                let folder = Signal::Folder(path.clone());
                self.hand_over(vec![change.map_or(folder, |change| Signal::Changed(path, change))]);
            }
            News::Rescan => self.rescan(),
            News::Restart => {
                self.vault.restart();
                self.watcher.renew();
                self.lost = false;
            }
            News::Reread => drop(jobs::reindex(&self.vault.owner(), false).unwrap()),
            News::Rebuild => drop(self.vault.rebuild()),
            News::Age => {
                self.vault.settle();
                self.vault.set_clock_ahead(2100);
                self.rescan();
                self.vault.settle();
                self.vault.set_clock_ahead(0);
                self.next_tick();
            }
        }
    }

    /// Everything that waits comes, and what was lost is looked for.
    pub fn rest(&mut self) {
        let all = std::mem::take(&mut self.waiting);
        self.hand_over(all);
        // A folder that was not watched until now may have news of its own.
        self.hear();
        let all = std::mem::take(&mut self.waiting);
        self.hand_over(all);
        if self.lost {
            self.rescan();
        }
        self.vault.settle();
    }

    /// Waits until what is written has another time than all before: in two seconds the file system's clock has moved.
    fn next_tick(&mut self) {
        let tick = || {
            let mut file = tempfile::tempfile_in(self.root()).unwrap();
            std::io::Write::write_all(&mut file, b"x").unwrap();
            file.metadata().unwrap().modified().unwrap()
        };
        let before = tick();
        until("the file system's clock to move", || tick() > before);
    }

    fn rescan(&mut self) {
        // As the indexer does it: what is made from now on is named again.
        self.watcher.renew();
        self.hand_over(vec![Signal::Lost]);
        self.lost = false;
    }

    fn deliver(&mut self, dice: &mut Random) {
        let mut now = Vec::new();
        for signal in std::mem::take(&mut self.waiting) {
            match dice.below(8) {
                0 | 1 => self.waiting.push(signal),
                2 | 3 => now.extend([signal.clone(), signal]),
                _ => now.push(signal),
            }
        }
        dice.shuffle(&mut now);
        self.hand_over(now);
    }

    fn hand_over(&mut self, signals: Vec<Signal>) {
        for signal in &signals {
            if let Signal::Folder(folder) = signal {
                self.watcher.cover(folder);
            }
        }
        self.vault.owner().workspace().notice(signals).unwrap();
    }
}
