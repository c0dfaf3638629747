//! The real daemon is killed at every point of the write path and at random instants. The next start answers as a full
//! reindex of the same files does, and no note was touched.

use std::io::Write as _;

use crate::support::Work::{self, Edits, Import, Reindex, Repair, Stop, WordsLost};
use crate::support::prelude::*;
use crate::{capture, next_model};

/// A point, what leads there, and which passings of it.
type Case = (&'static str, Work, &'static [usize]);

/// Those that need no model. A new vault writes four files of its own: `.gitignore`, token, address, marker.
const CASES: [Case; 35] = [
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
    ("words-merging", Edits, &[1, 2, 3]),
    ("deletions-forgotten", Edits, &[1, 3]),
    ("publishing", Import, &[1, 2]),
    ("publishing", Edits, &[3]),
    ("touched", Edits, &[1, 2]),
    ("log-released", Edits, &[1]),
    ("log-trimmed", Edits, &[1, 2]),
    ("erasing", Reindex, &[1, 2, 3, 4, 5]),
    ("closing", Stop, &[1]),
    ("closing-checkpointed", Stop, &[1]),
    ("closing-dropped", Stop, &[1]),
    ("closing-synced", Stop, &[1]),
    ("closed", Stop, &[1]),
];

/// Those in the middle of a bulk import or reindex, which takes several batches. The last two are for a soak: in one batch they are
/// in the list above.
const BULK_CASES: [Case; 4] = [
    ("catalog-written", Import, &[2]),
    ("words-committed", Reindex, &[2]),
    ("words-prepared", Import, &[2]),
    ("catalog-committed", Reindex, &[2]),
];
/// One batch takes 4,096 notes at most.
const BULK_NOTES: usize = 4500;

/// Those that need the model.
const MODEL_CASES: [Case; 5] = [
    ("embeddings-written", Import, &[1]),
    ("embeddings-written", Edits, &[3]),
    ("embeddings-cached", Import, &[1]),
    ("embeddings-cached", Edits, &[3]),
    ("embeddings-pruned", Repair, &[1]),
];

/// What the program is asked to write when it dies.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Write {
    /// A new note.
    Save,
    /// A remark.
    Annotate,
    /// Other text for a note.
    Edit,
    /// A passage less.
    Forget,
    /// A passage less, for good.
    Purge,
    /// A passage less, for good, with what was made of it.
    PurgeMade,
    /// A note into the trash.
    Trash,
    /// A note out of the trash.
    Restore,
}

/// Those in writing notes. A checkpoint is two files, and a start writes some of its own.
const WRITE_CASES: [(&str, Write, usize); 33] = [
    ("note-made", Write::Save, 1),
    ("note-made", Write::Annotate, 1),
    ("note-made", Write::Restore, 1),
    ("checkpoint-kept", Write::Edit, 1),
    ("checkpoint-kept", Write::Forget, 1),
    ("checkpoint-kept", Write::Trash, 1),
    ("checkpoint-kept", Write::Restore, 1),
    ("note-replaced", Write::Edit, 1),
    ("note-replaced", Write::Forget, 1),
    ("note-replaced", Write::Purge, 1),
    ("note-trashed", Write::Trash, 1),
    ("tombstone-kept", Write::Purge, 1),
    ("purge-removed", Write::Purge, 1),
    ("purge-emptied", Write::Purge, 1),
    ("purge-cleared", Write::Purge, 1),
    ("embeddings-forgotten", Write::Purge, 1),
    ("words-rewritten", Write::Purge, 1),
    ("tombstone-kept", Write::PurgeMade, 1),
    ("tombstone-kept", Write::PurgeMade, 3),
    ("purge-removed", Write::PurgeMade, 1),
    ("purge-removed", Write::PurgeMade, 2),
    ("purge-removed", Write::PurgeMade, 3),
    ("purge-removed", Write::PurgeMade, 4),
    ("purge-removed", Write::PurgeMade, 5),
    ("purge-emptied", Write::PurgeMade, 1),
    ("purge-emptied", Write::PurgeMade, 3),
    ("purge-cleared", Write::PurgeMade, 1),
    ("file-written", Write::Forget, 2),
    ("file-written", Write::Forget, 3),
    ("file-written", Write::Trash, 4),
    ("file-renamed", Write::Forget, 2),
    ("file-renamed", Write::Edit, 3),
    ("file-renamed", Write::Trash, 4),
];

const OLD: &str = "# Plan\n\nSow the aardvark.\n\n# Later\n\nSell the zebra.\n";
const LEFT: &str = "# Plan\n\nSow the aardvark.\n";
const COPY: &str = "notes/plan.sync-conflict-20260105-183012-ABC2DEF.md";
const ENTRIES: &str = "- Has sold the zebra (source notes/plan.md#L7) ^e-1\n- Likes tea ^e-2\n";

/// The one in `vault init`.
const TEMPLATE: &str = "template-note-written";

/// So many times a vault that went through some lives is compared.
const ROUNDS: usize = 16;

const NO_MODEL: &str = "[embed]\nmodel = \"none\"\n";
/// A graph from two passages on: edits at random leave few at times.
const MODEL: &str = "[index]\ngraph_threshold = 1\n";

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

/// The first and the last passing of each point, and in a soak all; of an import all, where each is another file.
fn passings(cases: &[Case]) -> Vec<(&'static str, Work, usize)> {
    let all = |work| work == Import || soak_minutes().is_some();
    let tried = |(point, work, passings): &Case| {
        let ends = |at: usize| at == 0 || at == passings.len() - 1;
        let (point, work, passings) = (*point, *work, passings.iter().copied().enumerate());
        passings.filter(move |(at, _)| all(work) || ends(*at)).map(move |(_, passing)| (point, work, passing)).collect()
    };
    cases.iter().flat_map(|case| -> Vec<_> { tried(case) }).collect()
}

#[test]
fn killed_at_every_point_of_the_write_path() {
    fire(|seed| Victim::new(NO_MODEL, seed, 14, 5), &passings(&CASES), Victim::dies_at);
}

#[test]
fn killed_in_a_bulk_import() {
    let cases = if soak_minutes().is_some() { &BULK_CASES[..] } else { &BULK_CASES[..2] };
    fire(|seed| Victim::new(NO_MODEL, seed, BULK_NOTES, 1), &passings(cases), Victim::dies_at);
}

#[test]
fn killed_at_every_point_of_embedding() {
    fire(|seed| Victim::new(MODEL, seed, 5, 5), &passings(&MODEL_CASES), Victim::dies_at);
}

/// Several vaults live through kills and clean stops at random, one of them with the model, and answer all the time as an index made
/// from nothing. In a soak for `SOAK_MINUTES`.
#[test]
fn killed_at_random_instants() {
    let end = soak_minutes().map(|minutes| Instant::now() + Duration::from_secs_f64(minutes * 60.0));
    let (seed, next) = (seed(), AtomicUsize::new(0));
    let victims = [
        Victim::new(NO_MODEL, seed, 14, 5),
        Victim::new(NO_MODEL, seed + 1, 40, 12),
        Victim::new(MODEL, seed + 2, 5, 5),
    ];
    let sums: [AtomicUsize; 4] = std::array::from_fn(|_| AtomicUsize::new(0));
    std::thread::scope(|scope| {
        for mut victim in victims {
            let (next, sums) = (&next, &sums);
            scope.spawn(move || {
                let mut compared = 0;
                while end.map_or_else(|| next.fetch_add(1, Ordering::Relaxed) < ROUNDS, |end| Instant::now() < end) {
                    victim.lives();
                    victim.ages_well();
                    compared += 1;
                }
                for (sum, count) in sums.iter().zip([victim.kills, victim.merges_cut, victim.clean_stops, compared]) {
                    sum.fetch_add(count, Ordering::Relaxed);
                }
            });
        }
    });
    let [kills, merges, stops, compared] = sums.map(AtomicUsize::into_inner);
    let _ = writeln!(
        std::io::stderr(),
        "{kills} kills ({merges} of them in a merge) and {stops} clean stops, {compared} times compared: no difference"
    );
    // In so few lives there may be no clean stop.
    let stopped = stops > 0 || end.is_none();
    assert!(kills >= 2 * ROUNDS && merges > 0 && stopped, "too little happened: {kills}, {merges}, {stops}");
}

/// Dies at a point of doing what is asked.
fn dies_asked(vault: &mut Daemon, at: &str, request: Request) {
    if !vault.launch(Some(at)) {
        return;
    }
    let ask = |request: Request| Connection::try_open(vault.address())?.send(&request.bearer(vault.token()));
    eventually("the index, or the end", || match ask(Request::get("/status")) {
        Some(reply) => (reply.json()["caught_up"] == true).then_some(()),
        None => Some(()),
    });
    let answered = ask(request);
    // Where a start writes less than that, the write was not come to; a later one is.
    assert!(answered.is_none() || at.starts_with("file-"), "{at} answered");
    if answered.is_some() {
        vault.terminate();
    } else {
        until("the end", || vault.was_killed());
    }
}

/// Dies while it writes a note, and has it whole afterwards, the old one or the new; the old one can be had.
fn dies_writing((point, write, passing): (&str, Write, usize)) {
    let case = format!("{point} {write:?} {passing}");
    let mut vault = Daemon::vault().with("notes/plan.md", OLD);
    if write == Write::PurgeMade {
        vault.write("memories/user.md", ENTRIES).write(COPY, OLD);
    }
    vault.start();
    let hash = |vault: &Daemon| {
        let found = vault.get("/api/user-memory/search?mode=keyword&q=zebra").json();
        found["results"][0]["hash"].as_str().unwrap_or_default().to_owned()
    };
    let passage = hash(&vault);
    let forget = |body: Value| vault.post("/api/user-memory/forget", &body).json();
    let seen = forget(json!({"path": "notes/plan.md", "dry_run": true}))["seen"].as_str().unwrap().to_owned();
    if write == Write::PurgeMade {
        vault.run(&["fact", "set", "farm/zebra", "sold", "--source", "notes/plan.md#L7"]).ok();
        let remark = vault.post("/api/user-memory/annotate", &json!({"hash": passage, "note": "The zebra bites."}));
        assert_eq!(remark.status, 200, "{}", remark.json());
    }
    let trashed = (write == Write::Restore).then(|| forget(json!({"hash": seen}))["checkpoint_id"].clone());
    vault.terminate();
    let post = |target: &str, body: Value| Request::send("POST", target, &body);
    let request = match write {
        Write::Save => post("/api/user-memory/save", json!({"content": "New text."})),
        Write::Annotate => post("/api/user-memory/annotate", json!({"hash": passage, "note": "New text."})),
        Write::Edit => {
            post("/api/user-memory/save", json!({"content": "New text.", "title": "Plan", "collection": "notes"}))
        }
        Write::Forget => Request::new("DELETE", &format!("/api/user-memory/chunk/{passage}")),
        Write::Purge => Request::new("DELETE", &format!("/api/user-memory/chunk/{passage}?purge=true")),
        Write::PurgeMade => post("/api/user-memory/forget", json!({"hash": passage, "purge": true, "derived": true})),
        Write::Trash => Request::new("DELETE", &format!("/api/user-memory/chunk/{seen}")),
        Write::Restore => {
            let id = trashed.as_ref().and_then(Value::as_str).unwrap();
            post(&format!("/api/user-memory/checkpoints/{id}/restore"), json!({}))
        }
    };
    dies_asked(&mut vault, &format!("{point}:{passing}"), request);
    vault.start();
    let stays = point == "tombstone-kept" && passing == 1;
    if write == Write::PurgeMade {
        // The rest goes once the index has all files, and out of those of the index, too.
        let left = || files_with(&vault.path(""), "zebra");
        let deadline = Instant::now() + Duration::from_secs(60);
        while !stays && !left().is_empty() {
            assert!(Instant::now() < deadline, "{case} left {:?}: {}", left(), vault.log());
            std::thread::yield_now();
        }
        vault.terminate();
        vault.start();
    }
    let made = |path: &str| fs::read_to_string(vault.path(path)).ok();
    let state = vault.path(".vault/state");
    let state = if state.exists() { contents(&state) } else { Vec::new() };
    for (path, bytes) in notes_of(&vault.path("")).into_iter().chain(state) {
        let name = path.to_string_lossy().into_owned();
        assert!(!name.contains(".vault-tmp-") && !name.contains("/unfinished/"), "{case} left {name}");
        let text = String::from_utf8_lossy(&bytes).into_owned();
        assert!(!name.ends_with(".md") || text.ends_with('\n'), "{case}: {name} is not whole: {text}");
    }
    match write {
        Write::Save => assert!(made("snippets/new-text.md").is_some_and(|text| text.ends_with("\nNew text.\n"))),
        Write::Annotate => {
            assert!(made("annotations/on-later.md").is_some_and(|text| text.ends_with("\nNew text.\n")));
        }
        Write::Purge => {
            assert_eq!(made("notes/plan.md").as_deref(), Some(if stays { OLD } else { LEFT }), "{case}");
            // The next start has finished it, or taken it back.
            let known = vault.get("/api/forgotten").json()["forgotten"].clone();
            assert_eq!(known.as_array().unwrap().len(), usize::from(!stays), "{case}: {known}");
            let kept = contents(&vault.path(".vault/state"));
            let has_it = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains("Sell the zebra");
            let left = kept.iter().find(|(_, bytes)| has_it(bytes)).map(|(path, _)| path);
            assert_eq!(left, None, "{case}");
            assert!(
                vault.get("/api/user-memory/checkpoints").json()["checkpoints"].as_array().unwrap().is_empty(),
                "{case}"
            );
        }
        Write::PurgeMade => {
            assert_eq!(made("notes/plan.md").as_deref(), Some(if stays { OLD } else { LEFT }), "{case}");
            assert_eq!(made(COPY), made("notes/plan.md"), "{case}");
            // Of a note that was not touched, nothing has gone that was made of it.
            let entries = if stays { ENTRIES } else { "- Likes tea ^e-2\n" };
            assert_eq!(made("memories/user.md").as_deref(), Some(entries), "{case}");
            let remarks = fs::read_dir(vault.path("annotations")).map_or(0, Iterator::count);
            assert_eq!(remarks, usize::from(stays), "{case}");
            let fact = vault.run(&["fact", "get", "farm/zebra"]);
            assert_eq!(fact.code == 0 && fact.stdout.contains("sold"), stays, "{case}: {}", fact.stdout);
            let known = vault.get("/api/forgotten").json()["forgotten"].clone();
            assert_eq!(known.as_array().unwrap().is_empty(), stays, "{case}: {known}");
        }
        Write::Edit | Write::Forget | Write::Trash | Write::Restore => {
            let now = made("notes/plan.md");
            let whole = match (&now, write) {
                (None, write) => matches!(write, Write::Trash | Write::Restore),
                (Some(text), Write::Edit) => text == OLD || text.ends_with("\nNew text.\n"),
                (Some(text), _) => text == OLD || text == LEFT,
            };
            assert!(whole, "{case}: {now:?}");
            let listed = vault.get("/api/user-memory/checkpoints").json()["checkpoints"].clone();
            let had = listed.as_array().unwrap().iter().find(|checkpoint| checkpoint["bytes"].is_number());
            if let Some(id) = had.and_then(|checkpoint| checkpoint["id"].as_str()) {
                let reply = vault.post(&format!("/api/user-memory/checkpoints/{id}/restore"), &json!({}));
                assert_eq!(reply.status, 200, "{case}: {}", reply.json());
            }
            assert_eq!(made("notes/plan.md").as_deref(), Some(OLD), "{case}: {listed}");
        }
    }
    let found = vault.find("aardvark");
    assert!(found.contains(&"notes/plan.md".to_owned()), "{case}: {found:?}");
}

#[test]
fn killed_while_a_note_is_written() {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(case) = WRITE_CASES.get(next.fetch_add(1, Ordering::Relaxed)) {
                    dies_writing(*case);
                }
            });
        }
    });
}

#[test]
fn purge_cut_short_leaves_what_was_edited_since() {
    let mut vault = Daemon::vault().with("notes/plan.md", OLD).with("memories/user.md", ENTRIES).started();
    vault.run(&["fact", "set", "farm/zebra", "sold", "--source", "notes/plan.md#L7"]).ok();
    vault.terminate();
    let lines = json!({"path": "notes/plan.md", "line_start": 5, "line_end": 7, "purge": true, "derived": true});
    let request = Request::send("POST", "/api/user-memory/forget", &lines);
    dies_asked(&mut vault, "purge-removed:1", request);
    let entry = "- Has sold the zebra to Ada (source notes/plan.md#L7) ^e-1\n";
    vault.write("memories/user.md", entry).start();
    until("what is as it was to go, and the rest to be named", || {
        let fact = vault.run(&["fact", "get", "farm/zebra"]);
        fact.code == 1 && vault.log().contains("it has changed since")
    });
    assert_eq!(fs::read_to_string(vault.path("memories/user.md")).unwrap(), entry);
}

#[test]
fn purge_cut_short_with_a_list_that_cannot_be_read_stays_open() {
    let mut vault = Daemon::vault().with("notes/plan.md", OLD).started();
    vault.terminate();
    let lines = json!({"path": "notes/plan.md", "line_start": 5, "line_end": 7, "purge": true});
    let request = Request::send("POST", "/api/user-memory/forget", &lines);
    dies_asked(&mut vault, "purge-removed:1", request);
    let database = vault.path(".vault/state/state.db");
    let state = || rusqlite::Connection::open(&database).unwrap();
    state().execute("UPDATE open_purges SET going_with = '[{'", []).unwrap();
    vault.start();
    until("the list to be named", || vault.log().contains("the list of what is deleted with"));
    vault.terminate();
    let open: i64 = state().query_row("SELECT count(*) FROM open_purges", [], |row| row.get(0)).unwrap();
    assert_eq!(open, 1);
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
    let sources = contents(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/src"))).into_iter();
    let text: String = sources.map(|(_, bytes)| String::from_utf8_lossy(&bytes).into_owned()).collect();
    let calls = text.split("crash::point(\"").skip(1);
    let points: BTreeSet<String> = calls.map(|call| call.split('"').next().unwrap().to_owned()).collect();
    let cases = [passings(&CASES), passings(&BULK_CASES), passings(&MODEL_CASES)].concat();
    let killed = cases
        .iter()
        .map(|(point, ..)| *point)
        .chain([TEMPLATE, next_model::POINT])
        .chain(WRITE_CASES.map(|(point, ..)| point))
        .chain(capture::kills::points())
        .chain(crate::state::points())
        .chain(crate::entries::POINTS)
        .chain(crate::extraction::kills::points())
        .chain(crate::extraction::librarian::POINTS)
        .chain(crate::facts::POINTS)
        .chain(crate::summaries::POINTS)
        .chain(crate::sessions::POINTS)
        .chain(crate::profile::POINTS)
        .chain(crate::pushing::POINTS)
        .chain(crate::remote::POINTS)
        .chain(crate::traces::points())
        .map(str::to_owned)
        .collect();
    assert_eq!(points, killed, "in src/ (left) and in the matrix (right)");
}
