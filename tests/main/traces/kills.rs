//! The daemon is killed at every point between an event and its line, and at random instants while events come in. What was answered
//! is in the files once; what was not, and is sent again, too.

use super::{EVENT, files, ids, post, said, vault};
use crate::support::prelude::*;

/// Points that every event passes, and which passings of them.
const CASES: [(&str, usize); 5] =
    [("trace-written", 1), ("trace-written", 3), ("trace-synced", 1), ("trace-synced", 2), ("trace-synced", 5)];
/// Those that files pass as time passes, and while a text is swept out of them.
const OTHERS: [&str; 2] = ["trace-sealing", "trace-swept"];

pub fn points() -> impl Iterator<Item = &'static str> {
    CASES.iter().map(|(point, _)| *point).chain(OTHERS)
}

fn event(number: usize) -> Value {
    let mut event = said(&format!("e{number}"), &format!("w{number}w and some more of what was said"));
    // An event that says when it was is kept by that; others by when they come.
    if number.is_multiple_of(3) {
        event["created_at"] = json!(jiff::Timestamp::now().as_second());
    }
    event
}

/// Sends an event; says no when the daemon is gone.
fn send(connection: &mut Connection, token: &str, event: &Value) -> bool {
    let reply = connection.send(&Request::send("POST", EVENT, event).bearer(token));
    if let Some(reply) = &reply {
        assert_eq!(reply.status, 200, "{}", reply.json());
    }
    reply.is_some()
}

/// Every event is in the files once, and each line is whole.
#[track_caller]
fn all_are_there_once(vault: &Daemon, sent: usize) {
    let all = files(vault, "ada");
    let lines = all.iter().filter(|(path, _)| path.extension().is_some_and(|end| end == "jsonl"));
    let number = |line: &str| {
        let event: Value = serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
        event["id"].as_str().unwrap()[1..].parse().unwrap()
    };
    assert_once(&lines.flat_map(|(_, text)| text.lines()).map(number).collect::<Vec<_>>(), sent);
}

#[test]
fn killed_at_every_point_between_an_event_and_its_line() {
    let (mut vault, ada) = vault("");
    let mut sent = 0;
    for (point, passing) in CASES {
        vault.terminate();
        assert!(vault.launch(Some(&format!("{point}:{passing}"))), "{point} is passed before any event");
        let mut connection = Connection::open(vault.address());
        while send(&mut connection, &ada, &event(sent)) {
            sent += 1;
        }
        until("the daemon's end", || vault.was_killed());
        vault.start();
        assert!(send(&mut Connection::open(vault.address()), &ada, &event(sent)), "it is sent again");
        sent += 1;
        all_are_there_once(&vault, sent);
    }
    let newest = vault.get_as(&ada, "/api/agents/ada/trace?limit=1000");
    assert_eq!((ids(&newest).len(), &newest.json()["damaged"]), (sent, &Value::Null));
}

#[test]
fn a_torn_line_is_cut_off_and_an_old_file_sealed_with_what_comes_later_beside_it() {
    let (mut vault, ada) = vault("");
    assert_eq!(post(&vault, &ada, &event(0)).status, 200);
    vault.terminate();
    let (path, whole) = files(&vault, "ada")[0].clone();
    let old = path.with_file_name("2026-03-02T10.jsonl");
    fs::write(&old, whole.replace("\"e0\"", "\"e1\"")).unwrap();
    vault.spawn(Some("trace-sealing:1"));
    until("the daemon's end", || vault.was_killed());
    let mode = || fs::metadata(&old).unwrap().permissions().mode() & 0o777;
    assert_ne!(mode(), 0o400);
    fs::write(&path, format!("{whole}{}", &whole[..whole.len() / 2])).unwrap();
    vault.start();
    until("the line to be cut off", || fs::read_to_string(&path).unwrap() == whole);
    until("the log", || vault.log().contains("was torn"));
    until("the seal", || mode() == 0o400);
    assert_eq!(post(&vault, &ada, &event(2)).status, 200);
    all_are_there_once(&vault, 3);
    let mut late = said("late", "x");
    late["created_at"] = json!(1_772_445_600);
    assert_eq!(post(&vault, &ada, &late).status, 200);
    assert_eq!(fs::read_to_string(&old).unwrap(), whole.replace("\"e0\"", "\"e1\""));
    let beside = fs::read_to_string(path.with_file_name("2026-03-02T10.late.jsonl")).unwrap();
    assert!(beside.contains("\"late\"") && beside.lines().count() == 1, "{beside}");
}

#[test]
fn none_of_500_a_second_is_lost_or_doubled_under_random_kills() {
    let is_soak = soak_minutes().is_some();
    let (events, kills) = if is_soak { (10_000, 40) } else { (2000, 5) };
    let (events, kills) = (number("TRACE_EVENTS").unwrap_or(events), number("TRACE_KILLS").unwrap_or(kills));
    let (mut vault, ada) = vault("");
    let sent = sent_under_kills(&mut vault, 4, events, kills, |connection, at| send(connection, &ada, &event(at)));
    all_are_there_once(&vault, sent);
}
