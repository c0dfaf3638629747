//! Files that cannot be read, or not as they were meant: each is answered for, and the rest of the vault is indexed.

use std::os::unix::fs::symlink;

use crate::support::prelude::*;

/// A vault with one good note, which every test must still find.
fn vault() -> TestVault {
    TestVault::new().with("notes/good.md", "# Good\n\nThe goodword is here.")
}

/// Syncs, and makes sure that the good note is found and followed.
#[track_caller]
fn sync(vault: &mut TestVault) {
    vault.sync();
    assert_eq!(vault.words("goodword").paths(), ["notes/good.md"]);
    vault.write("notes/good.md", "# Good\n\nThe goodword is here, and betterword.").sync();
    assert_eq!(vault.words("betterword").paths(), ["notes/good.md"]);
}

#[test]
fn an_empty_vault_answers_and_empty_files_are_notes_without_passages() {
    let mut vault = TestVault::new().synced();
    assert!(vault.search("anything").paths().is_empty());
    let status = vault.status();
    assert_eq!((status.files, status.chunks, status.problems.len()), (0, 0, 0));
    vault.restart();
    assert!(vault.search("anything").paths().is_empty());
    // Empty and blank files are notes without passages.
    let mut vault = self::vault()
        .with("empty.md", "")
        .with("blank.md", " \n\n\t\n")
        .with("bom.md", "\u{feff}")
        .with("front.md", "---\n---\n");
    sync(&mut vault);
    assert_eq!(vault.status().files, 5);
    assert_eq!(vault.problem("empty.md"), None);
    vault.write("empty.md", "nowfilled").sync();
    assert_eq!(vault.words("nowfilled").paths(), ["empty.md"]);
    vault.write("empty.md", "").sync();
    assert!(vault.words("nowfilled").paths().is_empty());
}

#[test]
fn a_file_that_is_too_large_is_listed_and_left_out() {
    let mut vault = vault().with("huge.md", "goodword and more\n".repeat(50_000_000 / 18));
    sync(&mut vault);
    let reason = vault.problem("huge.md").unwrap();
    assert!(reason.contains("at most 20000000 are indexed"), "{reason}");
    vault.write("huge.md", "smallword").sync();
    assert_eq!((vault.words("smallword").paths(), vault.problem("huge.md")), (vec!["huge.md"], None));
    // One that becomes too large is no longer found.
    vault.write("huge.md", "smallword ".repeat(2_000_001)).sync();
    assert!(vault.words("smallword").paths().is_empty() && vault.problem("huge.md").is_some());
}

#[test]
fn one_line_of_5_mb_is_found_by_its_last_word() {
    let mut vault = vault().with("line.md", format!("{} lastword", "some words in one line ".repeat(5_000_000 / 23)));
    vault.write("endless.md", format!("{} lastbit", "x".repeat(5_000_000)));
    sync(&mut vault);
    assert_eq!((vault.words("lastword").paths()[0], vault.words("lastbit").paths()[0]), ("line.md", "endless.md"));
    assert!(vault.words("lastword").0.results[0].chunk.content.ends_with("lastword"));
    assert!(vault.words("lastword").0.results[0].chunk.content.len() < 5_000);
}

#[test]
fn what_is_no_text_no_file_or_oddly_written_is_listed_and_stops_nothing() {
    let mut vault = vault()
        .with("bytes.md", b"goodword \xff\xfe")
        .with("utf16.md", b"\xff\xfeg\0o\0")
        .with("nul.md", "nulword\0after")
        .with("odd.md", "---\ntags: [1, true, ok]\ndate: not a date\ntitle: 42\n---\noddword\n")
        .with("folder.md/inside.md", "insideword");
    let fifo = vault.path("fifo.md");
    rustix::fs::mknodat(rustix::fs::CWD, &fifo, rustix::fs::FileType::Fifo, 0o600.into(), 0).unwrap();
    sync(&mut vault);
    assert_eq!(vault.problem("bytes.md").unwrap(), "not UTF-8 text (byte 9)");
    assert!(vault.problem("utf16.md").is_some());
    assert_eq!(vault.words("nulword").paths(), ["nul.md"]);
    let found = vault.words("oddword");
    let hit = &found.0.results[0].chunk;
    assert!(hit.tags.contains(&"ok".to_owned()), "{:?}", hit.tags);
    assert!(hit.created_at.starts_with("20"), "the file's time stands in: {}", hit.created_at);
    assert!(vault.problem("odd.md").is_some(), "the date is listed");
    assert_eq!(vault.problem("fifo.md").unwrap(), "not a regular file");
    assert_eq!(vault.words("insideword").paths(), ["folder.md/inside.md"]);
}

#[test]
fn hostile_frontmatter_costs_nothing_but_its_note_and_its_body_is_found() {
    let lol = |at: usize| format!("l{at}: &l{at} [{}]\n", format!("*l{}, ", at - 1).repeat(9));
    let laughs = format!("l0: &l0 lol\n{}", (1..12).map(lol).collect::<String>());
    let deep = format!("a: {}{}\n", "[".repeat(50_000), "]".repeat(50_000));
    let mut vault = vault();
    for (name, front) in [
        ("laughs", laughs.as_str()),
        ("deep", &deep),
        ("twice", "tags: a\ntags: b\n"),
        ("invalid", "a: [b\n"),
        ("tabs", "a:\n\t- b\n"),
    ] {
        vault.write(&format!("{name}.md"), format!("---\n{front}---\nbodyof{name}\n"));
    }
    vault.write("unclosed.md", "---\ntitle: x\n\nbodyofunclosed\n");
    sync(&mut vault);
    for name in ["laughs", "deep", "twice", "invalid", "tabs", "unclosed"] {
        let path = format!("{name}.md");
        assert_eq!(vault.words(&format!("bodyof{name}")).paths()[0], path);
        let reason = vault.problem(&path).unwrap_or_else(|| panic!("{path} is not listed"));
        assert!(reason.len() < 500, "{reason}");
        let snapshot = vault.app().shared.snapshot().unwrap();
        assert!(
            snapshot.files().iter().find(|file| file.path.as_str() == path).unwrap().private,
            "{path} is the owner's"
        );
    }
}

#[test]
fn a_file_that_vanishes_while_it_is_read_is_gone() {
    let mut vault = vault();
    for at in 0..300 {
        vault.write(&format!("many/{at}.md"), "many words");
    }
    let folder = vault.path("many");
    let remover = std::thread::spawn(move || fs::remove_dir_all(folder).unwrap());
    vault.sync();
    remover.join().unwrap();
    sync(&mut vault);
    assert!(vault.words("many").paths().is_empty());
    assert_eq!(vault.status().files, 1);
    assert!(vault.status().problems.is_empty(), "{:?}", vault.status().problems);
}

#[test]
fn an_unreadable_folder_is_listed_and_what_was_known_below_it_is_kept() {
    let mut vault = vault().with("locked/a.md", "lockedword").with("locked.md", "x").synced();
    let folder = vault.path("locked");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read_dir(&folder).is_ok() {
        skipped("this user reads every folder (root)");
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        return;
    }
    sync(&mut vault);
    assert!(vault.problem("locked").unwrap().contains("cannot be listed"));
    assert_eq!(vault.words("lockedword").paths(), ["locked/a.md"]);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
    vault.sync();
    assert_eq!(vault.problem("locked"), None);
}

#[test]
fn links_are_not_followed_and_loops_do_no_harm() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret.md"), "outsideword").unwrap();
    let mut vault = vault().with("notes/real.md", "realword");
    symlink(outside.path(), vault.path("notes/out")).unwrap();
    symlink(outside.path().join("secret.md"), vault.path("notes/out.md")).unwrap();
    symlink(vault.path("notes"), vault.path("notes/loop")).unwrap();
    symlink("real.md", vault.path("notes/alias.md")).unwrap();
    symlink("nowhere", vault.path("notes/broken.md")).unwrap();
    sync(&mut vault);
    assert!(vault.words("outsideword").paths().is_empty());
    assert_eq!(vault.words("realword").paths(), ["notes/real.md"]);
    for link in ["notes/out.md", "notes/alias.md", "notes/broken.md"] {
        assert!(vault.problem(link).unwrap().contains("symbolic link"), "{link}");
    }
}

#[test]
fn every_name_that_a_disk_takes_is_indexed_or_listed() {
    let long = format!("{}.md", "n".repeat(252));
    let names = [
        "with space.md", "🌱🌻.md", "new\nline.md", "#hash.md", "a#b.md", "..dots.md.md", "a..b.md", "quo\"te'.md",
        "back\\slash.md", "percent%20.md", "UPPER.MD", "naïve.md", "nai\u{308}ve2.md", "日本.markdown", "-dash.md",
        "tab\t.md", "*?[].md", &long,
    ];
    let mut vault = vault();
    for (at, name) in names.iter().enumerate() {
        vault.write(&format!("odd names/{name}"), format!("nameword uniqueword{at}"));
    }
    sync(&mut vault);
    let hidden = "..dots.md.md";
    for (at, name) in names.iter().enumerate().filter(|(_, name)| **name != hidden) {
        let path = format!("odd names/{name}");
        let found = vault.words(&format!("uniqueword{at}"));
        assert_eq!(found.paths(), [path.as_str()]);
        assert_eq!(found.0.results[0].chunk.citation, format!("{path}#L1"));
    }
    assert!(vault.words("uniqueword5").paths().is_empty(), "a name that starts with a dot is hidden");
    vault.rename("odd names", "more names").restart();
    assert_eq!(vault.words("uniqueword2").paths(), ["more names/new\nline.md"]);
    // One that is not UTF-8 is listed.
    use std::os::unix::ffi::OsStrExt;
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9.md");
    if fs::write(vault.root().join(name), "x").is_err() {
        skipped("this file system takes UTF-8 names only");
        return;
    }
    sync(&mut vault);
    let problems = vault.status().problems;
    assert!(problems.iter().any(|problem| problem.reason == "the name is not UTF-8"), "{problems:?}");
}
