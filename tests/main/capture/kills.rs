//! The daemon is killed at every point between an event and its file, and at random instants while events come in. What was
//! accepted is in its file once, and in order; what was not, and is sent again, too.

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

pub fn points() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(point, _)| *point).chain([TRASHED, SWEPT])
}

fn event(at: usize) -> Value {
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

/// Sends an event; says no when the daemon is gone.
fn send(connection: &mut Connection, token: &str, at: usize) -> bool {
    let reply = connection.send(&Request::send("POST", EVENTS, &event(at)).bearer(token));
    if let Some(reply) = &reply {
        assert_eq!(reply.status, 202, "{}", reply.json());
    }
    reply.is_some()
}

/// Waits for the files: every word is in the vault once, and in each conversation in the order it was said.
#[track_caller]
fn all_are_there_once(vault: &Daemon, sent: usize) {
    vault.captured();
    let mut found = Vec::new();
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
        found.extend(numbers);
    }
    assert_once(&found, sent);
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
                let (mut vault, mut sent) = (Daemon::vault(), 0);
                while let Some((point, passing)) = cases.get(next.fetch_add(1, Ordering::Relaxed)) {
                    println!("{point}:{passing}");
                    // What writes files at the start counts from a new vault on.
                    if point.starts_with("file-") {
                        (vault, sent) = (Daemon::vault(), 0);
                    }
                    let is_answered = dies_at(&mut vault, &mut sent, &format!("{point}:{passing}"));
                    vault.start();
                    if !is_answered {
                        // It is sent again.
                        assert!(send(&mut Connection::open(vault.address()), vault.token(), sent - 1));
                    }
                    all_are_there_once(&vault, sent);
                    vault.terminate();
                }
            });
        }
    });
}

/// Sends events one after the other until the daemon dies; says whether the last was answered.
fn dies_at(vault: &mut Daemon, sent: &mut usize, point: &str) -> bool {
    let deadline = Instant::now() + PATIENCE;
    // The state is looked at when nothing has come for a while; the others are passed sooner, or with the next events.
    let idle = Duration::from_millis(if point.starts_with("state-") { 5000 } else { 1000 });
    assert!(vault.launch(Some(point)), "{point} is passed before any event");
    let mut is_answered = true;
    while !vault.was_killed() {
        assert!(Instant::now() < deadline, "{point} was not passed");
        // One that was idle for ten seconds, on a busy machine, is closed: what is sent into it is not answered, and nobody dies of it.
        let Some(mut connection) = Connection::try_open(vault.address()) else { continue };
        for _ in 0..5 {
            is_answered = send(&mut connection, vault.token(), *sent);
            *sent += 1;
            if !is_answered {
                break;
            }
        }
        // Some of it is done when nothing more comes.
        let until = Instant::now() + idle;
        while Instant::now() < until && !vault.was_killed() {
            std::thread::sleep(Duration::from_millis(5));
        }
    }
    is_answered
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
    let mut vault = Daemon::vault().started();
    let token = vault.token().to_owned();
    let sent = sent_under_kills(&mut vault, 1, events, kills, |connection, at| send(connection, &token, at));
    all_are_there_once(&vault, sent);
}
