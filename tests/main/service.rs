//! `vault service`, with a stand-in for systemctl.

use crate::support::prelude::*;

/// A vault, and a folder with a `systemctl` that notes what it is asked and answers by a script.
struct Session {
    vault: Daemon,
    folder: tempfile::TempDir,
}

impl Session {
    fn with(script: &str) -> Self {
        let session = Self { vault: Daemon::vault(), folder: tempfile::tempdir().unwrap() };
        session.answers(script);
        session
    }

    fn answers(&self, script: &str) {
        let program = self.folder.path().join("systemctl");
        let log = self.folder.path().join("asked");
        fs::write(&program, format!("#!/bin/sh\necho \"$@\" >> '{}'\n{script}\n", log.display())).unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn command(&self, args: &[&str]) -> Command {
        let mut command = self.vault.command(args);
        command.env("PATH", format!("{}:/usr/bin:/bin", self.folder.path().display()));
        command.env("XDG_CONFIG_HOME", self.folder.path().join("config"));
        command
    }

    fn run(&self, args: &[&str]) -> Ran {
        Ran::of(&mut self.command(args))
    }

    fn installed(&self) -> Vec<String> {
        let config = self.folder.path().join("config");
        let found = if config.is_dir() { contents(&config) } else { Vec::new() };
        let name = |path: &Path| path.file_name().unwrap().to_string_lossy().into_owned();
        found.iter().map(|(path, _)| name(path)).collect()
    }
}

#[test]
fn a_service_without_a_session_is_not_left_behind_and_can_be_removed() {
    if cfg!(target_os = "macos") {
        return;
    }
    let session = Session::with("exit 1");
    let refused = session.run(&["service", "install"]);
    assert_eq!(refused.code, 2);
    assert!(refused.stderr.contains("no user session of systemd: run `vault serve`"), "{}", refused.stderr);
    assert!(refused.stderr.contains("loginctl enable-linger"), "{}", refused.stderr);
    assert!(session.installed().is_empty());

    session.answers("exit 0");
    session.run(&["service", "install"]).ok();
    let installed = session.installed();
    assert!(matches!(&installed[..], [unit] if unit.ends_with(".service")), "{installed:?}");
    // A session that is gone, as after a logout.
    session.answers("exit 1");
    let status = session.run(&["service", "status"]);
    assert!(status.code == 2 && status.stderr.contains("no user session"), "{} {}", status.code, status.stderr);
    assert_eq!(session.run(&["service", "status", "--json"]).code, 2);
    let removed = session.run(&["service", "remove"]).ok();
    assert!(
        removed.stdout.starts_with("removed ") && removed.stderr.contains("cannot stop the service"),
        "{removed:?}"
    );
    assert!(session.installed().is_empty());
    let absent = session.run(&["service", "status", "--json"]);
    assert_eq!((absent.code, &absent.json()["installed"]), (1, &false.into()));
}

#[test]
fn a_service_that_does_not_start_is_taken_back_and_one_that_stopped_is_said() {
    if cfg!(target_os = "macos") {
        return;
    }
    let session = Session::with("case \"$2\" in enable) exit 1;; *) exit 0;; esac");
    let failed = session.run(&["service", "install"]);
    assert!(failed.code == 2 && failed.stderr.contains("systemctl --user enable"), "{}", failed.stderr);
    assert!(session.installed().is_empty());
    let asked = fs::read_to_string(session.folder.path().join("asked")).unwrap();
    assert!(asked.contains("disable --now"), "{asked}");

    session.answers("case \"$*\" in *is-active*) echo inactive; exit 3;; *status*) exit 3;; *) exit 0;; esac");
    session.run(&["service", "install"]).ok();
    assert_eq!(session.run(&["service", "status"]).code, 1);
    let status = session.run(&["service", "status", "--json"]);
    assert_eq!((status.code, &status.json()["state"], &status.json()["runs"]), (1, &"inactive".into(), &false.into()));
}
