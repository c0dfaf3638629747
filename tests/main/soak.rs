//! Long use in a short time: random edits and searches against the real daemon. Nothing may be lost, nothing may leak.
//!
//! `make soak` runs it for 30 minutes; without `SOAK_MINUTES` it takes some seconds. Kills are in `crash`.

use std::fmt;
use std::io::Write;

use crate::support::prelude::*;

const SHORT: Duration = Duration::from_secs(8);
/// What a daemon takes up is looked at so often, in the short form and in the long one.
const SAMPLES: [u32; 2] = [8, 24];

/// Prints past the harness, which keeps what tests print to itself.
fn say(what: fmt::Arguments<'_>) {
    let _ = writeln!(std::io::stderr(), "soak: {what}");
}

/// What the daemon's process takes up, and its index without SQLite's log.
#[derive(Debug, Clone, Copy)]
struct Sample {
    resident_kb: u64,
    descriptors: u64,
    threads: u64,
    index_bytes: u64,
}

impl Sample {
    /// Of a daemon at rest.
    fn of(daemon: &Daemon) -> Self {
        let process = format!("/proc/{}", daemon.pid());
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).unwrap();
            line.trim_start_matches(':').split_whitespace().next().unwrap().parse().unwrap()
        };
        let log = &daemon.path(".vault/index/catalog.db-wal");
        // At rest it is emptied when no search reads just then, and at 4 MB in any case: more than the rest of so small an index.
        assert!(log.metadata().map_or(0, |meta| meta.len()) < 5_000_000, "the catalog's log is not emptied");
        let files = contents(&daemon.path(".vault/index"));
        Self {
            resident_kb: field("VmRSS"),
            descriptors: fs::read_dir(format!("{process}/fd")).unwrap().count() as u64,
            threads: field("Threads"),
            index_bytes: files.iter().filter(|(file, _)| file != log).map(|(_, bytes)| bytes.len() as u64).sum(),
        }
    }
}

/// One daemon lives through edits and searches of a vault that stays about as large.
#[test]
fn nothing_is_lost_and_nothing_leaks() {
    let time = soak_minutes().map_or(SHORT, |minutes| Duration::from_secs_f64(minutes * 60.0));
    let seed = seed();
    say(format_args!("{time:?} of edits and searches; SOAK_SEED={seed}"));
    let mut daemon = Daemon::with_config("[index]\ngraph_threshold = 100\n");
    let mut notes = Notes::new(&daemon.path(""), seed, 40, 5);
    daemon.start().settle();
    let (edits, searches, over) = (AtomicUsize::new(0), AtomicUsize::new(0), Over::default());
    let (mut samples, count) = (Vec::new(), SAMPLES[usize::from(soak_minutes().is_some())]);
    std::thread::scope(|scope| {
        let _over = over.at_end();
        scope.spawn(|| {
            let mut connection = daemon.connection();
            while !over.is() {
                let at = searches.fetch_add(1, Ordering::Relaxed);
                let mode = ["keyword", "semantic", "hybrid"][at % 3];
                let query = format!("{} {at}", QUERIES[at % QUERIES.len()]);
                connection.get(&format!("/api/user-memory/search?mode={mode}&q={}", encode(&query)));
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        for at in 1..=count {
            let until = Instant::now() + time / count;
            while Instant::now() < until {
                notes.edit();
                edits.fetch_add(1, Ordering::Relaxed);
                std::thread::sleep(Duration::from_millis(50));
            }
            // Once this is found, so is all that was done before.
            notes.write("notes/mark.md".into(), format!("# Mark\n\nmark{at}\n").into_bytes());
            daemon.finds(&format!("mark{at}"), &["notes/mark.md"]).settle();
            let sample = Sample::of(&daemon);
            samples.push(sample);
            if soak_minutes().is_some() {
                say(format_args!("{at}/{count}: {sample:?}"));
            }
        }
    });
    let found = Answers::of_daemon(&daemon, &QUERIES);
    daemon.run(&["reindex", "--full"]).ok();
    daemon.settle();
    assert_same(&found, &Answers::of_daemon(&daemon, &QUERIES));
    notes.assert_untouched();
    say(format_args!("{} edits, {} searches", edits.into_inner(), searches.into_inner()));
    is_flat(&samples);
}

/// A name, what it is, and by how many percent it may grow.
type Measured = (&'static str, fn(&Sample) -> u64, u64);

/// Compares the second quarter of the time, after the warm-up, with the last.
fn is_flat(samples: &[Sample]) {
    let quarter = samples.len() / 4;
    // The lower one of two: files that are about to go come and go, and a leak stays.
    let median = |samples: &[Sample], of: fn(&Sample) -> u64| {
        let mut values: Vec<u64> = samples.iter().map(of).collect();
        values.sort_unstable();
        values[(values.len() - 1) / 2]
    };
    // A run of some seconds is all warm-up.
    let percent = |long: u64, short: u64| if soak_minutes().is_some() { long } else { short };
    let measured: [Measured; 4] = [
        ("resident kB", |sample| sample.resident_kb, percent(10, 50)),
        ("file descriptors", |sample| sample.descriptors, percent(20, 50)),
        ("threads", |sample| sample.threads, percent(10, 50)),
        ("bytes of the index", |sample| sample.index_bytes, percent(30, 100)),
    ];
    for (name, of, more) in measured {
        let (early, late) = (median(&samples[quarter..2 * quarter], of), median(&samples[3 * quarter..], of));
        say(format_args!("{name}: {early} early, {late} late"));
        assert!(late * 100 <= early * (100 + more), "{name} grew by more than {more} %: {samples:?}");
    }
}
