//! A vault whose daemon is killed again and again, and must not care.

use std::fs;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use memory_vault::index::local::keyword::open_searcher;

use super::daemon::Patience;
use super::{
    Answers, Connection, Daemon, Folder, Notes, QUERIES, Random, assert_same, notes_of, seed, set_time, until,
};

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
const RECOVERY: [&str; 9] = [
    "file-written", "marked", "skipped-written", "catalog-written", "catalog-committed", "words-prepared",
    "words-committed", "words-merging", "publishing",
];

/// An agent that sees a part of the notes.
const AGENT: &str = "ada";
const PAGE: &str = "---\ncan_read_user_memory: true\ncollections: [notes, journal]\nexclude_tags: [work]\n---\n";

/// The vault, its notes, and how often its daemon was killed.
pub struct Victim {
    vault: Daemon,
    notes: Notes,
    pub kills: usize,
    pub clean_stops: usize,
    /// Of the kills, those right after a commit that made a merge due.
    pub merges_cut: usize,
}

impl Victim {
    pub fn new(config: &str, seed: u64, notes: usize, paragraphs: usize) -> Self {
        let mut vault = Daemon::with_config(&format!("{config}[agents]\nrequests_per_minute = 100000\n"));
        vault.write(&format!("agents/{AGENT}/agent.md"), PAGE);
        let notes = Notes::new(&vault.path(""), seed, notes, paragraphs);
        Self { vault, notes, kills: 0, clean_stops: 0, merges_cut: 0 }
    }

    /// Lets the daemon die at the given passing of a point.
    pub fn dies_at(&mut self, (point, work, passing): (&str, Work, usize)) {
        self.vault.ensure_killed();
        match work {
            Work::Import => drop(fs::remove_dir_all(self.vault.path(".vault"))),
            Work::WordsLost => drop(fs::remove_dir_all(self.vault.path(".vault/index/tantivy"))),
            Work::Edits | Work::Repair | Work::Reindex | Work::Stop => {}
        }
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
        let mut patience = alive.then(|| Patience::with(&self.vault));
        for edits in 1.. {
            if !alive {
                break;
            }
            let is_over = patience.as_mut().is_some_and(|patience| patience.is_over(&self.vault));
            assert!(!is_over, "{point} was not passed {passing} times in {work:?}");
            if work == Work::Edits {
                self.notes.edit();
            }
            // Some work is put off until there is nothing else to do.
            std::thread::sleep(Duration::from_millis(if edits % 16 == 0 { 80 } else { 4 }));
            alive = !self.vault.was_killed();
        }
        self.kills += 1;
    }

    /// Some lives, most of which end in a kill, and some edits after each while nobody runs.
    pub fn lives(&mut self) {
        for _ in 0..=self.notes.random.below(4) {
            match self.notes.random.below(8) {
                0..4 => self.dies_at_random(),
                4..6 => self.dies_while_merging(),
                6 => self.dies_in_recovery(),
                _ => self.stops(),
            }
            (0..self.notes.random.below(4)).for_each(|_| self.notes.edit());
        }
    }

    /// Kills the daemon at a random instant of its start or its work.
    fn dies_at_random(&mut self) {
        let random = &mut self.notes.random;
        self.vault.ensure_killed();
        let (at_start, full) = (random.below(3) == 0, random.below(12) == 0);
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

    /// Kills the daemon right after a commit that makes a merge due, or a moment later.
    fn dies_while_merging(&mut self) {
        self.vault.ensure_killed();
        let merges = 1 + self.notes.random.below(3);
        let mut alive = self.vault.launch(Some(&format!("words-merging:{merges}")));
        let until = Instant::now() + Duration::from_secs(10);
        while alive && Instant::now() < until {
            self.notes.edit();
            // One commit at a time.
            std::thread::sleep(Duration::from_millis(25));
            alive = !self.vault.was_killed();
        }
        self.merges_cut += usize::from(self.vault.was_killed());
        self.vault.ensure_killed();
        self.kills += 1;
    }

    /// Stops the daemon as anyone would, in the middle of its work or at rest.
    fn stops(&mut self) {
        self.vault.ensure_killed();
        self.vault.launch(None);
        for _ in 0..self.notes.random.below(12) {
            self.notes.edit();
            std::thread::sleep(Duration::from_millis(self.notes.random.next() % 30));
        }
        if self.notes.random.below(2) == 0 {
            self.vault.settle();
        }
        let stopped = self.vault.terminate();
        assert!(stopped.status.success(), "{}", stopped.status);
        self.clean_stops += 1;
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
        let found = self.answers_when_started();
        self.vault.run(&["reindex", "--full"]).ok();
        self.vault.settle();
        assert_same(&found, &self.answers());
        self.notes.assert_untouched();
    }

    /// The same, with the index of a copy of the notes, so that the one that has been through so much goes on to age. What the words
    /// lack may show only once they are opened again.
    #[track_caller]
    pub fn ages_well(&mut self) {
        let found = self.answers_when_started();
        self.vault.terminate();
        let again = self.answers_when_started();
        let mut copy = Self::new("", 0, 0, 0);
        let root = self.vault.path("");
        for (path, bytes) in notes_of(&root) {
            let within = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            copy.vault.write(&within, bytes);
            let modified = fs::metadata(&path).unwrap().modified().unwrap();
            set_time(copy.vault.path(&within), modified);
        }
        let expected = copy.answers_when_started().without_place();
        assert_same(&found.without_place(), &expected);
        assert_same(&again.without_place(), &expected);
        self.notes.assert_untouched();
        self.vault.kill();
        self.kills += 1;
    }

    #[track_caller]
    fn answers_when_started(&mut self) -> Answers {
        self.vault.start();
        let status = self.vault.settle();
        // Mended before anyone asked, it would be no difference.
        let log = self.vault.log();
        assert!(!log.contains("of the catalog"), "the words were not those of the catalog: {log}");
        let words = open_searcher(&self.vault.path(".vault/index/tantivy")).unwrap();
        assert_eq!(status["chunks"], words.live().count(), "live documents (right), and passages");
        self.answers()
    }

    /// All that the person is told, and an agent.
    #[track_caller]
    fn answers(&self) -> Answers {
        let token = self.vault.token_of(AGENT);
        let mut answers = Answers::of_daemon(&self.vault, &QUERIES);
        answers.add_agent(&self.vault, &token, &QUERIES);
        answers
    }
}

/// Has programs send numbered events, 500 a second, to a daemon that is killed at random instants. What is not answered is sent again, by
/// one program in its order. Gives how many were sent.
pub fn sent_under_kills(
    vault: &mut Daemon,
    programs: usize,
    events: usize,
    kills: usize,
    send: impl Fn(&mut Connection, usize) -> bool + Sync,
) -> usize {
    const PACE: Duration = Duration::from_millis(2);
    let mut dice = Random::new(seed());
    let (next, unanswered) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    for kill in 0..=kills {
        let (end, first, last) = (events * (kill + 1) / (kills + 1), next.load(Ordering::SeqCst), kill == kills);
        let share = end.saturating_sub(first).max(20) as u32;
        // At some instant of the second half, while events are on their way.
        let instant =
            PACE * share / 2 + Duration::from_micros(dice.below(PACE.as_micros() as usize * share as usize / 2) as u64);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..programs {
                // The kill finds a connection, however late its thread begins.
                let mut connection = Connection::open(vault.address());
                let (next, unanswered, send) = (&next, &unanswered, &send);
                scope.spawn(move || {
                    loop {
                        let again = unanswered.lock().unwrap().pop();
                        let is_over = last && next.load(Ordering::SeqCst) >= end;
                        let at = match again {
                            Some(at) => at,
                            None if is_over => break,
                            None => next.fetch_add(1, Ordering::SeqCst),
                        };
                        let due = begun + PACE * at.saturating_sub(first) as u32;
                        std::thread::sleep(due.saturating_duration_since(Instant::now()));
                        if !send(&mut connection, at) {
                            unanswered.lock().unwrap().push(at);
                            break;
                        }
                    }
                });
            }
            if !last {
                std::thread::sleep(instant);
                vault.signal(rustix::process::Signal::KILL);
            }
        });
        if !last {
            until("the daemon's end", || vault.was_killed());
            assert!(vault.launch(None));
        }
    }
    let sent = next.into_inner();
    assert!(sent >= events && unanswered.into_inner().unwrap().is_empty());
    println!("{sent} events, {kills} kills");
    sent
}

/// Fails unless each number below `sent` is there once.
#[track_caller]
pub fn assert_once(numbers: &[usize], sent: usize) {
    let mut counts = vec![0; sent];
    numbers.iter().for_each(|number| counts[*number] += 1);
    let wrong: Vec<_> = counts.iter().enumerate().filter(|(_, count)| **count != 1).collect();
    assert!(wrong.is_empty(), "missing or doubled, of {sent}: {wrong:?}");
}
