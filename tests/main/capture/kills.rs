//! The daemon is killed at every point between an event and its file, and at random instants while events come in. What was
//! accepted is in its file once, and in order; what was not, and is sent again, too.

use rustix::process::{Pid, Signal, kill_process};

use super::EVENTS;
use crate::support::prelude::*;

/// The points, and which passings of them. A new vault writes four files of its own before the first event.
const CASES: [(&str, &[usize]); 15] = [
    ("events-written", &[1, 2, 5]),
    ("events-synced", &[1, 2, 3]),
    ("events-recorded", &[1, 2, 3, 5]),
    ("state-checkpointed", &[1, 2]),
    ("capture-planned", &[1, 2]),
    ("captured-file-written", &[1, 2, 3, 4, 7]),
    ("capture-written", &[1, 2]),
    ("capture-applied", &[1, 3]),
    ("note-made", &[1, 3]),
    ("note-replaced", &[1, 2, 4]),
    ("checkpoint-kept", &[1]),
    ("file-written", &[5, 6, 8]),
    ("file-renamed", &[5, 6, 7]),
    ("events-synced", &[7]),
    ("capture-planned", &[3]),
];

/// The one that old files pass.
const TRASHED: &str = "note-trashed";

/// The one that is passed when something is switched off or purged.
pub(super) const SWEPT: &str = "events-swept";

/// Events a second.
const PACE: Duration = Duration::from_millis(2);

pub fn points() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(point, _)| *point).chain([TRASHED, SWEPT])
}

/// Sends events one after the other, and again what was not accepted.
#[derive(Default)]
struct Sender {
    sent: usize,
    /// The event that the daemon did not answer for.
    unanswered: Option<Value>,
}

impl Sender {
    fn next(&mut self) -> Value {
        if let Some(event) = self.unanswered.take() {
            return event;
        }
        let at = self.sent;
        self.sent += 1;
        let (id, word) = (at.to_string(), format!("w{at}w"));
        let role = if (at / 6).is_multiple_of(2) { "user" } else { "agent" };
        let (session, text) = (format!("s{}", at % 3), format!("{word}\n# part"));
        match at % 6 {
            0..=2 => json!({"type": "message", "session": session, "role": role, "text": text, "id": id}),
            3 => json!({"type": "file", "path": word, "action": "edited", "id": id}),
            4 => json!({"type": "clipboard", "content": format!("clip {word}"), "id": id}),
            _ => json!({"type": "bookmark", "url": "https://example.org/", "title": "Page", "note": word, "id": id}),
        }
    }

    /// Sends one; says no when the daemon is gone.
    fn send(&mut self, connection: &mut Connection, token: &str) -> bool {
        let event = self.next();
        let reply = connection.send(&Request::send("POST", EVENTS, &event).bearer(token));
        match &reply {
            Some(reply) => assert_eq!(reply.status, 202, "{}", reply.json()),
            None => self.unanswered = Some(event),
        }
        reply.is_some()
    }

    /// Every word is in the vault once, and in each conversation in the order it was said.
    #[track_caller]
    fn all_are_there_once(&self, vault: &Daemon) {
        let mut found: BTreeMap<usize, usize> = BTreeMap::new();
        for (path, bytes) in notes_of(&vault.path("")) {
            let path = path.strip_prefix(vault.path("")).unwrap().to_owned();
            if path.extension().is_none_or(|kind| kind != "md") {
                continue;
            }
            let text = String::from_utf8(bytes).unwrap();
            // A title says it again.
            let body = text.split_once("\n---\n").unwrap().1;
            let words = body.split(|c: char| !c.is_alphanumeric());
            let numbers: Vec<usize> =
                words.filter_map(|word| word.strip_prefix('w')?.strip_suffix('w')?.parse().ok()).collect();
            if path.starts_with("conversations") {
                assert!(numbers.is_sorted(), "{}: {numbers:?}", path.display());
                assert!(numbers.windows(2).all(|pair| pair[1] == pair[0] + 3 || pair[1] == pair[0] + 6), "{numbers:?}");
            }
            numbers.iter().for_each(|number| *found.entry(*number).or_default() += 1);
        }
        let missing: Vec<usize> = (0..self.sent).filter(|at| !found.contains_key(at)).collect();
        let doubled: Vec<_> = found.iter().filter(|(_, count)| **count > 1).collect();
        assert!(missing.is_empty() && doubled.is_empty(), "missing {missing:?}, doubled {doubled:?} of {}", self.sent);
    }

    /// Sends again what was not answered for, and waits for the files.
    #[track_caller]
    fn finish(&mut self, vault: &Daemon) {
        let mut connection = Connection::open(vault.address());
        if self.unanswered.is_some() {
            assert!(self.send(&mut connection, vault.token()));
        }
        vault.captured();
        self.all_are_there_once(vault);
    }
}

#[test]
fn killed_at_every_point_between_an_event_and_its_file() {
    // The first and the last passing of each; in a soak all.
    let is_soak = soak_minutes().is_some();
    let tried = |at: usize, passings: &[usize]| is_soak || at == 0 || at == passings.len() - 1;
    let cases: Vec<(&str, usize)> = CASES
        .iter()
        .flat_map(|(point, all)| (0..all.len()).filter(|at| tried(*at, all)).map(|at| (*point, all[at])))
        .collect();
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            let (cases, next) = (&cases, &next);
            scope.spawn(move || {
                let (mut vault, mut sender) = (Daemon::vault(), Sender::default());
                while let Some((point, passing)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    println!("{point}:{passing}");
                    // What writes files at the start counts from a new vault on.
                    if point.starts_with("file-") {
                        (vault, sender) = (Daemon::vault(), Sender::default());
                    }
                    dies_at(&mut vault, &mut sender, &format!("{point}:{passing}"));
                    vault.start();
                    sender.finish(&vault);
                    vault.terminate();
                }
            });
        }
    });
}

fn dies_at(vault: &mut Daemon, sender: &mut Sender, point: &str) {
    let deadline = Instant::now() + PATIENCE;
    // The state is looked at when nothing has come for a while; the others are passed sooner, or with the next events.
    let idle = Duration::from_millis(if point.starts_with("state-") { 5000 } else { 1000 });
    assert!(vault.launch(Some(point)), "{point} is passed before any event");
    let mut connection = Connection::open(vault.address());
    while !vault.was_killed() {
        assert!(Instant::now() < deadline, "{point} was not passed");
        for _ in 0..5 {
            if !sender.send(&mut connection, vault.token()) {
                break;
            }
        }
        // Some of it is done when nothing more comes.
        let until = Instant::now() + idle;
        while Instant::now() < until && !vault.was_killed() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn killed_while_an_old_file_is_moved_away() {
    let mut vault = Daemon::without_model("[retention]\ndays = { files = 30 }\n");
    let old = "---\ntitle: x\ncreated: 2020-01-05T10:00:00+01:00\nsource: capture\n---\n\n- 10:00 · x\n";
    vault.write("files/2020-01-05.md", old);
    set_time(vault.path("files/2020-01-05.md"), SystemTime::UNIX_EPOCH + Duration::from_secs(1_600_000_000));
    vault.spawn(Some(&format!("{TRASHED}:1")));
    until("the daemon's end", || vault.was_killed());
    vault.start();
    let moved = vault.path(".trash/files/2020-01-05.md");
    eventually("the file to be moved", || (fs::read_to_string(&moved).ok()? == old).then_some(()));
    assert_eq!(vault.notes_in("files"), []);
}

#[test]
fn none_of_500_a_second_is_lost_under_random_kills() {
    let (events, kills) = if soak_minutes().is_some() { (10_000, 40) } else { (1500, 3) };
    let mut dice = Random::new(seed());
    let (mut vault, mut sender) = (Daemon::vault(), Sender::default());
    vault.start();
    for kill in 0..=kills {
        let end = events * (kill + 1) / (kills + 1);
        let mut connection = Connection::open(vault.address());
        let token = vault.token().to_owned();
        let pid = Pid::from_raw(vault.pid() as i32).unwrap();
        // At some instant of the second half, while events are on their way.
        let share = (end - sender.sent) as u32;
        let instant =
            PACE * share / 2 + Duration::from_micros(dice.below(PACE.as_micros() as usize * share as usize / 2) as u64);
        std::thread::scope(|scope| {
            let last = kill == kills;
            scope.spawn(move || {
                std::thread::sleep(instant);
                if !last {
                    kill_process(pid, Signal::KILL).unwrap();
                }
            });
            let begun = Instant::now();
            let before = sender.sent;
            while sender.sent < end || !last {
                if !sender.send(&mut connection, &token) {
                    break;
                }
                let due = begun + PACE * (sender.sent - before) as u32;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
        });
        if kill < kills {
            until("the daemon's end", || vault.was_killed());
            assert!(vault.launch(None));
        }
    }
    assert!(sender.sent >= events);
    println!("{} events, {kills} kills", sender.sent);
    sender.finish(&vault);
}
