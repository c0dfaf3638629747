//! Thousands of files at once, as git, rsync and sync services bring them: at the end the answers are those of a full
//! reindex, and meanwhile a note that a person saves is found at once.

use crate::support::prelude::*;

/// The work that the daemon may do between a save in the middle of a storm and its being found. The promise is one second
/// on a machine with two processors; the clock says little on one that is busy with other things.
const SOON: Duration = Duration::from_secs(3);

/// Saves notes while `storm` goes on and until all is read, each when the one before was found, and prints the times: a new
/// note in one folder, and again and again the same note in another.
fn saves_during(daemon: &Daemon, new_in: &str, known: &str, storm: impl FnOnce() + Send) {
    fs::create_dir_all(daemon.path(new_in)).unwrap();
    let over = AtomicBool::new(false);
    let mut times = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            storm();
            over.store(true, Ordering::Relaxed);
        });
        let started = Instant::now();
        loop {
            let at = times.len();
            let path = if at % 2 == 0 { format!("{new_in}/probe{at}.md") } else { known.to_owned() };
            times.push(daemon.found_after(&path, &format!("probeword{at}")));
            let read = over.load(Ordering::Relaxed) && daemon.status()["pending_files"] == 0;
            if read || started.elapsed() > PATIENCE {
                break;
            }
        }
    });
    let slowest = times.iter().map(|(_, work)| *work).max().unwrap();
    eprintln!("{} saves in a storm, each found after {slowest:?} of work at most", times.len());
    assert!(slowest < SOON, "{times:?}");
}

fn there_is(program: &str) -> bool {
    let found = Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skipped(&format!("there is no {program} here"));
    }
    found
}

#[test]
fn a_checkout_switches_two_thousand_files() {
    if !there_is("git") {
        return;
    }
    let mut daemon = Daemon::vault().with(".gitignore", ".vault/\nmine/\nmine.md\n").with("repo/1/1/mine.md", "# Mine");
    let name = |at: usize| format!("repo/{}/{}/{at}.md", at % 13, at % 7);
    for at in 0..2000 {
        daemon.write(&name(at), format!("# Note {at}\n\nbranchone number{at} {}\n", "and more. ".repeat(at % 40)));
    }
    let root = daemon.path("");
    git(&root, &["init", "--quiet"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "-m", "one"]);
    git(&root, &["branch", "one"]);
    git(&root, &["checkout", "--quiet", "-b", "two"]);
    for at in 0..2000 {
        match at % 10 {
            0 => fs::remove_file(daemon.path(&name(at))).unwrap(),
            1 => {
                fs::remove_file(daemon.path(&name(at))).unwrap();
                daemon.write(&format!("moved/{}/{at}.md", at % 5), format!("# Moved {at}\n\nbranchtwo number{at}\n"));
            }
            _ => {
                daemon.write(&name(at), format!("# Note {at}\n\nbranchtwo number{at}\n"));
            }
        }
    }
    git(&root, &["add", "--all", "."]);
    git(&root, &["commit", "--quiet", "-m", "two"]);
    git(&root, &["checkout", "--quiet", "one"]);
    daemon.start();
    saves_during(&daemon, "mine", "repo/1/1/mine.md", || {
        git(&root, &["checkout", "--quiet", "two"]);
        git(&root, &["checkout", "--quiet", "one"]);
        git(&root, &["checkout", "--quiet", "two"]);
    });
    daemon
        .finds("branchone", &[])
        .finds("number12", &["repo/12/5/12.md"])
        .finds("number10", &[])
        .finds("number11", &["moved/1/11.md"]);
    assert_as_rebuilt(&daemon, &["branchtwo", "number1998", "branchone", "and more"]);
}

#[test]
fn rsync_brings_a_folder_and_takes_some_of_it_away() {
    if !there_is("rsync") {
        return;
    }
    let from = tempfile::tempdir().unwrap();
    let write = |at: usize, text: &str| {
        let folder = from.path().join(format!("{}", at % 11));
        write_file(folder.join(format!("{at}.md")), format!("# Note {at}\n\n{text} number{at}\n"));
    };
    (0..600).for_each(|at| write(at, "firstsync"));
    let daemon = Daemon::vault().with("mine/a.md", "aardvark").started();
    let sync = |args: &[&str]| {
        let mut command = Command::new("rsync");
        run_ok(command.args(["--archive", "--delete"]).args(args).args([from.path().join(""), daemon.path("synced")]));
    };
    saves_during(&daemon, "mine", "mine/a.md", || sync(&[]));
    daemon.finds("number599", &["synced/5/599.md"]);
    (0..600).for_each(|at| write(at, "secondsync"));
    fs::remove_dir_all(from.path().join("3")).unwrap();
    // Into the files themselves, and with all renames at the end.
    sync(&["--inplace", "--whole-file", "--ignore-times"]);
    daemon.finds("firstsync", &[]).finds("number599", &["synced/5/599.md"]).finds("number3", &[]);
    (0..600).filter(|at| at % 11 != 3).for_each(|at| write(at, "thirdsync"));
    sync(&["--delay-updates", "--ignore-times"]);
    daemon.finds("secondsync", &[]);
    assert_as_rebuilt(&daemon, &["thirdsync", "number598", "firstsync"]);
}

#[test]
fn syncthing_writes_temporary_names_and_keeps_versions() {
    let daemon = Daemon::vault().with("notes/a.md", "oldtext").started();
    let path = |name: &str| daemon.path(&format!("notes/{name}"));
    fs::create_dir_all(daemon.path(".stversions/notes")).unwrap();
    for name in [".syncthing.a.md.tmp", "~syncthing~a.md.tmp"] {
        fs::write(path(name), "halftext").unwrap();
        fs::rename(path("a.md"), daemon.path(".stversions/notes/a~20260101-120000.md")).unwrap();
        fs::write(path(name), format!("wholetext of {name}")).unwrap();
        fs::rename(path(name), path("a.md")).unwrap();
    }
    daemon.finds("wholetext", &["notes/a.md"]).finds("oldtext", &[]);
    assert!(daemon.find("halftext").is_empty());
    let conflict = "notes/a.sync-conflict-20260101-120000-ABCDEFG.md";
    fs::write(daemon.path(conflict), "othertext").unwrap();
    daemon.finds("othertext", &[conflict]);
    assert_as_rebuilt(&daemon, &["wholetext", "othertext", "oldtext", "halftext"]);
}

#[test]
fn ten_thousand_files_arrive_at_once() {
    let daemon = Daemon::vault().with("mine/a.md", "aardvark").with("arrived/5/mine.md", "# Mine").started();
    let arrive = || {
        std::thread::scope(|scope| {
            for part in 0..2 {
                let daemon = &daemon;
                scope.spawn(move || {
                    for at in (part..10_000).step_by(2) {
                        let folder = daemon.path(&format!("arrived/{}", at % 23));
                        fs::create_dir_all(&folder).unwrap();
                        let (beside, path) = (folder.join(format!(".{at}.tmp")), folder.join(format!("{at}.md")));
                        fs::write(&beside, format!("# Note {at}\n\narrived number{at} of many\n")).unwrap();
                        fs::rename(beside, path).unwrap();
                    }
                });
            }
        });
    };
    saves_during(&daemon, "mine", "arrived/5/mine.md", arrive);
    eventually("all files", || (daemon.status()["files"].as_u64()? > 10_000).then_some(()));
    daemon.finds("number9999", &["arrived/17/9999.md"]).finds("number0", &["arrived/0/0.md"]);
    assert_as_rebuilt(&daemon, &["number77", "aardvark", "arrived many"]);
}
