//! What can happen to a watcher: events are lost, watches run out, the vault's folder goes and comes back. It recovers by
//! itself and says what is the matter.

use rustix::process::Signal;

use crate::support::prelude::*;

/// A daemon whose timed rescans come too late to help.
fn daemon(notes: &[(&str, &str)]) -> Daemon {
    let mut daemon = Daemon::without_model("[index]\nreconcile_seconds = 3600\n");
    for (path, text) in notes {
        daemon.write(path, text);
    }
    daemon
}

fn watching(daemon: &Daemon) -> Value {
    daemon.status()["watching"].clone()
}

/// Waits until changes are noticed so.
#[track_caller]
fn watches_by(daemon: &Daemon, by: &str) {
    until(by, || watching(daemon)["by"] == by);
}

#[cfg(target_os = "linux")]
#[test]
fn lost_events_are_made_up_for() {
    let queue: usize = fs::read_to_string("/proc/sys/fs/inotify/max_queued_events").unwrap().trim().parse().unwrap();
    if queue > 200_000 {
        return skipped("the system's event queue is too long to fill");
    }
    let mut daemon =
        daemon(&[("old/a.md", "aardvark"), ("old/b.md", "baboon"), ("noise/1.md", ""), ("noise/2.md", "")]);
    daemon.start();
    assert_eq!(watching(&daemon)["losses"], 0);
    // Nobody reads the queue, which holds three events for each of these writes.
    daemon.signal(Signal::STOP);
    for at in 0..queue / 2 {
        fs::write(daemon.path(&format!("noise/{}.md", 1 + at % 2)), format!("noise{at}")).unwrap();
    }
    fs::rename(daemon.path("old"), daemon.path("new")).unwrap();
    fs::write(daemon.path("new/a.md"), "anteater").unwrap();
    fs::remove_file(daemon.path("new/b.md")).unwrap();
    write_file(daemon.path("fresh/deep/c.md"), "cheetah");
    daemon.signal(Signal::CONT);
    daemon.finds("anteater", &["new/a.md"]).finds("cheetah", &["fresh/deep/c.md"]);
    daemon.finds("aardvark", &[]).finds("baboon", &[]);
    let recovered = eventually("the recovery to be told", || {
        let watching = watching(&daemon);
        watching["recovered_at"].is_string().then_some(watching)
    });
    assert!(recovered["losses"].as_u64().unwrap() > 0 && recovered["by"] == "events", "{recovered}");
    assert!(recovered["lost_at"].as_str().unwrap() <= recovered["recovered_at"].as_str().unwrap(), "{recovered}");
    let said = daemon.run(&["status"]).ok().stdout;
    assert!(said.contains("events were lost at 20") && said.contains("caught up with by 20"), "{said}");
    // The folders that came while nobody told are watched.
    fs::write(daemon.path("fresh/deep/d.md"), "dingo").unwrap();
    fs::write(daemon.path("new/e.md"), "emu").unwrap();
    daemon.finds("dingo", &["fresh/deep/d.md"]).finds("emu", &["new/e.md"]);
    assert_as_rebuilt(&daemon, &["anteater", "cheetah", "dingo", "noise1"]);
}

/// Sets a limit of this process's user namespace.
fn set_limit(what: &str, limit: u64) {
    fs::write(format!("/proc/sys/user/max_inotify_{what}"), limit.to_string()).unwrap();
}

fn polls_quickly(reconcile_seconds: u64) -> Daemon {
    let index = format!("[index]\npoll_seconds = 1\nreconcile_seconds = {reconcile_seconds}\n");
    Daemon::with_config(&format!("[embed]\nmodel = \"none\"\n{index}"))
}

#[cfg(target_os = "linux")]
#[test]
fn without_room_for_all_watches_the_rest_is_polled_until_there_is() {
    in_own_namespaces("trouble::without_room_for_all_watches_the_rest_is_polled_until_there_is", || {
        set_limit("watches", 4);
        let mut daemon = polls_quickly(5);
        for at in 0..9 {
            daemon.write(&format!("folder{at}/a.md"), format!("before{at}"));
        }
        daemon.start();
        let watching = watching(&daemon);
        assert_eq!(watching["by"], "events and polling");
        let reason = watching["reason"].as_str().unwrap();
        // Of four watches the folder of the cookies has one, and the vault's own another.
        assert!(reason.starts_with("7 folders are not watched: the system's limit of 4 inotify watches"), "{reason}");
        assert!(reason.contains("`sudo sysctl user.max_inotify_watches=524288`"), "{reason}");
        assert!(daemon.run(&["status"]).ok().stdout.contains("limit of 4 inotify watches"));
        for at in 0..9 {
            fs::write(daemon.path(&format!("folder{at}/a.md")), format!("after{at}")).unwrap();
        }
        for at in 0..9 {
            daemon.finds(&format!("after{at}"), &[&format!("folder{at}/a.md")]).finds(&format!("before{at}"), &[]);
        }
        set_limit("watches", 10_000);
        watches_by(&daemon, "events");
        assert!(self::watching(&daemon)["reason"].is_null());
    });
}

#[cfg(target_os = "linux")]
#[test]
fn room_that_runs_out_for_new_folders_is_said_and_polled_for() {
    in_own_namespaces("trouble::room_that_runs_out_for_new_folders_is_said_and_polled_for", || {
        set_limit("watches", 3);
        let daemon = polls_quickly(3600).with("notes/a.md", "aardvark").started();
        watches_by(&daemon, "events");
        for at in 0..4 {
            write_file(daemon.path(&format!("new/{at}/b.md")), format!("baboon{at}"));
        }
        daemon.finds("baboon3", &["new/3/b.md"]);
        watches_by(&daemon, "events and polling");
        for at in 0..4 {
            fs::write(daemon.path(&format!("new/{at}/b.md")), format!("cheetah{at}")).unwrap();
        }
        daemon.finds("cheetah3", &["new/3/b.md"]).finds("cheetah0", &["new/0/b.md"]).finds("baboon3", &[]);
    });
}

#[cfg(target_os = "linux")]
#[test]
fn without_an_inotify_instance_everything_is_polled_until_there_is_one() {
    in_own_namespaces("trouble::without_an_inotify_instance_everything_is_polled_until_there_is_one", || {
        set_limit("instances", 0);
        let daemon = polls_quickly(5).with("notes/a.md", "aardvark").started();
        let watching = watching(&daemon);
        let reason = watching["reason"].as_str().unwrap();
        assert!(watching["by"] == "polling" && reason.contains("user.max_inotify_instances=1024"), "{watching}");
        fs::write(daemon.path("notes/a.md"), "baboon").unwrap();
        daemon.finds("baboon", &["notes/a.md"]);
        set_limit("instances", 100);
        watches_by(&daemon, "events");
        fs::write(daemon.path("notes/a.md"), "cheetah").unwrap();
        daemon.finds("cheetah", &["notes/a.md"]);
    });
}

/// Waits until the daemon says that the vault's folder is gone, and holds it to answering all the same.
#[track_caller]
fn is_missed(daemon: &Daemon) {
    let missing = eventually("the folder to be missed", || {
        let status = daemon.status();
        status["watching"]["missing_since"].is_string().then_some(status)
    });
    assert!(missing["failure"].as_str().unwrap().contains("does not exist"), "{missing}");
    assert_eq!(daemon.find("aardvark"), ["notes/a.md"], "the last state is kept");
    let refused = daemon.run(&["status"]);
    let is_said = ["No such file or directory", "has no memory.toml"].map(|why| refused.stderr.contains(why));
    assert!(refused.code == 2 && is_said.contains(&true), "{refused:?}");
}

/// Waits until the daemon says that it is back, and holds it to noticing changes by events.
#[track_caller]
fn is_back(daemon: &Daemon) {
    until("the folder to be back", || {
        let status = daemon.status();
        status["watching"]["missing_since"].is_null() && status["failure"].is_null()
    });
    watches_by(daemon, "events");
    for (path, word) in [("notes/later.md", "zebra"), ("notes/later.md", "yak"), ("fresh.md", "wombat")] {
        fs::write(daemon.path(path), word).unwrap();
        daemon.finds(word, &[path]);
    }
    let said = daemon.run(&["search", "yak", "--json"]).ok();
    assert_eq!((said.json()["results"][0]["path"].clone(), said.stderr), ("notes/later.md".into(), String::new()));
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir(to).unwrap();
    for entry in fs::read_dir(from).unwrap().flatten() {
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &to.join(entry.file_name())),
            kind if kind.is_file() => drop(fs::copy(entry.path(), to.join(entry.file_name())).unwrap()),
            _ => {}
        }
    }
}

#[test]
fn the_vault_is_moved_away_and_back() {
    let daemon = daemon(&[("notes/a.md", "aardvark"), ("notes/b.md", "baboon")]).started();
    let (root, away) = (daemon.path(""), daemon.path("").with_extension("away"));
    fs::rename(&root, &away).unwrap();
    fs::write(away.join("notes/c.md"), "cheetah").unwrap();
    fs::remove_file(away.join("notes/b.md")).unwrap();
    is_missed(&daemon);
    let refused = daemon.ask(Request::new("POST", "/reindex").json("{\"full\": true}"));
    assert!(refused.status >= 400 && refused.error().contains("does not exist"), "{}", refused.json());
    assert!(!root.exists(), "nothing was made where the vault is not");
    fs::rename(&away, &root).unwrap();
    daemon.finds("cheetah", &["notes/c.md"]).finds("baboon", &[]);
    is_back(&daemon);
    assert_as_rebuilt(&daemon, &["aardvark", "cheetah"]);
}

#[test]
fn the_vault_is_deleted_and_restored() {
    for with_index in [true, false] {
        let daemon = daemon(&[("notes/a.md", "aardvark"), ("notes/b.md", "baboon")]).started();
        let (root, backup) = (daemon.path(""), daemon.path("").with_extension("backup"));
        copy(&root, &backup);
        if !with_index {
            fs::remove_dir_all(backup.join(".vault")).unwrap();
        }
        // As one step, so that no single deletion is seen before the folder itself is gone.
        let trash = root.with_extension("trash");
        fs::rename(&root, &trash).unwrap();
        fs::remove_dir_all(&trash).unwrap();
        is_missed(&daemon);
        assert!(!root.exists(), "nothing was made where the vault is not");
        fs::write(backup.join("notes/b.md"), "bison").unwrap();
        fs::rename(&backup, &root).unwrap();
        daemon.finds("bison", &["notes/b.md"]).finds("baboon", &[]).finds("aardvark", &["notes/a.md"]);
        is_back(&daemon);
        assert_eq!(fs::read_to_string(root.join(".vault/owner-token")).unwrap().trim(), daemon.token());
        assert_eq!(daemon.run(&["serve", "--port", "0"]).code, 2, "a second daemon is refused");
        assert_as_rebuilt(&daemon, &["aardvark", "bison"]);
    }
}

#[test]
fn another_folder_takes_the_vault_s_place_at_once() {
    let daemon = daemon(&[("notes/a.md", "aardvark"), ("gone/b.md", "baboon")]).started();
    let (root, next) = (daemon.path(""), daemon.path("").with_extension("next"));
    fs::create_dir_all(next.join("notes")).unwrap();
    fs::copy(root.join("memory.toml"), next.join("memory.toml")).unwrap();
    fs::write(next.join("notes/a.md"), "anteater").unwrap();
    let trash = tempfile::tempdir().unwrap();
    fs::rename(&root, trash.path().join("vault")).unwrap();
    fs::rename(&next, &root).unwrap();
    daemon.finds("anteater", &["notes/a.md"]).finds("baboon", &[]).finds("aardvark", &[]);
    is_back(&daemon);
}

#[test]
fn the_index_is_deleted_under_the_daemon() {
    let daemon = daemon(&[("notes/a.md", "aardvark")]).started();
    fs::remove_dir_all(daemon.path(".vault")).unwrap();
    fs::write(daemon.path("notes/b.md"), "baboon").unwrap();
    daemon.finds("baboon", &["notes/b.md"]);
    until("the socket", || daemon.path(".vault/daemon.sock").exists());
    is_back(&daemon);
    assert_eq!(daemon.run(&["serve", "--port", "0"]).code, 2, "a second daemon is refused");
    assert_as_rebuilt(&daemon, &["aardvark", "baboon"]);
}

#[cfg(target_os = "linux")]
#[test]
fn the_vault_is_unmounted_and_mounted_again() {
    in_own_namespaces("trouble::the_vault_is_unmounted_and_mounted_again", || {
        let run = |program: &str, args: &[&str]| run_ok(Command::new(program).args(args));
        let mut daemon = daemon(&[]);
        let root = daemon.path("").canonicalize().unwrap();
        let (disk, mounted) = (tempfile::tempdir().unwrap(), root.to_str().unwrap());
        fs::copy(root.join("memory.toml"), disk.path().join("memory.toml")).unwrap();
        fs::remove_file(root.join("memory.toml")).unwrap();
        run("mount", &["--bind", disk.path().to_str().unwrap(), mounted]);
        daemon.write("notes/a.md", "aardvark").write("notes/b.md", "baboon").start();
        run("umount", &["--lazy", mounted]);
        is_missed(&daemon);
        fs::write(disk.path().join("notes/b.md"), "bison").unwrap();
        assert_eq!(fs::read_dir(&root).unwrap().count(), 0, "nothing was made on the empty mount point");
        run("mount", &["--bind", disk.path().to_str().unwrap(), mounted]);
        daemon.finds("bison", &["notes/b.md"]).finds("baboon", &[]);
        is_back(&daemon);
        run("umount", &["--lazy", mounted]);
        is_missed(&daemon);
        // Another disk: the vault is there, the index is not.
        run("mount", &["-t", "tmpfs", "none", mounted]);
        write_file(root.join("notes/a.md"), "aardvark again");
        fs::copy(disk.path().join("memory.toml"), root.join("memory.toml")).unwrap();
        daemon.finds("again", &["notes/a.md"]).finds("bison", &[]);
        is_back(&daemon);
        daemon.terminate();
        run("umount", &["--lazy", mounted]);
    });
}

#[test]
fn the_timed_comparison_catches_what_no_event_told() {
    let daemon = Daemon::without_model("[index]\nreconcile_seconds = 5\n").with("notes/a.md", "aardvark").started();
    let note = daemon.path("notes/a.md");
    // inotify tells the folder of the name by which a file was written, and this name is in another.
    let elsewhere = tempfile::tempdir_in(note.ancestors().nth(3).unwrap()).unwrap();
    let other_name = elsewhere.path().join("other name");
    fs::hard_link(&note, &other_name).unwrap();
    let made = fs::metadata(&note).unwrap().modified().unwrap();
    // As long as before, and as old.
    fs::write(&other_name, "anteater").unwrap();
    set_time(&other_name, made);
    daemon.finds("anteater", &["notes/a.md"]).finds("aardvark", &[]);
    let watching = watching(&daemon);
    assert_eq!((&watching["reconcile_seconds"], &watching["by"]), (&5.into(), &"events".into()));
    let first = watching["compared_at"].as_str().unwrap().to_owned();
    until("the next comparison", || self::watching(&daemon)["compared_at"] != first.as_str());
    assert!(daemon.run(&["status"]).ok().stdout.contains("again every 5 s"));
}
