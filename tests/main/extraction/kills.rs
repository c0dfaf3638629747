//! The daemon is killed at every step between a conversation and its proposals.

use super::{conversation, pending, reading, sync};
use crate::support::prelude::*;

/// A step, and how many calls are made in all when the program dies there.
const STEPS: [(&str, usize); 9] = [
    ("extraction-claimed", 1),
    ("extraction-reserved", 1),
    ("extraction-answered", 2),
    ("entries-written", 2),
    ("extraction-proposed", 2),
    ("summary-made", 2),
    ("extraction-summarised", 2),
    ("extraction-turns-marked", 1),
    ("extraction-marked", 1),
];

/// The points that extraction brings.
pub fn points() -> impl Iterator<Item = &'static str> {
    STEPS.into_iter().map(|(point, _)| point).filter(|point| point.starts_with("extraction"))
}

/// Has a daemon extract that dies at a point. A command would do the work itself where the daemon is dead by then.
pub fn die_at(vault: &mut Daemon, point: &str) {
    if vault.launch(Some(&format!("{point}:1")))
        && let Some(mut connection) = Connection::try_open(vault.address())
    {
        connection.send(&Request::new("POST", "/api/processing/sync").bearer(vault.token()));
    }
    until(point, || vault.was_killed());
}

#[test]
fn a_kill_at_any_step_loses_nothing_and_writes_nothing_twice() {
    for (step, calls) in STEPS {
        let (endpoint, mut vault) = reading("");
        vault.write("conversations/tea.md", conversation(&[("user", "I like green tea.")]));
        let talk = fs::read(vault.path("conversations/tea.md")).unwrap();
        die_at(&mut vault, step);
        vault.start();
        let view = sync(&vault);
        assert_eq!(json!([view["queued"], view["dead"], view["state"]]), json!([0, 0, "idle"]), "{step}: {view}");
        let proposed = pending(&vault);
        assert_eq!(proposed.matches("Likes green tea").count(), 1, "{step}: {proposed}");
        let summary = fs::read_to_string(vault.path("summaries/tea.md")).unwrap();
        assert_eq!(summary.matches("Likes green tea").count(), 1, "{step}: {summary}");
        assert!(!vault.path("summaries/tea-2.md").exists(), "{step}");
        assert_eq!(endpoint.asked().len(), calls, "{step}");
        // What it may have cost counts, whatever became of it.
        let reserved = view["day"]["calls"].as_u64().unwrap();
        assert!(reserved as usize >= calls, "{step}: {view}");
        assert_eq!(fs::read(vault.path("conversations/tea.md")).unwrap(), talk, "{step}");
    }
}

#[test]
fn a_conversation_on_which_the_program_dies_each_time_is_put_aside() {
    let (endpoint, mut vault) = reading("");
    vault.write("conversations/tea.md", conversation(&[("user", "I like green tea.")]));
    for _ in 0..4 {
        die_at(&mut vault, "extraction-answered");
    }
    vault.start();
    let view = sync(&vault);
    assert_eq!((&view["dead"], &view["queued"], endpoint.asked().len()), (&json!(1), &json!(0), 4), "{view}");
    assert!(view["dead_letters"][0]["reason"].as_str().unwrap().contains("ended each time"), "{view}");
}
