//! What `make dist` packs: an archive, and a package for Debian where it can be made.

use crate::support::prelude::*;

#[test]
fn an_archive_and_a_package_hold_a_program_that_runs_with_all_that_belongs_to_it() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    // One that calls the program under test: to compress that itself would take long.
    let binary = at("vault");
    fs::write(&binary, format!("#!/bin/sh\nexec '{}' \"$@\"\n", env!("CARGO_BIN_EXE_vault"))).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let dist = at("dist");
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/dist");
    let pack = || {
        run_ok(Command::new(&script).env("BINARY", &binary).env("DIST", &dist).env("SOURCE_DATE_EPOCH", "1767600000"))
    };
    let made = pack();
    let sums = fs::read_to_string(dist.join("SHA256SUMS")).unwrap();
    let check =
        if cfg!(target_os = "macos") { "shasum -a 256 --check SHA256SUMS" } else { "sha256sum --check SHA256SUMS" };
    run_ok(Command::new("sh").args(["-c", check]).current_dir(&dist));
    // Packed again it is the same.
    pack();
    assert_eq!(fs::read_to_string(dist.join("SHA256SUMS")).unwrap(), sums);

    let archive = made.lines().find(|line| line.ends_with(".tar.gz")).unwrap();
    run_ok(Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(folder.path()));
    let name = Path::new(archive).file_name().unwrap().to_str().unwrap().strip_suffix(".tar.gz").unwrap();
    let version = run_ok(Command::new(at(name).join("vault")).arg("--version"));
    assert_eq!(version, run_ok(vault_command().arg("--version")));
    for file in [
        "README.md", "LICENSE-MIT", "LICENSE-APACHE", "completions/vault.zsh", "man/man1/vault.1",
        "man/man1/vault-search.1",
    ] {
        assert!(at(name).join(file).is_file(), "{file}");
    }
    let page = fs::read_to_string(at(name).join("man/man1/vault-search.1")).unwrap();
    assert!(page.contains(".TH vault-search 1") || page.contains("search"), "{page}");

    let Some(package) = made.lines().find(|line| line.ends_with(".deb")) else {
        assert!(Command::new("dpkg-deb").arg("--version").output().is_err() || !cfg!(target_os = "linux"));
        return;
    };
    let tree = at("tree");
    run_ok(Command::new("dpkg-deb").arg("-x").arg(package).arg(&tree));
    assert_eq!(run_ok(Command::new(tree.join("usr/bin/vault")).arg("--version")), version);
    let unit = fs::read_to_string(tree.join("usr/lib/systemd/user/memory-vault@.service")).unwrap();
    assert!(unit.contains("\nExecStart=\"/usr/bin/vault\" serve --vault \"%f\"\n"), "{unit}");
    assert!(tree.join("usr/share/man/man1/vault.1.gz").is_file());
    let control = run_ok(Command::new("dpkg-deb").args(["--field"]).arg(package));
    assert!(control.contains("Package: memory-vault\n") && control.contains("Depends: libc6"), "{control}");
}
