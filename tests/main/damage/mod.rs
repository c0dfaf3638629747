//! Stores that were damaged: noticed, said once, healed, and no text embedded again whose embedding was whole, but where the catalog is built anew.

mod closed;
mod elsewhere;
mod random;
mod running;

use std::ops::RangeInclusive;

use crate::support::prelude::*;

const QUERIES: [&str; 3] = ["river boat", "\"green garden\"", "subject3"];

/// What is said where the catalog is built anew, and each text embedded again.
const BUILT_ANEW: &str = "rebuilt from the notes";

/// Every file of an index with its bytes.
type Files = Vec<(PathBuf, Vec<u8>)>;

/// An indexed vault, to be damaged again and again.
struct Fixture {
    vault: TestVault,
    /// The index as a clean stop leaves it.
    closed: Files,
    /// The index as it lies on disk while it is open, and as a killed process leaves it.
    open: Files,
    expected: Answers,
    /// What SQLite keeps of each embedding, byte for byte.
    records: Vec<Vec<u8>>,
}

/// What a damaged index is expected to come to.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Noticed {
    /// It is said, once.
    Said,
    /// Nothing that is used was damaged, or it mends itself.
    Unsaid,
    /// Either: the byte may be one that nothing uses.
    Perhaps,
}

impl Fixture {
    fn new() -> Self {
        let mut vault = TestVault::new();
        for at in 0..12 {
            let text = format!(
                "---\ntags: [tag{at}]\nkey{at}: metadata{at}\n---\n# Note {at}\n\nA river and a boat{at}. A green garden.\n\n\
                 ## Part\n\n{}",
                format!("subject{at} of it. ").repeat(80)
            );
            vault.write(&format!("notes/{at}.md"), text);
        }
        vault.write("notes/odd.md", "---\nbroken: [\n---\nodd").write("notes/blob.md", b"\xff\xfe\x00\xd8".as_slice());
        vault.sync().write("notes/3.md", "# Note 3\n\nsubject3 was edited: green garden").sync();
        vault.restart().write("notes/4.md", "# Note 4\n\nsubject4 was edited: a boat").sync();
        let open = contents(&vault.index_dir());
        vault.stop();
        let closed = contents(&vault.index_dir());
        let expected = vault.fresh_answers(&QUERIES);
        let records = records(&vault.index_dir().join("catalog.db"));
        Self { vault, closed, open, expected, records }
    }

    /// Puts an index in place, damages it, starts on it, and holds everything it does against what it should.
    #[track_caller]
    fn heals(&mut self, what: &str, killed: bool, noticed: Noticed, damage: impl FnOnce(&Path)) {
        self.heals_while(what, killed, false, noticed, damage);
    }

    /// Damages the index while it is open, has it checked, and holds everything it does against what it should.
    #[track_caller]
    fn heals_running(&mut self, what: &str, noticed: Noticed, damage: impl FnOnce(&Path)) {
        self.heals_while(what, false, true, noticed, damage);
    }

    #[track_caller]
    fn heals_while(&mut self, what: &str, killed: bool, open: bool, noticed: Noticed, damage: impl FnOnce(&Path)) {
        let index = self.vault.index_dir();
        self.vault.stop();
        let _ = fs::remove_dir_all(&index);
        write(if killed { &self.open } else { &self.closed });
        if open {
            self.vault.sync();
        }
        damage(&index);
        let lost = self.lost(noticed);
        let before = self.vault.embedder.documents_embedded();
        let opened = if open { None } else { self.vault.sync().status().rebuilt };
        let found = self.vault.verify().damage;
        let now = self.vault.status().rebuilt;
        assert!(!open || now.is_some() != found.is_empty(), "{what}: {now:?}, the check {found:?}");
        // Whatever reads it first finds it: opening, a thread of the vault's, or the check.
        let said = opened.is_some() || !found.is_empty() || now.is_some();
        let embedded = self.vault.embedder.documents_embedded() - before;
        let is_anew = opened.iter().chain(&now).chain(&found).any(|said| said.contains(BUILT_ANEW));
        assert!(
            is_anew || lost.contains(&embedded),
            "{what}: {embedded} texts embedded again, not {lost:?}; opening said {opened:?}, the check {found:?}; {now:?}"
        );
        match noticed {
            Noticed::Said => assert!(said, "{what} was not noticed"),
            Noticed::Unsaid => assert!(!said, "{what}: opening said {opened:?}, the check {found:?}"),
            Noticed::Perhaps => {}
        }
        self.is_whole(what);
    }

    /// It answers as an index made from nothing, a check finds nothing more, and the next start has nothing to say.
    #[track_caller]
    fn is_whole(&mut self, what: &str) {
        if let Some(said) = self.vault.status().rebuilt {
            let mut sentences: Vec<&str> = said.split("; ").collect();
            sentences.sort_unstable();
            assert!(sentences.windows(2).all(|two| two[0] != two[1]), "{what} was said more than once: {said}");
        }
        assert_same(&self.vault.answers(&QUERIES), &self.expected);
        assert_eq!(self.vault.verify().damage, Vec::<String>::new(), "{what}");
        assert_eq!(self.vault.restart().status().rebuilt, None, "{what}");
        assert_same(&self.vault.answers(&QUERIES), &self.expected);
    }

    /// How many embeddings are nowhere to be found in the files of the catalog. Of those that are in the log alone, SQLite
    /// sees none behind the first page of it that is damaged, and says nothing; those of a page whose inside makes no sense
    /// are not seen before a check has found that page.
    fn lost(&self, noticed: Noticed) -> RangeInclusive<usize> {
        const ROWS_OF_A_PAGE: usize = 20;
        let index = self.vault.index_dir();
        let read = |name: &str| fs::read(index.join(name)).unwrap_or_default();
        let (mut database, log) = (read("catalog.db"), read("catalog.db-wal"));
        // SQLite takes what is missing of the last page for zeros.
        database.resize(database.len().next_multiple_of(8192), 0);
        let only_in_log: Vec<_> = self.records.iter().filter(|record| find(&database, record).is_none()).collect();
        let nowhere = only_in_log.iter().filter(|record| find(&log, record).is_none()).count();
        nowhere..=only_in_log.len() + if noticed == Noticed::Perhaps { ROWS_OF_A_PAGE } else { 0 }
    }
}

/// What SQLite keeps of each embedding in use: the header of its record, and the record.
fn records(catalog: &Path) -> Vec<Vec<u8>> {
    let connection = rusqlite::Connection::open(catalog).unwrap();
    let used = "SELECT content, vector FROM vectors WHERE content IN (SELECT content FROM chunks)";
    let mut select = connection.prepare(used).unwrap();
    let rows = select.query_map([], |row| Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, Vec<u8>>(1)?))).unwrap();
    let rows: Vec<(Vec<u8>, Vec<u8>)> = rows.map(Result::unwrap).collect();
    drop(select);
    drop(connection);
    let bytes = fs::read(catalog).unwrap();
    let record = |(content, vector): (Vec<u8>, Vec<u8>)| {
        let end = find(&bytes, &vector).unwrap() + vector.len();
        // The header has seven bytes, the model four, the checksum eight.
        let start = end - vector.len() - 8 - content.len() - 4 - 7;
        assert_eq!(bytes[start], 7, "the header of a record");
        bytes[start..end].to_owned()
    };
    rows.into_iter().map(record).collect()
}

fn write(files: &Files) {
    for (path, bytes) in files {
        write_file(path, bytes);
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    find_all(bytes, part).next()
}

fn find_all(bytes: &[u8], part: &[u8]) -> impl Iterator<Item = usize> {
    let (first, rest) = part.split_first().expect("something to look for");
    let starts = bytes.iter().enumerate().filter(move |(_, byte)| *byte == first).map(|(at, _)| at);
    starts.filter(move |at| bytes[*at + 1..].starts_with(rest))
}

/// Flips a bit in place, so that whoever has the file open sees it.
fn flip(path: &Path, at: usize) {
    use std::os::unix::fs::FileExt;
    let file = fs::File::options().read(true).write(true).open(path).unwrap();
    let mut byte = [0];
    file.read_exact_at(&mut byte, at as u64).unwrap();
    file.write_all_at(&[byte[0] ^ 0x10], at as u64).unwrap();
}

fn length(path: &Path) -> usize {
    fs::metadata(path).unwrap().len() as usize
}

fn cut(path: &Path, to: usize) {
    fs::File::options().write(true).open(path).unwrap().set_len(to as u64).unwrap();
}

fn remove(path: &Path) {
    if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }.unwrap();
}

/// A folder with something in it where a file was, or a file where a folder was.
fn replace(path: &Path) {
    let is_folder = path.is_dir();
    remove(path);
    if is_folder {
        fs::write(path, "in the way").unwrap();
    } else {
        fs::create_dir_all(path.join("in the way")).unwrap();
    }
}

/// The largest file of each kind in tantivy's folder.
fn segment_files(index: &Path) -> Vec<PathBuf> {
    let all = contents(&index.join("tantivy"));
    let largest = |kind: &str| {
        let of_kind = all.iter().filter(|(path, _)| path.extension().is_some_and(|extension| extension == kind));
        of_kind.max_by_key(|(_, bytes)| bytes.len()).map(|(path, _)| path.clone())
    };
    let kinds = ["idx", "term", "pos", "fast", "fieldnorm", "store", "del"];
    let mut files: Vec<PathBuf> = kinds.into_iter().filter_map(largest).collect();
    files.sort();
    assert!(files.len() >= 6, "{files:?}");
    files
}
