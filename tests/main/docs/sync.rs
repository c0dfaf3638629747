//! `docs/sync.md`: what it shows is what the program says of such conflicts.

use super::recorded::assert_recorded;
use crate::support::prelude::*;

#[test]
fn the_page_of_several_machines_shows_what_is_said_of_conflicts() {
    let page = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/sync.md")).unwrap();
    let trip = "# Trip\nThe ferry leaves at nine.\n";
    let vault = Daemon::vault()
        .with("notes/trip.md", trip)
        .with("notes/trip.sync-conflict-20260105-183012-ABC2DEF.md", trip.replace("nine", "ten"))
        .with("notes/plan.md", "# Plan\n\n<<<<<<< HEAD\nBeans.\n=======\nPeas.\n>>>>>>> phone\n");
    assert_eq!(assert_recorded(&vault, &page), 3);
}
