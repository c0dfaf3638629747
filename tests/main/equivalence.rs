//! Whatever happened to the files, an index that followed along answers as one made from nothing.

use std::collections::BTreeMap;
use std::fs;

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::RngSeed;

use crate::support::{TestVault, assert_same, cases, difference};

const QUERIES: [&str; 6] = ["river boat", "garden", "\"green apple\"", "apple -river", "code_name tea", "unheard of"];
const FOLDERS: [&str; 5] = ["", "notes/", "notes/deep/", "journal/", "work/x y/"];
const NAMES: [&str; 8] = ["a", "b", "plan", "Über", "the garden", "日記", "c#1", "z"];

/// What can happen to a vault. Files are named by an index into those that there are.
#[derive(Debug, Clone)]
enum Op {
    Create(usize, usize, Vec<String>),
    Insert(Index, Index, String),
    Delete(Index, Index),
    Replace(Index, Index, String),
    Rename(Index, usize),
    Move(Index, usize),
    Copy(Index, usize, usize),
    Remove(Index),
    RenameFolder(usize, usize),
    Touch(Index, u64),
    Front(Index, String),
    Sync(How),
}

#[derive(Debug, Clone, Copy)]
enum How {
    Repair,
    Restart,
    Rebuild,
}

fn sentence() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "river",
        "rivers",
        "boat",
        "garden",
        "gardening",
        "green",
        "apple",
        "apples",
        "tea",
        "code_name",
        "the",
        "of",
        "and",
        "stone",
        "#work",
        "東京の庭",
        "naïve",
        "it's",
    ]);
    prop::collection::vec(word, 3..40).prop_map(|words| words.join(" "))
}

fn block() -> impl Strategy<Value = String> {
    prop_oneof![
        6 => sentence(),
        1 => (1usize..4, sentence()).prop_map(|(level, text)| format!("{} {}", "#".repeat(level), &text.chars().take(20).collect::<String>())),
        1 => prop::collection::vec(sentence(), 1..4).prop_map(|items| format!("- {}", items.join("\n- "))),
        1 => Just("green apple green apple".to_owned()),
        1 => Just("%% a comment of tea %%".to_owned()),
    ]
}

fn front() -> impl Strategy<Value = String> {
    prop::sample::select(vec![
        "",
        "---\ntitle: The green garden\n---\n",
        "---\ntags: [work, tea]\nupdated: 2025-01-02\n---\n",
        "---\ntags: work/plan\ncreated: 2024-03-04\nupdated: 2026-01-01T10:00:00Z\n---\n",
        "---\nprivate: true\n---\n",
        "---\nbroken: [\n---\n",
        "---\nnever: closed\n",
    ])
    .prop_map(str::to_owned)
}

fn op() -> impl Strategy<Value = Op> {
    let file = any::<Index>;
    let (folder, name) = (0..FOLDERS.len(), 0..NAMES.len());
    prop_oneof![
        5 => (folder.clone(), name.clone(), prop::collection::vec(block(), 0..12)).prop_map(|(folder, name, text)| Op::Create(folder, name, text)),
        4 => (file(), file(), block()).prop_map(|(file, at, text)| Op::Insert(file, at, text)),
        2 => (file(), file()).prop_map(|(file, at)| Op::Delete(file, at)),
        3 => (file(), file(), block()).prop_map(|(file, at, text)| Op::Replace(file, at, text)),
        2 => (file(), name.clone()).prop_map(|(file, name)| Op::Rename(file, name)),
        2 => (file(), folder.clone()).prop_map(|(file, folder)| Op::Move(file, folder)),
        2 => (file(), folder.clone(), name).prop_map(|(file, folder, name)| Op::Copy(file, folder, name)),
        2 => file().prop_map(Op::Remove),
        1 => (1..FOLDERS.len(), 1..FOLDERS.len()).prop_map(|(from, to)| Op::RenameFolder(from, to)),
        2 => (file(), 1_600_000_000u64..1_790_000_000).prop_map(|(file, time)| Op::Touch(file, time)),
        2 => (file(), front()).prop_map(|(file, front)| Op::Front(file, front)),
        5 => prop::sample::select(vec![How::Repair, How::Repair, How::Repair, How::Restart, How::Rebuild]).prop_map(Op::Sync),
    ]
}

/// The files as they should be: frontmatter and blocks by path.
type Files = BTreeMap<String, (String, Vec<String>)>;

fn pick(files: &Files, at: &Index) -> Option<String> {
    (!files.is_empty()).then(|| files.keys().nth(at.index(files.len())).unwrap().clone())
}

fn apply(vault: &mut TestVault, files: &mut Files, op: &Op) {
    let save = |vault: &mut TestVault, files: &Files, path: &str| {
        let (front, blocks) = &files[path];
        vault.write(path, format!("{front}{}\n", blocks.join("\n\n")));
    };
    let name_of = |path: &str| path.rsplit('/').next().unwrap().to_owned();
    let folder_of = |path: &str| path[..path.len() - name_of(path).len()].to_owned();
    let file = match op {
        Op::Insert(file, ..) | Op::Delete(file, _) | Op::Replace(file, ..) | Op::Rename(file, _) => Some(file),
        Op::Move(file, _) | Op::Copy(file, ..) | Op::Remove(file) | Op::Touch(file, _) | Op::Front(file, _) => {
            Some(file)
        }
        Op::Create(..) | Op::RenameFolder(..) | Op::Sync(_) => None,
    };
    let path = match file.map(|file| pick(files, file)) {
        Some(None) => return,
        Some(Some(path)) => path,
        None => String::new(),
    };
    match op {
        Op::Create(folder, name, blocks) => {
            let path = format!("{}{}.md", FOLDERS[*folder], NAMES[*name]);
            files.insert(path.clone(), (String::new(), blocks.clone()));
            save(vault, files, &path);
        }
        Op::Insert(_, at, text) => {
            let blocks = &mut files.get_mut(&path).unwrap().1;
            blocks.insert(at.index(blocks.len() + 1), text.clone());
            save(vault, files, &path);
        }
        Op::Delete(_, at) => {
            let blocks = &mut files.get_mut(&path).unwrap().1;
            if !blocks.is_empty() {
                blocks.remove(at.index(blocks.len()));
            }
            save(vault, files, &path);
        }
        Op::Replace(_, at, text) => {
            let blocks = &mut files.get_mut(&path).unwrap().1;
            if !blocks.is_empty() {
                let at = at.index(blocks.len());
                blocks[at] = text.clone();
            }
            save(vault, files, &path);
        }
        Op::Rename(_, name) => relocate(vault, files, &path, &format!("{}{}.md", folder_of(&path), NAMES[*name])),
        Op::Move(_, folder) => relocate(vault, files, &path, &format!("{}{}", FOLDERS[*folder], name_of(&path))),
        Op::Copy(_, folder, name) => {
            let to = format!("{}{}.md", FOLDERS[*folder], NAMES[*name]);
            files.insert(to.clone(), files[&path].clone());
            save(vault, files, &to);
        }
        Op::Remove(_) => {
            files.remove(&path);
            vault.remove(&path);
        }
        Op::RenameFolder(from, to) => {
            let (from, to) = (FOLDERS[*from].trim_end_matches('/'), FOLDERS[*to].trim_end_matches('/'));
            let (old, new) = (vault.path(from), vault.path(to));
            if !old.is_dir() || new.exists() || new.starts_with(&old) {
                return;
            }
            fs::create_dir_all(new.parent().unwrap()).unwrap();
            fs::rename(old, new).unwrap();
            let below = format!("{from}/");
            let moved: Vec<String> = files.keys().filter(|path| path.starts_with(&below)).cloned().collect();
            for path in moved {
                let file = files.remove(&path).unwrap();
                files.insert(format!("{to}/{}", &path[below.len()..]), file);
            }
        }
        Op::Touch(_, time) => drop(vault.touch(&path, *time)),
        Op::Front(_, front) => {
            files.get_mut(&path).unwrap().0 = front.clone();
            save(vault, files, &path);
        }
        Op::Sync(How::Repair) => drop(vault.sync()),
        Op::Sync(How::Restart) => drop(vault.restart()),
        Op::Sync(How::Rebuild) => drop(vault.rebuild()),
    }
}

fn relocate(vault: &mut TestVault, files: &mut Files, from: &str, to: &str) {
    if from != to {
        let file = files.remove(from).unwrap();
        files.insert(to.to_owned(), file);
        vault.rename(from, to);
    }
}

/// Plays the operations; gives what the two indexes differ in.
fn play(ops: &[Op]) -> Option<String> {
    let mut vault = TestVault::new();
    let mut files = Files::new();
    vault.sync();
    ops.iter().for_each(|op| apply(&mut vault, &mut files, op));
    vault.sync();
    let followed = vault.answers(&QUERIES);
    difference(&followed, &vault.fresh_answers(&QUERIES))
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(40),
        max_shrink_iters: 60,
        rng_seed: RngSeed::Fixed(2),
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn incremental_indexing_answers_as_a_full_reindex_does(ops in prop::collection::vec(op(), 10..30)) {
        if let Some(difference) = play(&ops) {
            return Err(TestCaseError::fail(difference));
        }
    }
}

#[test]
fn a_touched_note_has_its_new_time() {
    let mut vault = TestVault::new();
    vault.write("a.md", "river").write("b.md", "river").touch("b.md", 1_700_000_000).sync();
    vault.touch("a.md", 1_600_000_000).sync();
    let followed = vault.answers(&QUERIES);
    assert_same(&followed, &vault.fresh_answers(&QUERIES));
}

#[test]
fn embeddings_of_texts_that_are_gone_do_not_pile_up() {
    let mut vault = TestVault::new();
    for round in 0..8 {
        let sections: Vec<String> = (0..400).map(|at| format!("# {at}\n\nriver {round} of {at}")).collect();
        vault.write("a.md", sections.join("\n\n")).restart();
    }
    vault.stop();
    let catalog = rusqlite::Connection::open(vault.index_dir().join("catalog.db")).unwrap();
    let kept: i64 = catalog.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0)).unwrap();
    assert!((400..2000).contains(&kept), "{kept} embeddings of 400 passages");
}
