//! A vault whose daemon is killed again and again, and must not care.

use std::fs;
use std::time::{Duration, Instant};

use super::{Answers, Daemon, Notes, PATIENCE, QUERIES, assert_same};

/// What the daemon is doing when it dies.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Work {
    /// It indexes the vault from nothing.
    Import,
    /// It starts on an index that has lost its words.
    WordsLost,
    /// It follows edits.
    Edits,
    /// It compares every note.
    Repair,
    /// It builds everything anew.
    Reindex,
    /// It is stopped.
    Stop,
}

/// Points that a start passes, for a second death in the middle of the recovery from the first.
const RECOVERY: [&str; 8] = [
    "file-written",
    "marked",
    "skipped-written",
    "catalog-written",
    "catalog-committed",
    "words-prepared",
    "words-committed",
    "publishing",
];

/// The vault, its notes, and how often its daemon was killed.
pub struct Victim {
    vault: Daemon,
    notes: Notes,
    pub kills: usize,
}

impl Victim {
    pub fn new(config: &str, seed: u64, notes: usize, paragraphs: usize) -> Self {
        let vault = Daemon::with_config(config);
        let notes = Notes::new(&vault.path(""), seed, notes, paragraphs);
        Self { vault, notes, kills: 0 }
    }

    /// Lets the daemon die at the given passing of a point.
    pub fn dies_at(&mut self, (point, work, passing): (&str, Work, usize)) {
        self.vault.ensure_killed();
        match work {
            Work::Import => drop(fs::remove_dir_all(self.vault.path(".vault"))),
            Work::WordsLost => drop(fs::remove_dir_all(self.vault.path(".vault/index/tantivy"))),
            Work::Edits | Work::Repair | Work::Reindex | Work::Stop => {}
        }
        let deadline = Instant::now() + PATIENCE;
        let mut alive = self.vault.launch(Some(&format!("{point}:{passing}")));
        if alive {
            match work {
                Work::Import | Work::WordsLost | Work::Edits => {}
                Work::Repair => {
                    self.vault.settle();
                    self.vault.run(&["reindex", "--no-wait"]);
                }
                Work::Reindex => drop(self.vault.run(&["reindex", "--full", "--no-wait"])),
                Work::Stop => {
                    self.notes.edit();
                    self.vault.settle();
                    self.vault.signal(rustix::process::Signal::TERM);
                }
            }
        }
        for edits in 1.. {
            if !alive {
                break;
            }
            assert!(Instant::now() < deadline, "{point} was not passed {passing} times in {work:?}");
            if work == Work::Edits {
                self.notes.edit();
            }
            // Some work is put off until there is nothing else to do.
            std::thread::sleep(Duration::from_millis(if edits % 16 == 0 { 80 } else { 4 }));
            alive = !self.vault.was_killed();
        }
        self.kills += 1;
    }

    /// Kills the daemon at a random instant of its start or its work.
    pub fn dies_at_random(&mut self) {
        let random = &mut self.notes.random;
        self.vault.ensure_killed();
        let (at_start, full) = (random.below(3) == 0, random.below(4) == 0);
        let instant = Duration::from_micros(random.next() % if at_start { 60_000 } else { 400_000 });
        if at_start {
            self.vault.spawn(None);
        } else {
            self.vault.launch(None);
            if full {
                self.vault.run(&["reindex", "--full", "--no-wait"]);
            }
        }
        let until = Instant::now() + instant;
        while Instant::now() < until {
            self.notes.edit();
            std::thread::sleep(Duration::from_millis(3));
        }
        self.vault.kill();
        self.kills += 1;
    }

    /// Half the time the recovery dies as well.
    pub fn dies_in_recovery(&mut self) {
        if self.notes.random.below(2) == 0 {
            let point = *self.notes.random.pick(&RECOVERY);
            self.vault.spawn(Some(&format!("{point}:1")));
            let until = Instant::now() + Duration::from_millis(self.notes.random.next() % 300);
            while !self.vault.was_killed() && Instant::now() < until {
                std::thread::sleep(Duration::from_millis(2));
            }
            self.vault.ensure_killed();
            self.kills += 1;
        }
    }

    /// Starts the daemon as anyone would, and holds its answers against those of an index made from nothing.
    #[track_caller]
    pub fn recovers(&mut self) {
        self.vault.start().settle();
        let found = Answers::of_daemon(&self.vault, &QUERIES);
        self.vault.run(&["reindex", "--full"]).ok();
        self.vault.settle();
        assert_same(&found, &Answers::of_daemon(&self.vault, &QUERIES));
        self.notes.assert_untouched();
    }
}
