//! The documents of indexes: what is one, and what becomes of the table.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use super::super::{IndexVariables, QmdCollection};
use super::*;

fn index(folder: &Path) -> (IndexPaths, QmdCollections) {
    let notes = folder.join("notes");
    fs::create_dir_all(&notes).unwrap();
    let place = IndexPaths::of(None, &IndexVariables::default()).unwrap();
    let place = IndexPaths { folder: folder.join("index"), database: folder.join("cache/index.sqlite"), ..place };
    let mut all = QmdCollections::default();
    all.add(QmdCollection::new("notes", &notes, "**/*.md").unwrap()).unwrap();
    all.save(&place).unwrap();
    (place, all)
}

#[test]
fn the_table_follows_the_files_and_has_no_private_note() {
    let folder = tempfile::tempdir().unwrap();
    let (place, all) = index(folder.path());
    let write = |name: &str, text: &str| fs::write(folder.path().join("notes").join(name), text).unwrap();
    write("a.md", "# One\n\nText.\n");
    write("b.md", "---\nprivate: true\n---\n# Mine\n");
    let documents = QmdDocuments::open(&place, &all).unwrap();
    let changes = documents.refresh().unwrap();
    assert_eq!(changes["notes"], DocumentChanges { new: 1, ..DocumentChanges::default() });
    let [one] = &documents.all(None).unwrap()[..] else { panic!("one document") };
    assert_eq!((&*one.title, &*one.path, one.hash.len()), ("One", "a.md", 64));
    assert_eq!(documents.by_hash(&one.hash[..6]).unwrap(), documents.by_hash(&one.hash.to_uppercase()[..9]).unwrap());
    assert!(documents.by_hash("%").unwrap().is_empty() && documents.by_hash("").unwrap().is_empty());
    assert_eq!(documents.refresh().unwrap()["notes"].unchanged, 1);
    // What became private is gone to the letter.
    write("a.md", "---\nprivate: true\n---\n# One more word\n");
    assert_eq!(documents.look("notes", "a.md").unwrap(), None);
    assert!(documents.all(None).unwrap().is_empty());
    let bytes = fs::read(&place.database).unwrap();
    assert!(!bytes.windows(3).any(|part| part == b"One"), "its title is not in the file any more");
    assert_eq!(place.database.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(documents.look("notes", "../index/qmd.json").unwrap(), None);
    assert_eq!(documents.look("other", "a.md").unwrap(), None);
}

#[test]
fn what_a_search_would_not_give_is_no_document() {
    let folder = tempfile::tempdir().unwrap();
    let (place, all) = index(folder.path());
    let notes = folder.path().join("notes");
    let write = |name: &str, text: &str| {
        let path = notes.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("open.md", "# Open\n");
    write("of-open.md", "---\nsources: [open.md]\n---\n# Made of it\n");
    write("of-that.md", "---\nsources: [of-open.md]\n---\n# Made of that\n");
    write("secret.md", "---\nprivate: true\n---\n# Secret\n");
    write("of-secret.md", "---\nsources: [secret.md]\n---\n# Made of it\n");
    write("remark.md", "---\nannotates: { path: secret.md, quote: x }\n---\n> x\n");
    write("memories/user.md", "- [fact] Hides (source secret.md#L1)\n");
    write("agents/ada/MEMORY.md", "# Hers\n");
    write("ill.md", "---\ntags: [health/teeth]\n---\n# Ill\n");
    let documents = QmdDocuments::open(&place, &all).unwrap();
    let paths = |documents: &QmdDocuments| {
        documents.refresh().unwrap();
        let all = documents.all(None).unwrap().into_iter();
        all.map(|document| document.path).collect::<Vec<_>>()
    };
    assert_eq!(paths(&documents), ["ill.md", "of-open.md", "of-that.md", "open.md"]);
    for hidden in ["of-secret.md", "remark.md", "memories/user.md", "agents/ada/MEMORY.md"] {
        assert_eq!(documents.look("notes", hidden).unwrap(), None, "{hidden}");
    }
    // What it was made of is private now, and it is as it was.
    assert!(documents.look("notes", "of-that.md").unwrap().is_some());
    write("open.md", "---\nprivate: true\n---\n# Open\n");
    assert_eq!(documents.look("notes", "of-that.md").unwrap(), None);
    assert_eq!(paths(&documents), ["ill.md"]);
    write("open.md", "# Open\n");
    // The page of the index's agent counts, and stays as the person has it.
    let page = crate::serve::qmd::collections::page_of(&place.folder);
    for (rules, seen) in [
        ("can_read_user_memory: true\nexclude_tags: [health]", &["of-open.md", "of-that.md", "open.md"][..]),
        ("can_read_user_memory: false", &[]),
        ("can_read_user_memory: true\npaths: [notes/ill.md]", &["ill.md"]),
    ] {
        fs::write(&page, format!("---\n{rules}\n---\n")).unwrap();
        all.save(&place).unwrap();
        let other = QmdDocuments::open(&place, &all).unwrap();
        assert_eq!(other.look("notes", "ill.md").unwrap().is_some(), seen == ["ill.md"], "{rules}");
        assert_eq!(paths(&other), seen, "{rules}");
    }
}

#[test]
fn two_indexes_of_one_cache_have_each_its_own_rows() {
    let folder = tempfile::tempdir().unwrap();
    let (place, all) = index(folder.path());
    fs::write(folder.path().join("notes/a.md"), "# One\n").unwrap();
    let other_place = IndexPaths { folder: folder.path().join("other"), ..place.clone() };
    let mut other_all = QmdCollections::default();
    let mine = folder.path().join("mine");
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("a.md"), "# Other\n").unwrap();
    fs::write(mine.join("b.md"), "# Other too\n").unwrap();
    other_all.add(QmdCollection::new("notes", &mine, "**/*.md").unwrap()).unwrap();
    other_all.add(QmdCollection::new("more", &mine.join("x"), "**/*.md").unwrap()).unwrap();
    other_all.save(&other_place).unwrap();
    let one = QmdDocuments::open(&place, &all).unwrap();
    let other = QmdDocuments::open(&other_place, &other_all).unwrap();
    for _ in 0..2 {
        one.refresh().unwrap();
        other.refresh().unwrap();
    }
    assert_eq!((one.all(None).unwrap().len(), other.all(None).unwrap().len()), (1, 2));
    let hash = &other.look("notes", "a.md").unwrap().unwrap().0.hash;
    assert!(one.by_hash(hash).unwrap().is_empty() && other.by_hash(hash).unwrap().len() == 1);
    let seen = rusqlite::Connection::open(&place.database).unwrap();
    let count = || seen.query_row("SELECT COUNT(*) FROM documents WHERE active = 1", [], |row| row.get::<_, i64>(0));
    assert_eq!(count().unwrap(), 3, "each of the three");
    fs::remove_dir_all(&other_place.folder).unwrap();
    one.refresh().unwrap();
    assert_eq!(count().unwrap(), 1, "what is gone leaves nothing");
}

#[test]
fn what_the_person_has_left_out_or_made_private_by_its_place_is_no_document() {
    let folder = tempfile::tempdir().unwrap();
    let (place, all) = index(folder.path());
    let (notes, settings) = (folder.path().join("notes"), place.folder.join("memory.toml"));
    for name in ["a.md", "diary.md", "old.md"] {
        fs::write(notes.join(name), "# One\n").unwrap();
    }
    let text = fs::read_to_string(&settings).unwrap();
    let own = "[access]\nprivate = [\"notes/diary.md\"]\n\n[index]\nexclude = [\"notes/old.md\"]\n\n";
    fs::write(&settings, format!("{own}{text}")).unwrap();
    let documents = QmdDocuments::open(&place, &all).unwrap();
    documents.refresh().unwrap();
    let paths: Vec<String> = documents.all(None).unwrap().into_iter().map(|document| document.path).collect();
    assert_eq!(paths, ["a.md"]);
    assert_eq!(documents.look("notes", "diary.md").unwrap(), None);
}

#[test]
fn one_that_is_damaged_is_put_aside_and_another_serves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    drop(DocumentsDatabase::open(&file).unwrap());
    let mut bytes = fs::read(&file).unwrap();
    bytes[4096..].fill(0);
    fs::write(&file, &bytes).unwrap();
    let (one, other) = (DocumentsDatabase::open(&file).unwrap(), DocumentsDatabase::open(&file).unwrap());
    let asked = |database: &DocumentsDatabase| {
        database.ask(|all| all.query_row("SELECT COUNT(owner) FROM documents", [], |row| row.get::<_, i64>(0)))
    };
    for database in [&one, &other] {
        // Whoever comes second takes the one that is there.
        assert_eq!(asked(database).unwrap(), 0);
        assert_eq!(identity(&file), Some(database.id()));
    }
    assert!(folder.path().join("index.sqlite.before").exists());
    assert!(!folder.path().join("index.sqlite.before-1").exists());
}

#[test]
fn one_of_another_version_is_emptied_and_serves() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("index.sqlite");
    let former = DocumentsDatabase::open(&file).unwrap();
    let older = "DROP TABLE documents; CREATE TABLE documents(id); PRAGMA user_version = 1;";
    former.ask(|all| all.execute_batch(older)).unwrap();
    drop(former);
    let now = DocumentsDatabase::open(&file).unwrap();
    let rows = now.ask(|all| all.query_row("SELECT COUNT(owner) FROM documents", [], |row| row.get::<_, i64>(0)));
    assert_eq!(rows.unwrap(), 0);
    assert!(!folder.path().join("index.sqlite.before").exists());
}

#[test]
fn what_is_another_program_s_is_set_aside() {
    let folder = tempfile::tempdir().unwrap();
    // As people name folders.
    let place = folder.path().join("a?b#c%20/index.sqlite");
    create_private_dir(place.parent().unwrap()).unwrap();
    let foreign = Connection::open(&place).unwrap();
    foreign.execute_batch("CREATE TABLE documents(x); INSERT INTO documents VALUES (7)").unwrap();
    drop(foreign);
    let before = fs::read(&place).unwrap();
    drop(DocumentsDatabase::open(&place).unwrap());
    let aside = place.with_extension("sqlite.before");
    assert_eq!(fs::read(&aside).unwrap(), before);
    drop(DocumentsDatabase::open(&place).unwrap());
    assert!(!place.with_extension("sqlite.before-1").exists(), "ours is not");
    for foreign in ["not a database, and long enough to be none of SQLite's, whatever it looks like", ""] {
        fs::write(&place, foreign).unwrap();
        drop(DocumentsDatabase::open(&place).unwrap());
    }
    assert!(place.with_extension("sqlite.before-2").exists());
    // A link leads nowhere that is written.
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    fs::remove_file(&place).unwrap();
    std::os::unix::fs::symlink(&elsewhere, &place).unwrap();
    drop(DocumentsDatabase::open(&place).unwrap());
    assert_eq!(fs::read_to_string(&elsewhere).unwrap(), "mine");
}
