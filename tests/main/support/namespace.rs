//! Tests that change limits or mounts, where that changes nothing for anyone else.

use std::process::Command;

use super::skipped;

/// Set for the process in which the test is run for real.
const INSIDE: &str = "VAULT_TEST_INSIDE";

/// Runs the calling test, named as the harness names it, in a user namespace and a mount namespace of its own, where it is
/// root. Skips it where the system does not let people make them.
pub fn in_own_namespaces(name: &str, test: impl FnOnce()) {
    if std::env::var_os(INSIDE).is_some() {
        return test();
    }
    let unshare = || {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]);
        command
    };
    if !unshare().arg("true").output().is_ok_and(|output| output.status.success()) {
        return skipped("no user namespaces here");
    }
    let mut command = unshare();
    command.arg(std::env::current_exe().unwrap()).args(["--exact", name, "--nocapture"]).env(INSIDE, "1");
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(output.status.success() && said[0].contains("1 passed"), "{}\n{}", said[0], said[1]);
}
