//! Stores that were damaged while nobody had them open: the next start heals, and answers as an index made from nothing.

use std::fs;
use std::path::{Path, PathBuf};

use crate::support::{TestVault, assert_same};

const QUERIES: [&str; 3] = ["river boat", "\"green garden\"", "subject3"];

/// A vault with some notes, indexed, and closed.
fn vault() -> TestVault {
    let mut vault = TestVault::new();
    for at in 0..12 {
        let text = format!(
            "# Note {at}\n\nA river and a boat{at}. A green garden.\n\n## Part\n\n{}",
            format!("subject{at} of it. ").repeat(80)
        );
        vault.write(&format!("notes/{at}.md"), text);
    }
    vault.sync().write("notes/3.md", "# Note 3\n\nsubject3 was edited: green garden").sync().stop();
    vault
}

/// Starts on what `damage` left, and compares with a fresh index.
#[track_caller]
fn heals(damage: impl FnOnce(&Path)) {
    let mut vault = vault();
    damage(&vault.index_dir());
    vault.sync();
    let healed = vault.answers(&QUERIES);
    assert_eq!(vault.words("subject3").paths()[0], "notes/3.md");
    vault.write("notes/new.md", "after the damage: newword").sync();
    assert_eq!(vault.words("newword").paths(), ["notes/new.md"]);
    vault.remove("notes/new.md").sync();
    let fresh = vault.fresh_answers(&QUERIES);
    assert_same(&healed, &fresh);
    vault.sync();
    assert_same(&vault.answers(&QUERIES), &fresh);
}

/// As a power loss leaves it: open for writing, on a boot that is over.
fn pull_the_plug(index: &Path) {
    fs::write(index.join("open"), "another boot").unwrap();
}

fn largest(folder: &Path, extension: &str) -> PathBuf {
    let files = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let of_kind = files.filter(|path| path.extension().is_some_and(|found| found == extension));
    of_kind.max_by_key(|path| fs::metadata(path).unwrap().len()).unwrap_or_else(|| panic!("no .{extension} file"))
}

fn flip(path: &Path, at: f64) {
    let mut bytes = fs::read(path).unwrap();
    let at = ((bytes.len() - 1) as f64 * at) as usize;
    bytes[at] ^= 0x10;
    fs::write(path, bytes).unwrap();
}

fn cut(path: &Path) {
    let bytes = fs::read(path).unwrap();
    fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
}

#[test]
fn nothing_is_wrong() {
    heals(|_| {});
}

#[test]
fn the_whole_index_is_deleted() {
    heals(|index| fs::remove_dir_all(index).unwrap());
}

#[test]
fn the_catalog_is_deleted() {
    heals(|index| fs::remove_file(index.join("catalog.db")).unwrap());
}

#[test]
fn the_catalog_is_garbage() {
    heals(|index| fs::write(index.join("catalog.db"), "garbage ".repeat(5000)).unwrap());
}

#[test]
fn the_catalog_is_cut() {
    heals(|index| cut(&index.join("catalog.db")));
}

#[test]
fn the_catalog_is_empty() {
    heals(|index| fs::write(index.join("catalog.db"), "").unwrap());
}

#[test]
fn a_bit_of_the_catalogs_header_is_flipped() {
    heals(|index| flip(&index.join("catalog.db"), 0.0));
}

#[test]
fn the_catalog_is_of_another_format() {
    heals(|index| {
        let connection = rusqlite::Connection::open(index.join("catalog.db")).unwrap();
        connection.pragma_update(None, "user_version", 999).unwrap();
    });
}

#[test]
fn the_catalog_is_another_programs_database() {
    heals(|index| {
        fs::remove_file(index.join("catalog.db")).unwrap();
        let connection = rusqlite::Connection::open(index.join("catalog.db")).unwrap();
        connection.execute_batch("CREATE TABLE files(id); PRAGMA user_version = 1;").unwrap();
    });
}

#[test]
fn a_bit_of_an_embedding_is_flipped() {
    heals(|index| {
        let connection = rusqlite::Connection::open(index.join("catalog.db")).unwrap();
        let changed = connection.execute("UPDATE vectors SET vector = zeroblob(length(vector))", []).unwrap();
        assert!(changed > 0);
    });
}

#[test]
fn the_words_are_deleted() {
    heals(|index| fs::remove_dir_all(index.join("tantivy")).unwrap());
}

#[test]
fn the_words_have_no_meta_file() {
    heals(|index| fs::remove_file(index.join("tantivy/meta.json")).unwrap());
}

#[test]
fn the_words_meta_file_is_garbage() {
    heals(|index| fs::write(index.join("tantivy/meta.json"), "{\"segments\": 7").unwrap());
}

#[test]
fn a_segment_file_is_deleted() {
    heals(|index| fs::remove_file(largest(&index.join("tantivy"), "idx")).unwrap());
}

#[test]
fn a_segment_file_is_cut() {
    heals(|index| cut(&largest(&index.join("tantivy"), "term")));
}

#[test]
fn a_segment_file_is_empty() {
    heals(|index| fs::write(largest(&index.join("tantivy"), "fast"), "").unwrap());
}

#[test]
fn a_bit_of_a_segment_is_flipped_by_a_power_loss() {
    for (extension, at) in [("idx", 0.1), ("term", 0.5), ("fast", 0.9), ("pos", 0.2), ("fieldnorm", 0.7)] {
        heals(|index| {
            flip(&largest(&index.join("tantivy"), extension), at);
            pull_the_plug(index);
        });
    }
}

#[test]
fn the_words_are_older_than_the_catalog() {
    let mut vault = vault();
    let (words, old) = (vault.index_dir().join("tantivy"), vault.path("old"));
    copy(&words, &old);
    vault.write("notes/late.md", "lateword").remove("notes/5.md").sync().stop();
    fs::remove_dir_all(&words).unwrap();
    copy(&old, &words);
    vault.sync();
    assert_eq!(vault.words("lateword").paths(), ["notes/late.md"]);
    assert!(!vault.words("subject5").paths().contains(&"notes/5.md"));
    let healed = vault.answers(&QUERIES);
    assert_same(&healed, &vault.fresh_answers(&QUERIES));
}

#[test]
fn the_words_are_of_another_vault() {
    let (mut vault, mut other) = (vault(), TestVault::new());
    other.write("x.md", "foreignword").sync().stop();
    let words = vault.index_dir().join("tantivy");
    fs::remove_dir_all(&words).unwrap();
    copy(&other.index_dir().join("tantivy"), &words);
    vault.sync();
    assert!(vault.words("foreignword").paths().is_empty());
    let healed = vault.answers(&QUERIES);
    assert_same(&healed, &vault.fresh_answers(&QUERIES));
}

#[test]
fn the_index_of_another_vault_was_copied_over_this_one() {
    let (mut vault, mut other) = (vault(), TestVault::new());
    other.write("x.md", "foreignword").write("notes/1.md", "foreignword").sync().stop();
    fs::remove_dir_all(vault.index_dir()).unwrap();
    copy(&other.index_dir(), &vault.index_dir());
    vault.sync();
    assert!(vault.words("foreignword").paths().is_empty());
    let healed = vault.answers(&QUERIES);
    assert_same(&healed, &vault.fresh_answers(&QUERIES));
}

#[test]
fn another_stemmer_is_configured() {
    let mut vault = vault();
    vault.config.search.stemmer = memory_vault::config::StemmerLanguage::German;
    vault.sync();
    assert!(vault.status().rebuilt.unwrap().contains("English"));
    let healed = vault.answers(&QUERIES);
    assert_same(&healed, &vault.fresh_answers(&QUERIES));
}

#[test]
fn a_saved_graph_is_garbage() {
    let mut vault = vault();
    vault.config.index.graph_threshold = 4;
    vault.sync();
    let graph = vault.index_dir().join("graph");
    crate::support::eventually("a saved graph", || fs::read_dir(&graph).ok()?.next()?.ok());
    let expected = vault.stop().sync().answers(&QUERIES);
    vault.stop();
    for damage in [flip as fn(&Path, f64), |path, _| cut(path), |path, _| fs::write(path, "x").unwrap()] {
        for (path, _) in crate::support::contents(&graph) {
            damage(&path, 0.5);
        }
        vault.sync();
        assert_same(&vault.answers(&QUERIES), &expected);
        vault.stop();
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for (path, bytes) in crate::support::contents(from) {
        let to = to.join(path.strip_prefix(from).unwrap());
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::write(to, bytes).unwrap();
    }
}
