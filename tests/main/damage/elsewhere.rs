//! Stores that came from elsewhere: another vault, another folder, another machine.

use std::os::unix::fs::MetadataExt;

use super::{Fixture, QUERIES};
use crate::support::prelude::*;

/// Puts files of one vault's index into another's.
fn copy(from: &TestVault, to: &TestVault, part: &str) {
    let (from, to) = (from.index_dir(), to.index_dir());
    let _ = fs::remove_dir_all(to.join(part));
    for (path, bytes) in contents(&from.join(part)) {
        let to = to.join(path.strip_prefix(&from).unwrap());
        write_file(to, bytes);
    }
}

#[test]
fn the_words_or_the_whole_index_are_of_another_vault() {
    let mut other = TestVault::new();
    other.write("x.md", "foreignword").write("notes/1.md", "foreignword").sync().stop();
    for (part, reason) in [("tantivy", "another catalog"), ("", "another folder")] {
        let mut fixture = Fixture::new();
        copy(&other, &fixture.vault, part);
        fixture.vault.sync();
        assert!(fixture.vault.words("foreignword").paths().is_empty());
        let said = fixture.vault.status().rebuilt.unwrap_or_default();
        assert!(said.contains(reason), "{said}");
        fixture.is_whole(reason);
    }
}

#[test]
fn a_vault_that_was_moved_believes_no_stamp_and_keeps_its_embeddings() {
    let mut fixture = Fixture::new();
    let vault = &mut fixture.vault;
    // As a copy with its times kept may have it: other content under the stamp that the index knows.
    vault.write("notes/5.md", "# Note 5\n\nmovedword");
    let found = fs::metadata(vault.path("notes/5.md")).unwrap();
    let ns = |seconds: i64, ns: i64| seconds * 1_000_000_000 + ns;
    let stamp = rusqlite::params![
        ns(found.mtime(), found.mtime_nsec()),
        ns(found.ctime(), found.ctime_nsec()),
        found.size() as i64,
        found.ino() as i64,
        i64::MAX
    ];
    let connection = rusqlite::Connection::open(vault.index_dir().join("catalog.db")).unwrap();
    let update = "UPDATE files SET mtime_ns = ?1, ctime_ns = ?2, size = ?3, inode = ?4, read_ns = ?5 \
                  WHERE path = 'notes/5.md'";
    assert_eq!(connection.execute(update, stamp).unwrap(), 1);
    drop(connection);
    assert!(vault.sync().words("movedword").paths().is_empty(), "the stamp was believed");

    let embedded = vault.relocate().embedder.documents_embedded();
    vault.sync();
    assert_eq!(vault.words("movedword").paths(), ["notes/5.md"]);
    assert_eq!(vault.embedder.documents_embedded() - embedded, 1);
    assert!(vault.status().rebuilt.unwrap().contains("another folder"));
    let moved = vault.answers(&QUERIES);
    assert_eq!(vault.restart().status().rebuilt, None);
    assert_same(&moved, &vault.fresh_answers(&QUERIES));
}
