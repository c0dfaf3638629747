//! Damage while nobody had the stores open: the next start finds it, or the check does.

use memory_vault::index::local::keyword::FORMAT;

use super::Noticed::{Perhaps, Said, Unsaid};
use super::{Fixture, Noticed, cut, find_all, flip, length, remove, replace, segment_files};
use crate::support::prelude::*;

type Damage = fn(&Path);

/// What can become of any file.
const WHOLESALE: [(&str, Damage); 5] = [
    ("cut by half", |path| cut(path, length(path) / 2)),
    ("cut by a byte", |path| cut(path, length(path) - 1)),
    ("empty", |path| cut(path, 0)),
    ("missing", remove),
    ("replaced by a folder", replace),
];

fn wholesale(fixture: &mut Fixture, killed: bool, name: &str, noticed: Noticed) {
    for (what, damage) in WHOLESALE {
        // The byte may be one that nothing uses.
        let noticed = if what == "cut by a byte" { Perhaps } else { noticed };
        fixture.heals(&format!("{name} {what}"), killed, noticed, |index| damage(&index.join(name)));
    }
}

#[test]
fn nothing_is_wrong() {
    let mut fixture = Fixture::new();
    fixture.heals("nothing", false, Unsaid, |_| {});
    fixture.heals("a killed process", true, Unsaid, |_| {});
    fixture.heals("another boot", true, Unsaid, |index| fs::write(index.join("open"), "another").unwrap());
}

#[test]
fn the_catalog_as_a_whole() {
    let mut fixture = Fixture::new();
    wholesale(&mut fixture, false, "catalog.db", Said);
    let garbage: Damage = |index| fs::write(index.join("catalog.db"), "garbage ".repeat(5000)).unwrap();
    let other: Damage = |index| {
        remove(&index.join("catalog.db"));
        let connection = rusqlite::Connection::open(index.join("catalog.db")).unwrap();
        connection.execute_batch("CREATE TABLE files(id); PRAGMA user_version = 3;").unwrap();
    };
    fixture.heals("garbage", false, Said, garbage);
    fixture.heals("another program's database", false, Said, other);
    for version in [1, 999] {
        fixture.heals(&format!("format {version}"), false, Said, |index| {
            let connection = rusqlite::Connection::open(index.join("catalog.db")).unwrap();
            connection.pragma_update(None, "user_version", version).unwrap();
        });
    }
    fixture.heals("the whole index is deleted", false, Unsaid, |index| fs::remove_dir_all(index).unwrap());
}

#[test]
fn a_bit_of_every_page_of_the_catalog() {
    const PAGE: usize = 8192;
    let mut fixture = Fixture::new();
    let pages = length(&fixture.vault.index_dir().join("catalog.db")) / PAGE;
    for page in 0..pages {
        // The kind of the page, how many cells it has, where they start, the first pointer, and its last byte. In a soak all of them
        // on each page, else one after the other.
        let places = [0, 4, 6, 9, PAGE - 1];
        let tried = if soak_minutes().is_some() { &places[..] } else { &places[page % places.len()..][..1] };
        for at in tried.iter().copied() {
            let at = page * PAGE + if page == 0 && at < 100 { 100 + at } else { at };
            fixture.heals(&format!("byte {at} of the catalog"), false, Perhaps, |index| {
                flip(&index.join("catalog.db"), at);
            });
        }
    }
    // The name of the format, the size of a page, the versions, its length, the first free page, our format.
    for at in [0, 16, 18, 19, 28, 32, 63] {
        fixture.heals(&format!("byte {at} of the header"), false, Perhaps, |index| flip(&index.join("catalog.db"), at));
    }
}

/// What the tables say; `None` where they cannot be read.
fn rows(catalog: &Path) -> Option<Vec<Vec<rusqlite::types::Value>>> {
    let folder = tempfile::tempdir().unwrap();
    let copy = folder.path().join("copy.db");
    fs::copy(catalog, &copy).unwrap();
    let connection = rusqlite::Connection::open(&copy).unwrap();
    let mut rows = Vec::new();
    for table in ["meta", "files", "chunks"] {
        let mut select = connection.prepare(&format!("SELECT * FROM {table} NOT INDEXED")).ok()?;
        let columns = select.column_count();
        let read = select.query_map([], |row| (0..columns).map(|at| row.get(at)).collect()).ok()?;
        rows.extend(read.collect::<Result<Vec<_>, _>>().ok()?);
    }
    Some(rows)
}

#[test]
fn a_bit_of_every_kind_of_row() {
    let mut fixture = Fixture::new();
    let place = memory_vault::vault::disk::Home::open(&fixture.vault.root()).unwrap().place();
    for (what, text) in [
        ("a path", "notes/5.md"),
        ("a title", "Note 5"),
        ("a tag", "[\"tag5\"]"),
        ("metadata", "metadata5"),
        ("a problem", "until its frontmatter is repaired"),
        ("a heading path", "[\"Note 5\",\"Part\"]"),
        ("a passage", "A river and a boat5"),
        ("the place", &place),
    ] {
        fixture.heals(what, false, Said, |index| {
            let path = index.join("catalog.db");
            let (bytes, rows) = (fs::read(&path).unwrap(), rows(&path));
            // An index may hold the text too, and so may a place that a row has left; the row is what is meant.
            let of_the_row = find_all(&bytes, text.as_bytes()).find(|at| {
                flip(&path, at + 2);
                let is_read = self::rows(&path) != rows;
                if !is_read {
                    flip(&path, at + 2);
                }
                is_read
            });
            assert!(of_the_row.is_some(), "{text} is in no row of the catalog");
        });
    }
    let columns = [
        "UPDATE files SET private = 1 - private WHERE id = 5",
        "UPDATE files SET hash = zeroblob(32) WHERE id = 5",
        "UPDATE files SET created_ms = created_ms + 1 WHERE id = 5",
        "UPDATE files SET seq = seq + 1 WHERE id = 5",
        "UPDATE chunks SET line_end = line_end + 1 WHERE id = 5",
        "UPDATE chunks SET line_start = line_start + 1 WHERE id = 5",
        "UPDATE chunks SET words_own = words_own + 1 WHERE id = 5",
        "UPDATE chunks SET file = file + 1 WHERE id = 5",
        "UPDATE chunks SET content = zeroblob(16) WHERE id = 5",
        "UPDATE meta SET next_chunk = 1",
        "UPDATE meta SET store = 'another'",
        "DELETE FROM chunks WHERE id = 5",
        "DELETE FROM files WHERE id = 5",
        "INSERT INTO chunks SELECT 7777, 7777, 0, hash, content, heading_path, text, body_start, prose_start, prose_end, \
         line_start, line_end, words_body, words_heading, words_own, checksum FROM chunks WHERE id = 5",
    ];
    for column in columns {
        fixture.heals(column, false, Said, |index| execute(index, column));
    }
    let stamp = "UPDATE files SET mtime_ns = mtime_ns + 1, size = 1";
    fixture.heals(stamp, false, Unsaid, |index| execute(index, stamp));
    let row = fixture.records[3].clone();
    for at in [1, 2, 3, 4, 7, 11, 30, row.len() - 1] {
        fixture.heals(&format!("byte {at} of an embedding's row"), false, Said, |index| {
            let path = index.join("catalog.db");
            find_all(&fs::read(&path).unwrap(), &row).for_each(|start| flip(&path, start + at));
        });
    }
}

fn execute(index: &Path, statement: &str) {
    let connection = rusqlite::Connection::open(index.join("catalog.db")).unwrap();
    assert!(connection.execute(statement, []).unwrap() > 0, "{statement}");
}

#[test]
fn the_log_of_the_catalog_and_the_markers() {
    let mut fixture = Fixture::new();
    // What a log had that cannot be read is found in the files again; it is said when the words were ahead of it.
    wholesale(&mut fixture, true, "catalog.db-wal", Perhaps);
    wholesale(&mut fixture, true, "catalog.db-shm", Perhaps);
    wholesale(&mut fixture, true, "open", Perhaps);
    let log = fixture.open.iter().find(|(path, _)| path.ends_with("catalog.db-wal")).unwrap().1.len();
    for at in [0, 8, 30, 40, log / 3, log / 2, log - 1] {
        fixture.heals(&format!("byte {at} of the log"), true, Perhaps, |index| flip(&index.join("catalog.db-wal"), at));
    }
    for at in [0, 40, 200] {
        fixture.heals(&format!("byte {at} of the log's index"), true, Unsaid, |index| {
            flip(&index.join("catalog.db-shm"), at);
        });
    }
    fixture.heals("a marker that is no text", true, Unsaid, |index| fs::write(index.join("open"), [0xff; 9]).unwrap());
}

#[test]
fn the_words() {
    let mut fixture = Fixture::new();
    for (at, path) in segment_files(&fixture.vault.index_dir()).into_iter().enumerate() {
        let name = path.display();
        fixture.heals(&format!("the first byte of {name}"), false, Said, |_| flip(&path, 0));
        // One way of each for each kind: they are all read in the same way.
        let (what, damage) = WHOLESALE[at % WHOLESALE.len()];
        fixture.heals(&format!("{name} {what}"), false, Said, |_| damage(&path));
    }
    for name in ["tantivy/meta.json", "tantivy/.managed.json"] {
        wholesale(&mut fixture, false, name, Said);
        let bytes = length(&fixture.vault.index_dir().join(name));
        for at in [0, bytes / 2, bytes - 1] {
            fixture.heals(&format!("byte {at} of {name}"), false, Said, |index| flip(&index.join(name), at));
        }
    }
    for (what, damage) in [("missing", remove as Damage), ("replaced by a file", replace)] {
        fixture.heals(&format!("the folder {what}"), false, Said, |index| damage(&index.join("tantivy")));
    }
    for version in ["0", "9"] {
        fixture.heals(&format!("words of format {version}"), false, Said, |index| {
            let path = index.join("tantivy/meta.json");
            let sealed = fs::read_to_string(&path).unwrap();
            let (json, _) = sealed.split_at(sealed.len() - 17);
            let json = json.replace(&format!("\\\"format\\\":{FORMAT}"), &format!("\\\"format\\\":{version}"));
            assert_ne!(json, sealed[..sealed.len() - 17]);
            fs::write(&path, format!("{json}{}\n", &blake3::hash(json.as_bytes()).to_hex()[..16])).unwrap();
        });
    }
}

#[test]
fn the_words_are_older_than_the_catalog() {
    let mut fixture = Fixture::new();
    let vault = &mut fixture.vault;
    vault.sync().write("notes/late.md", "lateword").remove("notes/5.md").sync().stop();
    let index = vault.index_dir();
    fs::remove_dir_all(index.join("tantivy")).unwrap();
    let words: super::Files =
        fixture.closed.iter().filter(|(path, _)| path.starts_with(index.join("tantivy"))).cloned().collect();
    super::write(&words);
    vault.sync();
    assert_eq!(vault.words("lateword").paths(), ["notes/late.md"]);
    assert!(!vault.words("subject5").paths().contains(&"notes/5.md"));
    let healed = vault.answers(&super::QUERIES);
    assert_same(&healed, &vault.fresh_answers(&super::QUERIES));
}

#[test]
fn another_stemmer_is_configured_and_nothing_is_embedded_again() {
    let mut fixture = Fixture::new();
    let vault = &mut fixture.vault;
    vault.config.search.stemmer = memory_vault::base::config::StemmerLanguage::German;
    assert_eq!(vault.embedded_by(|_| {}), 0);
    assert!(vault.status().rebuilt.unwrap().contains("stems"));
    let healed = vault.answers(&super::QUERIES);
    assert_same(&healed, &vault.fresh_answers(&super::QUERIES));
}
