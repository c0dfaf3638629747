//! The real daemon is killed at every point of the write path and at random instants. The next start answers as a full
//! reindex of the same files does, and no note was touched.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::capture;
use crate::support::Work::{self, Edits, Import, Reindex, Repair, Stop, WordsLost};
use crate::support::{Ran, Victim, contents, seed, soak_minutes, vault_command};

/// A point, what leads there, and which passings of it.
type Case = (&'static str, Work, &'static [usize]);

/// Those that need no model. A new vault writes four files of its own: `.gitignore`, token, address, marker.
const CASES: [Case; 34] = [
    ("file-written", Import, &[1, 2, 3, 4]),
    ("file-renamed", Import, &[1, 2, 3, 4]),
    ("catalog-made", Import, &[1]),
    ("words-made", Import, &[1]),
    ("words-meta-written", Import, &[1, 2, 3]),
    ("words-meta-written", Edits, &[1, 2, 7]),
    ("words-file-deleting", Edits, &[1, 5]),
    ("marked", Import, &[1]),
    ("marked", Edits, &[1]),
    ("skipped-written", Import, &[1]),
    ("skipped-written", Edits, &[2, 5]),
    ("catalog-written", Import, &[1]),
    ("catalog-written", Edits, &[1, 3]),
    ("catalog-committed", Import, &[1]),
    ("catalog-committed", Edits, &[1, 4]),
    ("catalog-committed", Reindex, &[1]),
    ("words-prepared", Edits, &[1, 5]),
    ("words-prepared", Import, &[1]),
    ("words-prepared", Reindex, &[1]),
    ("words-prepared", WordsLost, &[1]),
    ("words-cleared", WordsLost, &[1]),
    ("words-committed", Edits, &[1, 6]),
    ("deletions-forgotten", Edits, &[1, 3]),
    ("publishing", Import, &[1, 2]),
    ("publishing", Edits, &[3]),
    ("touched", Edits, &[1, 2]),
    ("log-released", Edits, &[1]),
    ("log-trimmed", Edits, &[1, 2]),
    ("erasing", Reindex, &[1, 2, 3, 4, 5, 6, 7]),
    ("closing", Stop, &[1]),
    ("closing-checkpointed", Stop, &[1]),
    ("closing-dropped", Stop, &[1]),
    ("closing-synced", Stop, &[1]),
    ("closed", Stop, &[1]),
];

/// Those in the middle of a bulk import or reindex, which takes several batches.
const BULK_CASES: [Case; 4] = [
    ("catalog-written", Import, &[2]),
    ("words-prepared", Import, &[2]),
    ("catalog-committed", Reindex, &[2]),
    ("words-committed", Reindex, &[2]),
];
/// One batch takes 4,096 notes at most.
const BULK_NOTES: usize = 4500;

/// Those that need the model, and a graph above a few passages.
const MODEL_CASES: [Case; 8] = [
    ("embeddings-written", Import, &[1]),
    ("embeddings-written", Edits, &[3]),
    ("embeddings-cached", Import, &[1]),
    ("embeddings-cached", Edits, &[3]),
    ("embeddings-pruned", Repair, &[1]),
    ("graph-written", Import, &[1]),
    ("graph-synced", Import, &[1]),
    ("graph-renamed", Import, &[1]),
];

/// The one in `vault init`.
const TEMPLATE: &str = "template-note-written";

/// So many kills at random instants. With the points above, more than 200.
const ROUNDS: usize = 130;

const NO_MODEL: &str = "[embed]\nmodel = \"none\"\n";
const MODEL: &str = "[index]\ngraph_threshold = 4\n";

/// Several victims at a time go through all that is to be done to them. In a soak everything is done several times.
fn fire<T: Copy + Send + Sync + std::fmt::Debug>(
    victim: impl Fn(u64) -> Victim + Sync,
    to_do: &[T],
    how: impl Fn(&mut Victim, T) + Sync,
) {
    const VICTIMS: usize = 3;
    let to_do = to_do.repeat(if soak_minutes().is_some() { 5 } else { 1 });
    let (seed, next, kills) = (seed(), AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for at in 0..VICTIMS.min(to_do.len()) {
            let (victim, how, to_do, next, kills) = (&victim, &how, &to_do, &next, &kills);
            scope.spawn(move || {
                let mut victim = victim(seed + at as u64);
                while let Some(case) = to_do.get(next.fetch_add(1, Ordering::Relaxed)) {
                    println!("victim {at}: {case:?}");
                    how(&mut victim, *case);
                    victim.dies_in_recovery();
                    victim.recovers();
                }
                kills.fetch_add(victim.kills, Ordering::Relaxed);
            });
        }
    });
    assert!(kills.into_inner() >= to_do.len());
}

fn passings(cases: &[Case]) -> Vec<(&'static str, Work, usize)> {
    cases.iter().flat_map(|(point, work, passings)| passings.iter().map(|passing| (*point, *work, *passing))).collect()
}

#[test]
fn killed_at_every_point_of_the_write_path() {
    fire(|seed| Victim::new(NO_MODEL, seed, 14, 5), &passings(&CASES), Victim::dies_at);
}

#[test]
fn killed_in_a_bulk_import() {
    fire(|seed| Victim::new(NO_MODEL, seed, BULK_NOTES, 1), &passings(&BULK_CASES), Victim::dies_at);
}

#[test]
fn killed_at_every_point_of_embedding() {
    fire(|seed| Victim::new(MODEL, seed, 5, 5), &passings(&MODEL_CASES), Victim::dies_at);
}

#[test]
fn killed_at_random_instants() {
    fire(|seed| Victim::new(NO_MODEL, seed, 14, 5), &[(); ROUNDS], |victim, ()| victim.dies_at_random());
}

#[test]
fn killed_while_the_template_is_written() {
    let folder = tempfile::tempdir().unwrap();
    for passing in [1, 7] {
        let root = folder.path().join(passing.to_string());
        let init = || {
            let mut command = vault_command();
            command.arg("init").arg(&root);
            command
        };
        let killed = init().env("VAULT_CRASH_AT", format!("{TEMPLATE}:{passing}")).status().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&killed), Some(9));
        assert!(!root.join("memory.toml").exists(), "half a template is no vault");
        let again = Ran::of(&mut init());
        assert!(again.code != 0 && again.stderr.contains("--adopt"), "{}", again.stderr);
        Ran::of(init().arg("--adopt")).ok();
    }
}

#[test]
fn the_matrix_has_every_point() {
    let sources = contents(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src")));
    let points: BTreeSet<String> = sources
        .iter()
        .flat_map(|(_, bytes)| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            let calls = text.split("crash::point(\"").skip(1);
            calls.map(|call| call.split('"').next().unwrap().to_owned()).collect::<Vec<_>>()
        })
        .collect();
    let cases = [passings(&CASES), passings(&BULK_CASES), passings(&MODEL_CASES)].concat();
    let killed = cases
        .iter()
        .map(|(point, ..)| *point)
        .chain([TEMPLATE])
        .chain(capture::kills::points())
        .map(str::to_owned)
        .collect();
    assert_eq!(points, killed, "in src/ (left) and in the matrix (right)");
    assert!(cases.len() + ROUNDS >= 200, "{} kills", cases.len() + ROUNDS);
}
