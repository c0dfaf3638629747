//! What the property found, and what its like found before.

use memory_vault::vault::disk::{Change, Signal};

use super::op::{Change as Step, Op, Place};
use super::property::play;
use crate::support::prelude::*;

/// Has a place looked at as the watcher would, and holds the index against one made from nothing.
fn notice(vault: &mut TestVault, path: &str, change: Change) {
    let signal = Signal::Changed(VaultPath::new(path).unwrap(), change);
    vault.owner().workspace().notice(vec![signal]).unwrap();
    let followed = vault.settle().answers(&["river", "boat"]);
    assert_same(&followed, &vault.fresh_answers(&["river", "boat"]));
}

#[test]
fn a_touched_note_has_its_new_time() {
    let mut vault = TestVault::new();
    vault.write("a.md", "river").write("b.md", "river").touch("b.md", 1_700_000_000).sync();
    vault.touch("a.md", 1_600_000_000).sync();
    let followed = vault.answers(&["river"]);
    assert_same(&followed, &vault.fresh_answers(&["river"]));
}

#[test]
fn a_file_in_the_place_of_a_folder_was_listed_as_a_folder_that_cannot_be_read() {
    let mut vault = TestVault::new().with("notes/a.md", "river").synced();
    fs::remove_dir_all(vault.path("notes")).unwrap();
    vault.write("notes", "no note");
    notice(&mut vault, "notes/a.md", Change::Removed);
}

#[test]
fn a_note_in_the_place_of_a_folder_left_findable_what_had_been_in_it() {
    let mut vault = TestVault::new().with("a.md/deep/b.md", "river").with("c.md", "boat").synced();
    // Moved away as a whole, so that no event names what was in it.
    fs::rename(vault.path("a.md"), vault.path("aside")).unwrap();
    fs::remove_dir_all(vault.path("aside")).unwrap();
    vault.write("a.md", "boat");
    notice(&mut vault, "a.md", Change::Closed);
}

#[test]
fn a_note_that_is_copied_to_itself_stays_as_it_is() {
    let here = Place(0, 0);
    let wrote = Step::Write(here, "", vec!["river".into()]);
    let steps = [wrote, Step::Copy(0, here), Step::HardLink(0, Place(0, 2)), Step::Copy(1, here)];
    assert_eq!(play(&steps.map(Op::Tree)), Ok(()));
}
