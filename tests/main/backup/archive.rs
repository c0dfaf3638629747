//! `vault export` and `vault import`.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, symlink};

use tar::{Builder, EntryType, Header};

use super::{answers, empty, repository};
use crate::support::prelude::*;

/// A folder, and a path in it for an archive.
fn place() -> (TempDir, PathBuf) {
    let folder = empty();
    let archive = folder.path().join("vault.tar.zst");
    (folder, archive)
}

fn import(archive: &Path, dir: &Path) -> Ran {
    Ran::of(vault_command().arg("import").arg(archive).arg(dir))
}

fn export(vault: &Daemon, archive: &Path, args: &[&str]) -> Ran {
    Ran::of(vault.command(&["export"]).args(args).arg(archive))
}

/// Every path below a folder with its mode, time of change and content.
fn described(folder: &Path) -> Vec<(String, u32, i64, i64, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).unwrap().flatten() {
        let (path, meta) = (entry.path(), entry.metadata().unwrap());
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name == ".vault" {
            continue;
        }
        let content = match meta.file_type() {
            kind if kind.is_symlink() => fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes(),
            kind if kind.is_file() => fs::read(&path).unwrap(),
            _ => Vec::new(),
        };
        // A link is made when it is imported.
        let (seconds, nanos) = if meta.is_symlink() { (0, 0) } else { (meta.mtime(), meta.mtime_nsec()) };
        found.push((name.clone(), meta.mode(), seconds, nanos, content));
        if meta.is_dir() {
            let below = described(&path).into_iter();
            found.extend(below.map(|(below, a, b, c, d)| (format!("{name}/{below}"), a, b, c, d)));
        }
    }
    found.sort();
    found
}

#[test]
fn what_is_imported_is_what_was_exported() {
    let mut vault = repository();
    let long = format!("notes/{}/{}.md", "deep ".repeat(30).trim(), "long ".repeat(40).trim());
    vault.write(&long, "# Long\n").write("notes/ü 🌱.md", "# Ü\n").write("files/empty.bin", "");
    vault
        .write("files/large.bin", vec![7; 33 << 20])
        .write(".obsidian/app.json", "{}")
        .write(".trash/old.md", "# Old\n");
    fs::set_permissions(vault.path("notes/bread.md"), fs::Permissions::from_mode(0o640)).unwrap();
    fs::set_permissions(vault.path("files"), fs::Permissions::from_mode(0o750)).unwrap();
    symlink("bread.md", vault.path("notes/link.md")).unwrap();
    symlink("../notes", vault.path("files/notes")).unwrap();
    vault.run(&["status"]).ok();
    let (folder, archive) = place();
    let said = export(&vault, &archive, &[]).ok();
    assert_eq!(said.stderr, "vault: left out: .git: an archive holds no git repository; `git clone` copies it\n");
    assert_eq!(fs::metadata(&archive).unwrap().mode() & 0o777, 0o600, "it holds private notes");
    let copy = folder.path().join("copies/vault");
    let said = import(&archive, &copy).ok();
    assert!(said.stdout.contains("is a vault now") && said.stdout.contains("vault serve --vault "), "{}", said.stdout);
    let mut expected = described(&vault.path(""));
    expected.retain(|(path, ..)| path != ".git" && !path.starts_with(".git/"));
    assert_eq!(described(&copy), expected);
    assert!(!copy.join(".vault").exists(), "neither index nor token");
    assert_eq!(fs::read_dir(copy.parent().unwrap()).unwrap().count(), 1, "nothing is left beside it");
    // Once more through a pipe, into a folder that is there and empty.
    let piped = folder.path().join("piped");
    fs::create_dir(&piped).unwrap();
    let mut out = vault.command(&["export", "-"]).stdout(Stdio::piped()).spawn().unwrap();
    Ran::of(vault_command().args(["import", "-"]).arg(&piped).stdin(out.stdout.take().unwrap())).ok();
    assert!(out.wait().unwrap().success());
    assert_eq!(described(&piped), expected);
}

#[test]
fn a_copy_by_an_archive_or_by_git_gives_the_same_answers() {
    let mut vault = TestVault::new();
    let mut notes = Notes::new(&vault.root(), 7, 12, 6);
    (0..40).for_each(|_| notes.edit());
    vault.sync();
    let (root, folder, imported, clone) = (vault.root(), empty(), empty(), empty());
    let archive = folder.path().join("vault.tar.zst");
    Ran::of(vault_command().args(["export", "--vault"]).arg(&root).arg(&archive)).ok();
    import(&archive, imported.path()).ok();
    git(&root, &["init", "--quiet"]);
    Ran::of(vault_command().args(["backup", "--vault"]).arg(&root)).ok();
    git(clone.path(), &["clone", "--quiet", root.to_str().unwrap(), "."]);
    let [imported, clone] = [imported, clone].map(|copy| TestVault::of(copy).synced());
    assert!(answers(&vault).len() > 20);
    assert_eq!((answers(&imported), answers(&clone)), (answers(&vault), answers(&vault)));
    let times =
        |vault: &TestVault| vault.search("river").0.results.into_iter().map(|hit| hit.chunk.updated_at).collect();
    let (there, here): (Vec<_>, Vec<_>) = (times(&imported), times(&vault));
    assert_eq!(there, here, "times are kept");
}

#[test]
fn the_program_s_state_is_exported_when_asked_for_and_never_a_token() {
    let mut vault = repository();
    let kept = ".vault/state/checkpoints/20260105T183000123-a1b2.content";
    vault.write(kept, "old text");
    for never in [
        ".vault/state/capture-tokens.json", ".vault/state/agents.json", ".vault/state/agents/claude.log",
        ".vault/state/checkpoints/agents.txt", ".vault/state/later.json", ".vault/index/catalog.db",
        ".vault/owner-token", "inner/.vault/owner-token", "inner/.vault/state/agents.json",
    ] {
        vault.write(never, "secret");
    }
    symlink("../../notes", vault.path(".vault/state/linked")).unwrap();
    let (folder, archive) = place();
    export(&vault, &archive, &["--with-state"]).ok();
    let copy = folder.path().join("copy");
    import(&archive, &copy).ok();
    assert_eq!(fs::read_to_string(copy.join(kept)).unwrap(), "old text");
    assert_eq!(fs::read_dir(copy.join(".vault")).unwrap().count(), 1);
    assert_eq!(fs::read_dir(copy.join(".vault/state")).unwrap().count(), 1);
    assert_eq!(files_with(&copy.join(".vault"), "secret"), [""; 0]);
    assert!(!copy.join("inner").exists() || fs::read_dir(copy.join("inner")).unwrap().count() == 0);
}

#[test]
fn what_cannot_be_exported_is_said_and_the_rest_is_exported() {
    let mut vault = repository().with("notes/a.md", "# A\n");
    symlink("/etc/hostname", vault.path("notes/out.md")).unwrap();
    symlink("../../..", vault.path("notes/up")).unwrap();
    let fifo = vault.path("notes/fifo.md");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    vault.write("notes/inner/.vault/index/catalog.db", "theirs").write("notes/inner/.vault/lock", "theirs");
    let (folder, archive) = place();
    let said = export(&vault, &archive, &["--json"]).ok();
    assert_eq!(said.json()["left_out"].as_array().unwrap().len(), 5, "{}", said.stdout);
    assert!(said.stderr.contains("notes/inner/.vault: it belongs to the program, for a vault"), "{}", said.stderr);
    assert!(said.stderr.contains("notes/out.md: a link that leads out of the vault"), "{}", said.stderr);
    let copy = folder.path().join("copy");
    import(&archive, &copy).ok();
    assert!(copy.join("notes/a.md").exists() && copy.join("notes/out.md").symlink_metadata().is_err());
}

#[test]
fn nothing_is_written_over() {
    let (vault, (folder, archive)) = (repository(), place());
    fs::write(&archive, "mine").unwrap();
    let refused = export(&vault, &archive, &[]);
    assert!(refused.code == 2 && refused.stderr.contains("already exists"), "{}", refused.stderr);
    assert_eq!(fs::read(&archive).unwrap(), b"mine");
    let inside = export(&vault, &vault.path("notes/vault.tar.zst"), &[]);
    assert!(inside.code == 2 && inside.stderr.contains("is in the vault"), "{}", inside.stderr);
    fs::remove_file(&archive).unwrap();
    export(&vault, &archive, &[]).ok();
    let full = folder.path().join("full");
    fs::create_dir(&full).unwrap();
    fs::write(full.join("mine.md"), "mine").unwrap();
    for dir in [&full, &full.join("mine.md"), &vault.path("")] {
        let before = described(&full);
        let refused = import(&archive, dir);
        assert!(refused.code == 2 && refused.stderr.contains("is not an empty folder"), "{}", refused.stderr);
        assert_eq!(described(&full), before);
    }
}

#[test]
fn an_archive_that_is_cut_short_or_changed_leaves_nothing() {
    let (vault, (folder, archive)) = (repository(), place());
    export(&vault, &archive, &[]).ok();
    let whole = fs::read(&archive).unwrap();
    let broken = folder.path().join("broken");
    let copies = folder.path().join("copies");
    fs::create_dir(&copies).unwrap();
    let attempt = |bytes: &[u8], what: &str| {
        fs::write(&broken, bytes).unwrap();
        let refused = import(&broken, &copies.join("vault"));
        assert_eq!(refused.code, 2, "{what}: {}", refused.stdout);
        assert!(refused.stderr.starts_with("vault: "), "{what}: {}", refused.stderr);
        assert_eq!(fs::read_dir(&copies).unwrap().count(), 0, "{what}");
        refused.stderr
    };
    for length in [0, 1, 4, 10, whole.len() / 3, whole.len() / 2, whole.len() - 5, whole.len() - 1] {
        let said = attempt(&whole[..length], &format!("the first {length} bytes"));
        assert!(length < 10 || said.contains("is cut short"), "{length}: {said}");
    }
    for at in (0..whole.len()).step_by(whole.len() / 12) {
        let mut changed = whole.clone();
        changed[at] ^= 0x10;
        attempt(&changed, &format!("byte {at}"));
    }
    attempt(b"not an archive at all", "text");
    let unfinished = zstd::encode_all(&vec![0; 1024][..], 3).unwrap();
    attempt(&unfinished, "an archive without entries");
}

/// An archive as a stranger may make it.
fn hostile(path: &Path, fill: impl FnOnce(&mut Builder<Vec<u8>>)) {
    let mut builder = Builder::new(Vec::new());
    add(&mut builder, "memory.toml", EntryType::Regular, b"", "");
    fill(&mut builder);
    let tar = builder.into_inner().unwrap();
    File::create(path).unwrap().write_all(&zstd::encode_all(&tar[..], 1).unwrap()).unwrap();
}

/// Adds an entry with a name that the library itself would refuse.
fn add(builder: &mut Builder<Vec<u8>>, name: &str, kind: EntryType, content: &[u8], link: &str) {
    let mut header = Header::new_old();
    header.as_mut_bytes()[..name.len()].copy_from_slice(name.as_bytes());
    header.as_mut_bytes()[157..157 + link.len()].copy_from_slice(link.as_bytes());
    header.set_entry_type(kind);
    header.set_mode(0o4777);
    header.set_size(content.len() as u64);
    header.set_cksum();
    builder.append(&header, content).unwrap();
}

#[test]
fn an_archive_of_a_stranger_writes_nothing_outside() {
    let folder = empty();
    let archive = folder.path().join("hostile.tar.zst");
    let outside = folder.path().join("outside");
    let absolute = outside.to_str().unwrap();
    let file = EntryType::Regular;
    for (name, kind, link, words) in [
        ("../outside", file, "", "`..`"),
        ("notes/../../outside", file, "", "`..`"),
        (absolute, file, "", "absolute"),
        ("link", EntryType::Symlink, "/etc", "a link that leads out"),
        ("notes/link", EntryType::Symlink, "../..", "a link that leads out"),
        ("link", EntryType::Symlink, "a/../..", "a link that leads out"),
        ("hard", EntryType::Link, "/etc/passwd", "neither a file"),
        ("fifo.md", EntryType::Fifo, "", "neither a file"),
        ("device", EntryType::Block, "", "neither a file"),
        ("memory.toml", file, "", "the same path twice"),
        (".vault/owner-token", file, "", "of the program's own"),
        (".vault/state/tokens.json", file, "", "of the program's own"),
        (".vault/index/catalog.db", file, "", "of the program's own"),
        (".VAULT/state/agents.json", file, "", "of the program's own"),
        (".Vault/owner-token", file, "", "of the program's own"),
        (".va\u{200c}ult/state/agents.json", file, "", "of the program's own"),
        (".vault/state", EntryType::Symlink, "../notes", "of the program's own"),
        (".vault/state/agents.json", EntryType::Symlink, "../../notes/a.json", "of the program's own"),
        (".GIT/hooks/pre-commit", file, "", "take for `.git`"),
    ] {
        hostile(&archive, |builder| add(builder, name, kind, b"", link));
        let refused = import(&archive, &folder.path().join("copies/vault"));
        assert!(refused.code == 2 && refused.stderr.contains(words), "{name}: {}", refused.stderr);
        assert!(!outside.exists() && !folder.path().join("copies/vault").exists(), "{name}");
        assert_eq!(fs::read_dir(folder.path().join("copies")).unwrap().count(), 0, "{name}");
    }
    // A link first, and a file through it: the folder is made before any link.
    hostile(&archive, |builder| {
        add(builder, "a", EntryType::Symlink, b"", "notes");
        add(builder, "a/b.md", file, b"x", "");
    });
    assert_eq!(import(&archive, &folder.path().join("copies/vault")).code, 2);
    assert_eq!(fs::read_dir(folder.path().join("copies")).unwrap().count(), 0);
    hostile(&archive, |_| {});
    let unsigned = import(&archive, &folder.path().join("copies/vault"));
    assert!(unsigned.code == 2 && unsigned.stderr.contains("cut short"), "{}", unsigned.stderr);
}

/// An archive with the manifest that its contents ask for, as whoever has read the source can make it.
fn forged(path: &Path, entries: &[(&str, EntryType, &[u8], u32)]) {
    let (mut builder, mut hasher, mut bytes, mut files) = (Builder::new(Vec::new()), blake3::Hasher::new(), 0, 0);
    for (name, kind, content, mode) in entries {
        let mut header = Header::new_gnu();
        header.set_entry_type(*kind);
        header.set_mode(*mode);
        header.set_size(content.len() as u64);
        builder.append_data(&mut header, name, *content).unwrap();
        hasher.update(if kind.is_dir() { b"d" } else { b"f" }).update(&(name.len() as u64).to_le_bytes());
        hasher.update(name.as_bytes()).update(&(content.len() as u64).to_le_bytes()).update(content);
        bytes += content.len();
        files += usize::from(kind.is_file());
    }
    let hash = hasher.finalize().to_hex().to_string();
    let manifest = json!({"format": 1, "version": "1", "mode": 0o7777, "files": files, "bytes": bytes, "blake3": hash});
    let manifest = manifest.to_string();
    let mut header = Header::new_gnu();
    header.set_mode(0o644);
    header.set_size(manifest.len() as u64);
    builder.append_data(&mut header, ".vault/export.json", manifest.as_bytes()).unwrap();
    fs::write(path, zstd::encode_all(&builder.into_inner().unwrap()[..], 1).unwrap()).unwrap();
}

#[test]
fn a_forged_archive_lets_no_agent_in_and_lends_nobody_rights() {
    let folder = empty();
    let (archive, copy) = (folder.path().join("forged.tar.zst"), folder.path().join("copy"));
    let (file, dir) = (EntryType::Regular, EntryType::Directory);
    let checkpoint = ".vault/state/checkpoints/20260105T183000123-a1b2.json";
    forged(
        &archive,
        &[
            ("memory.toml", file, b"", 0o644),
            ("agents/spy/agent.md", file, READS.as_bytes(), 0o644),
            (".vault/state", dir, b"", 0o7777),
            (".vault/state/agents.json", file, b"{}", 0o600),
            (".vault/state/Agents.json", file, b"{}", 0o600),
            (".vault/state/checkpoints", dir, b"", 0o2777),
            (checkpoint, file, b"{}", 0o6777),
            (".git/hooks/pre-commit", file, b"#!/bin/sh\n", 0o755),
            ("inner/.git/config", file, b"", 0o644),
            ("tools", dir, b"", 0o3777),
            ("tools/run", file, b"#!/bin/sh\n", 0o6755),
        ],
    );
    let said = import(&archive, &copy).ok();
    for left_out in [".vault/state/agents.json", ".git", "inner/.git"] {
        assert!(said.stderr.contains(&format!("left out: {left_out}: ")), "{left_out}: {}", said.stderr);
    }
    assert!(!copy.join(".git").exists() && !copy.join("inner").exists(), "git runs nothing that came with it");
    let mode = |path: &str| fs::metadata(copy.join(path)).unwrap().mode() & 0o7777;
    assert_eq!((mode("tools"), mode("tools/run"), mode("") & 0o7000), (0o777, 0o755, 0));
    assert_eq!((mode(".vault"), mode(".vault/state"), mode(checkpoint)), (0o700, 0o700, 0o700));
    assert_eq!(fs::read_dir(copy.join(".vault/state")).unwrap().count(), 1, "the checkpoints");
}

#[test]
fn what_is_written_during_an_export_is_whole_in_the_archive() {
    let mut vault = Daemon::vault();
    let version = |letter: char| format!("# {letter}\n\n{}\n", String::from(letter).repeat(200_000));
    let letters = ['a', 'b', 'c'];
    for note in ["renamed", "in-place"] {
        vault.write(&format!("notes/{note}.md"), version('a'));
    }
    let (folder, over) = (empty(), Over::default());
    std::thread::scope(|scope| {
        let _end = over.at_end();
        let (root, over) = (vault.path(""), &over);
        for in_place in [true, false] {
            let root = root.clone();
            scope.spawn(move || {
                for letter in letters.into_iter().cycle().take_while(|_| !over.is()) {
                    if in_place {
                        fs::write(root.join("notes/in-place.md"), version(letter)).unwrap();
                    } else {
                        fs::write(root.join("notes/.beside"), version(letter)).unwrap();
                        fs::rename(root.join("notes/.beside"), root.join("notes/renamed.md")).unwrap();
                    }
                    // As people save: there is time in between.
                    std::thread::sleep(Duration::from_millis(30));
                }
            });
        }
        for round in 0..8 {
            let copy = folder.path().join(round.to_string());
            let archive = copy.with_extension("tar.zst");
            export(&vault, &archive, &["--with-state"]).ok();
            import(&archive, &copy).ok();
            for note in ["renamed", "in-place"] {
                let text = fs::read_to_string(copy.join(format!("notes/{note}.md"))).unwrap();
                assert!(letters.iter().any(|letter| text == version(*letter)), "{note}: {} bytes", text.len());
            }
        }
    });
}

#[test]
fn what_is_captured_and_in_no_file_is_told() {
    let mut vault = Daemon::vault().started();
    let folder = empty();
    let send = |vault: &Daemon, path: &str| {
        let event = json!({"type": "file", "path": path, "action": "opened", "time": "2026-01-05T12:00:00Z"});
        assert_eq!(vault.capture(event), (1, 0));
    };
    // A daemon at work is waited for.
    send(&vault, "first-path");
    let exported = |vault: &Daemon, name: &str, args: &[&str]| {
        let copy = folder.path().join(name);
        let said = export(vault, &copy.with_extension("tar.zst"), args).ok().stderr;
        import(&copy.with_extension("tar.zst"), &copy).ok();
        (copy, said)
    };
    let (copy, said) = exported(&vault, "one", &[]);
    assert_eq!(said, "");
    let text = fs::read_to_string(copy.join("files/2026-01-05.md")).unwrap();
    assert!(text.contains("first-path"), "{text}");

    fs::remove_file(vault.path("files/2026-01-05.md")).unwrap();
    fs::create_dir(vault.path("files/2026-01-05.md")).unwrap();
    send(&vault, "second-path");
    send(&vault, "third-path");
    vault.kill();
    let (_, said) = exported(&vault, "two", &[]);
    assert!(said.contains("left out: 2 captured events"), "{said}");
    // With the state they go along, and tokens do not.
    vault.run(&["token", "add", "--capture", "browser"]).ok();
    let (copy, said) = exported(&vault, "three", &["--with-state"]);
    assert_eq!(said, "");
    fs::remove_dir(copy.join("files/2026-01-05.md")).unwrap();
    let mut serving = vault_command();
    serving.args(["serve", "--port", "0", "--vault"]).arg(&copy).stdout(Stdio::null()).stderr(Stdio::null());
    let mut serving = serving.spawn().unwrap();
    let written =
        || fs::read_to_string(copy.join("files/2026-01-05.md")).ok().filter(|text| text.contains("third-path"));
    let text = eventually("the events to be written where they went", written);
    assert!(text.contains("second-path"), "{text}");
    let tokens = Ran::of(vault_command().args(["token", "list", "--vault"]).arg(&copy));
    rustix::process::kill_process(rustix::process::Pid::from_child(&serving), rustix::process::Signal::TERM).unwrap();
    serving.wait().unwrap();
    assert_eq!(tokens.code, 1, "no token went along: {}", tokens.stdout);
}
