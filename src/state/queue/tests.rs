//! What the queue holds to.

use std::collections::HashSet;
use std::sync::Arc;

use rusqlite::Connection;

use super::seen::MAX_SEEN;
use super::*;
use crate::state::State;

fn event(key: Option<u64>, kind: &'static str, body: &str) -> NewEvent {
    NewEvent { key, import: None, kind, body: body.into() }
}

fn append(queue: &mut EventQueue, events: Vec<NewEvent>) -> Appended {
    queue.commit(&Batch { requests: vec![events], ..Batch::default() }).unwrap()[0]
}

fn done(queue: &mut EventQueue, done: Vec<u64>) {
    queue.commit(&Batch { done, ..Batch::default() }).unwrap();
}

fn waiting(state: &Arc<State>) -> Vec<(u64, String)> {
    let events = EventReader::new(state).read(0, u64::MAX, 100_000, usize::MAX).unwrap();
    events.into_iter().map(|event| (event.number, event.body.unwrap())).collect()
}

#[test]
fn what_is_done_waits_no_more_and_its_key_is_known_across_a_start() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::in_folder(folder.path());
    let mut queue = EventQueue::new(&state);
    let first = append(&mut queue, vec![event(Some(7), "a", "one"), event(None, "b", "two"), event(Some(7), "a", "x")]);
    assert_eq!(first, Appended { accepted: 2, doubles: 1 });
    let twice = Batch { requests: vec![vec![event(Some(8), "a", "three")]; 2], ..Batch::default() };
    assert_eq!(queue.commit(&twice).unwrap().iter().map(|one| one.accepted).collect::<Vec<_>>(), [1, 0]);
    queue.commit(&Batch { done: vec![1], plan: Some("plan".into()), ..Batch::default() }).unwrap();
    assert_eq!(waiting(&state), [(2, "two".into()), (3, "three".into())]);
    assert_eq!(queue.extent().unwrap(), Extent { first: 2, next: 4, bytes: 8, ..queue.extent().unwrap() });
    done(&mut queue, vec![3]);
    drop(queue);
    let mut queue = EventQueue::new(&state);
    let extent = queue.extent().unwrap();
    assert_eq!((extent.first, extent.next, extent.bytes), (2, 4, 3), "the plan names what was before");
    assert_eq!(EventReader::new(&state).plan().unwrap().as_deref(), Some("plan"));
    assert_eq!(append(&mut queue, vec![event(Some(7), "a", "one"), event(Some(8), "a", "three")]).accepted, 0);
    queue.commit(&Batch { dropped: vec!["b"], ..Batch::default() }).unwrap();
    assert_eq!((waiting(&state), EventReader::new(&state).plan().unwrap()), (vec![], None));
}

#[test]
fn the_last_keys_are_remembered_and_the_others_go() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::in_folder(folder.path());
    let mut queue = EventQueue::new(&state);
    for part in 0..5 {
        let events = (part * 50_000..(part + 1) * 50_000).map(|key| event(Some(key), "a", "x")).collect();
        append(&mut queue, events);
        let extent = queue.extent().unwrap();
        done(&mut queue, (extent.first..extent.next).collect());
    }
    queue.tidy(true).unwrap();
    drop(queue);
    let mut queue = EventQueue::new(&state);
    let key = |key| vec![event(Some(key), "a", "x")];
    assert_eq!(append(&mut queue, key(249_999)).accepted + append(&mut queue, key(150_000)).accepted, 0);
    assert_eq!(append(&mut queue, key(149_999)).accepted, 1);
    let seen = "SELECT count(*) FROM events_seen";
    let seen = Connection::open(state.file()).unwrap().query_row(seen, [], |row| row.get::<_, i64>(0));
    assert_eq!(seen.unwrap(), MAX_SEEN as i64);
}

/// SQLite's own `secure_delete` does not hold this.
#[test]
fn nothing_of_what_is_gone_is_left_on_the_disk() {
    let mut random = 11_u64;
    let mut roll = move |sides: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % sides
    };
    let folder = tempfile::tempdir().unwrap();
    let state = State::in_folder(folder.path());
    let mut queue = EventQueue::new(&state);
    let word = |number: u64| format!("<{number:06}>");
    for round in 0..25 {
        let lengths = [10, 60, 300, 900, 1500, 3000, 9000];
        let next = queue.extent().unwrap().next;
        let events = (0..20 + roll(60)).map(|at| {
            let filling = "x".repeat(lengths[roll(7) as usize]);
            event(None, ["a", "b"][roll(2) as usize], &format!("{0}{filling}{0}", word(next + at)))
        });
        append(&mut queue, events.collect());
        let there: Vec<u64> = waiting(&state).into_iter().map(|(number, _)| number).collect();
        let gone = there.iter().copied().filter(|_| round % 8 == 7 || roll(2) == 0).collect();
        done(&mut queue, gone);
        // While all of it is gone, an idle moment is enough.
        if round % 8 == 7 {
            queue.tidy(true).unwrap()
        } else {
            queue.clear().unwrap()
        }
        let kept: HashSet<u64> = waiting(&state).into_iter().map(|(number, _)| number).collect();
        let next = queue.extent().unwrap().next;
        for file in std::fs::read_dir(folder.path()).unwrap() {
            let path = file.unwrap().path();
            let text = String::from_utf8_lossy(&std::fs::read(&path).unwrap()).into_owned();
            for number in (1..next).filter(|number| !kept.contains(number)) {
                assert!(!text.contains(&word(number)), "{number} in {} after round {round}", path.display());
            }
        }
    }
}

#[test]
fn a_row_that_was_damaged_is_told_from_one_that_is_whole() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::in_folder(folder.path());
    let mut queue = EventQueue::new(&state);
    append(&mut queue, vec![event(None, "a", "one"), event(None, "a", "two")]);
    let hand = Connection::open(state.file()).unwrap();
    hand.execute("UPDATE events SET body = 'others' WHERE number = 1", []).unwrap();
    let bodies = EventReader::new(&state).read(0, 9, 9, 99).unwrap().into_iter().map(|event| event.body);
    assert_eq!(bodies.collect::<Vec<_>>(), [None, Some("two".into())]);
    assert!(state.trouble().is_some_and(|said| said.contains("left out (number 1)")), "{:?}", state.trouble());
}

/// Frames of the log, and how many of them are in the database.
fn log(state: &Arc<State>) -> (i64, i64) {
    let hand = Connection::open(state.file()).unwrap();
    hand.query_row("PRAGMA wal_checkpoint(NOOP)", [], |row| Ok((row.get(1)?, row.get(2)?))).unwrap()
}

#[test]
fn a_log_that_was_long_once_does_not_keep_every_later_event_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::in_folder(folder.path());
    let mut queue = EventQueue::new(&state);
    let long = "x".repeat(3500);
    append(&mut queue, (0..6000).map(|_| event(None, "a", &long)).collect());
    queue.tidy(false).unwrap();
    let (frames, moved) = log(&state);
    assert!(frames > 4096 && moved == frames, "{frames} {moved}");
    for _ in 0..3 {
        append(&mut queue, vec![event(None, "a", "short")]);
        queue.tidy(false).unwrap();
    }
    let (frames, moved) = log(&state);
    assert!(frames > 0 && frames < 100 && moved == 0, "it begins anew and is left alone: {frames} {moved}");
}

#[test]
fn a_log_that_somebody_reads_is_emptied_when_they_are_done() {
    let folder = tempfile::tempdir().unwrap();
    let state = State::in_folder(folder.path());
    let mut queue = EventQueue::new(&state);
    append(&mut queue, vec![event(None, "a", "before")]);
    let reader = Connection::open(state.file()).unwrap();
    reader.execute_batch("BEGIN; SELECT * FROM events").unwrap();
    append(&mut queue, vec![event(None, "a", "after")]);
    queue.tidy(true).unwrap();
    assert!(log(&state).0 > 0);
    reader.execute_batch("COMMIT").unwrap();
    queue.tidy(true).unwrap();
    assert_eq!(log(&state).0, 0);
}
