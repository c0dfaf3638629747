//! What can happen to a vault, and to the news of it.

use proptest::prelude::*;

use super::text::{FRONTS, Front, block};

/// One step. What is there is named by a number, modulo how much there is; so are places.
#[derive(Debug, Clone)]
pub enum Op {
    Tree(Change),
    News(News),
}

/// Something done to the files: to which note, file or folder, or to which place.
#[derive(Debug, Clone)]
pub enum Change {
    /// A note is written, in whose place whatever was there is gone.
    Write(Place, Front, Vec<String>),
    /// A block more, in place.
    Insert(usize, usize, String),
    /// A block less, in place.
    Delete(usize, usize),
    /// Another block, by way of a new file that is moved over the old one.
    Replace(usize, usize, String),
    Front(usize, Front),
    /// Another word of the same length, and the old time of change put back.
    Sneak(usize),
    /// Nothing but another time of change, in seconds since 1970.
    Touch(usize, i64),
    /// Bytes that are no text.
    Garble(usize),
    /// A file or folder gets another place.
    Move(usize, Place),
    MoveOut(usize),
    MoveIn(usize, Place),
    Copy(usize, Place),
    /// A second name for the same file.
    HardLink(usize, Place),
    /// A symbolic link to a file or folder.
    SymLink(usize, Place),
    Remove(usize),
}

/// Something done to the watcher's signals. A number draws which, and in which order.
#[derive(Debug, Clone)]
pub enum News {
    /// Some of those that wait are handed over, some of them twice.
    Deliver(u64),
    /// The same, and the indexer has done with them before anything else happens.
    Settle(u64),
    /// Some never come.
    Lose(u64),
    LoseAll,
    /// A place is named where nothing happened, in one of the ways of naming.
    Rumour(Place, usize),
    Rescan,
    Restart,
    /// Every file is read again while more happens.
    Reread,
    Rebuild,
    /// So long nothing happens that stamps can be trusted, then there is a rescan.
    Age,
}

/// A path, by folder and name.
#[derive(Debug, Clone, Copy)]
pub struct Place(pub usize, pub usize);

/// Folders, of which some are hidden, named like notes, or twins but for case.
const FOLDERS: [&str; 9] =
    ["", "notes/", "notes/", "notes/deep/", "Notes/", "journal/", "work/x y/", ".trash/", "notes/a.md/"];

/// Names, of which some are twins but for case or Unicode normalisation, and some no names of notes.
const NAMES: [&str; 13] = [
    "a.md", "A.md", "caf\u{e9}.md", "cafe\u{301}.md", "🌱 seed.md", "יומן.md", "日記.markdown", "#1? 50%.MD",
    ".hidden.md", "deep", "notes", "x y", "journal",
];

impl Place {
    pub fn path(self) -> String {
        format!("{}{}", FOLDERS[self.0 % FOLDERS.len()], NAMES[self.1 % NAMES.len()])
    }
}

fn place() -> impl Strategy<Value = Place> {
    (0..FOLDERS.len(), 0..NAMES.len()).prop_map(|(folder, name)| Place(folder, name))
}

/// Any change.
pub fn change() -> impl Strategy<Value = Change> {
    let any = || 0usize..64;
    let front = || prop::sample::select(FRONTS.to_vec());
    // From the days before 1970 to long after now, as a clock that was set wrong makes them.
    let seconds = prop::sample::select(vec![-86_400, 0, 1_600_000_000, 1_790_000_000, 4_102_444_800]);
    prop_oneof![
        6 => (place(), front(), prop::collection::vec(block(), 0..10))
            .prop_map(|(to, front, blocks)| Change::Write(to, front, blocks)),
        4 => (any(), any(), block()).prop_map(|(note, at, block)| Change::Insert(note, at, block)),
        2 => (any(), any()).prop_map(|(note, at)| Change::Delete(note, at)),
        3 => (any(), any(), block()).prop_map(|(note, at, block)| Change::Replace(note, at, block)),
        2 => (any(), front()).prop_map(|(note, front)| Change::Front(note, front)),
        3 => any().prop_map(Change::Sneak),
        2 => (any(), seconds).prop_map(|(note, seconds)| Change::Touch(note, seconds)),
        1 => any().prop_map(Change::Garble),
        5 => (any(), place()).prop_map(|(node, to)| Change::Move(node, to)),
        2 => any().prop_map(Change::MoveOut),
        3 => (any(), place()).prop_map(|(item, to)| Change::MoveIn(item, to)),
        2 => (any(), place()).prop_map(|(note, to)| Change::Copy(note, to)),
        2 => (any(), place()).prop_map(|(note, to)| Change::HardLink(note, to)),
        2 => (any(), place()).prop_map(|(node, to)| Change::SymLink(node, to)),
        3 => any().prop_map(Change::Remove),
    ]
}

fn news() -> impl Strategy<Value = News> {
    prop_oneof![
        8 => any::<u64>().prop_map(News::Deliver),
        3 => any::<u64>().prop_map(News::Settle),
        2 => any::<u64>().prop_map(News::Lose),
        1 => (place(), 0usize..4).prop_map(|(at, kind)| News::Rumour(at, kind)),
        2 => Just(News::Rescan),
        1 => Just(News::Restart),
        1 => Just(News::Reread),
        1 => Just(News::Rebuild),
    ]
}

/// Any step.
pub fn op() -> impl Strategy<Value = Op> {
    prop_oneof![3 => change().prop_map(Op::Tree), 1 => news().prop_map(Op::News)]
}
