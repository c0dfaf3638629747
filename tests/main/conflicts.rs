//! Notes that were changed in two places: listed, found once, shown, and settled as the person says.

use crate::clones::could;
use crate::facts::git;
use crate::support::prelude::*;

const COPY: &str = "notes/plan.sync-conflict-20260105-183012-ABC2DEF.md";
const OURS: &str = "# Plan\n\nSow beans.\n\nWater them.\n";
const THEIRS: &str = "# Plan\n\nSow peas.\n\nWater them.\n";

fn vault() -> Daemon {
    Daemon::vault().with("notes/plan.md", OURS).with(COPY, THEIRS)
}

fn text(vault: &Daemon, path: &str) -> Option<String> {
    fs::read_to_string(vault.path(path)).ok()
}

fn conflicts(vault: &Daemon) -> Vec<Value> {
    let ran = vault.run(&["conflicts", "--json"]);
    let found = ran.json()["conflicts"].as_array().unwrap().clone();
    assert_eq!(ran.code, i32::from(found.is_empty()), "{}", ran.stderr);
    found
}

fn undo(vault: &Daemon, kept: &Ran) {
    let ids = kept.json()["checkpoint_ids"].as_array().unwrap().clone();
    for id in ids {
        vault.run(&["undo", id.as_str().unwrap()]).ok();
    }
}

#[test]
fn a_copy_is_shown_as_a_difference_and_one_side_or_both_are_kept() {
    for (served, end) in [(false, "md"), (true, "md"), (false, "markdown")] {
        let [note, beside] = ["plan", "plan 2"].map(|name| format!("notes/{name}.{end}"));
        let copy = COPY.replace(".md", &format!(".{end}"));
        let mut vault = Daemon::vault().with(&note, OURS).with(&copy, THEIRS);
        if served {
            vault.start();
        }
        assert_eq!(conflicts(&vault), [json!({"path": copy, "of": note, "made_by": "Syncthing"})]);
        // By either name.
        for name in [&note, &copy] {
            let shown = vault.run(&["conflicts", "show", name]).ok().stdout;
            assert!(shown.starts_with(&format!("--- {note}\n+++ {copy}\n@@ ")), "{shown}");
            assert!(shown.contains("\n-Sow beans.\n+Sow peas.\n"), "{shown}");
        }
        let keep = |side: &str| vault.run(&["conflicts", "keep", &note, side, "--json"]).ok();
        let texts = || [&note, &copy, &beside].map(|path| text(&vault, path));
        let are = |expected: [Option<&str>; 3]| assert_eq!(texts().each_ref().map(Option::as_deref), expected, "{end}");
        let ours = keep("--ours");
        are([Some(OURS), None, None]);
        assert!(conflicts(&vault).is_empty());
        undo(&vault, &ours);
        are([Some(OURS), Some(THEIRS), None]);

        let theirs = keep("--theirs");
        are([Some(THEIRS), None, None]);
        undo(&vault, &theirs);
        are([Some(OURS), Some(THEIRS), None]);

        let both = keep("--both");
        assert_eq!(both.json()["beside"], beside.as_str());
        are([Some(OURS), None, Some(THEIRS)]);
        assert!(conflicts(&vault).is_empty());
        undo(&vault, &both);
        are([Some(OURS), Some(THEIRS), None]);
        // In the trash each has a name of its own.
        keep("--ours");
        assert!(conflicts(&vault).is_empty());
    }
}

#[test]
fn what_cannot_be_settled_is_refused_and_says_why() {
    let mut vault = vault().with("notes/other.md", "# Other\n");
    let refused = vault.run(&["conflicts", "keep", "notes/other.md", "--ours"]);
    assert!(refused.code == 1 && refused.stderr.contains("`vault conflicts` lists"), "{}", refused.stderr);
    assert_eq!(vault.run(&["conflicts", "keep", "notes/plan.md"]).code, 2);
    assert_eq!(vault.run(&["conflicts", "keep", "notes/plan.md", "--ours", "--both"]).code, 2);
    // Of two copies one has to be named.
    vault.write("notes/plan (conflict).md", "# Plan\n\nSow corn.\n");
    assert_eq!(conflicts(&vault).len(), 2);
    let several = vault.run(&["conflicts", "show", "notes/plan.md"]);
    assert!(several.code == 2 && several.stderr.contains(COPY), "{}", several.stderr);
    vault.run(&["conflicts", "keep", "notes/plan (conflict).md", "--theirs"]).ok();
    assert_eq!(text(&vault, "notes/plan.md").as_deref(), Some("# Plan\n\nSow corn.\n"));
    // A copy of what is gone is all there is of it.
    fs::remove_file(vault.path("notes/plan.md")).unwrap();
    let refused = vault.run(&["conflicts", "keep", COPY, "--ours"]);
    assert!(refused.stderr.contains("keep `theirs`"), "{}", refused.stderr);
    vault.run(&["conflicts", "keep", COPY, "--theirs"]).ok();
    assert_eq!((text(&vault, "notes/plan.md").as_deref(), text(&vault, COPY)), (Some(THEIRS), None));
    // What is outside of the vault is no note of it.
    assert_ne!(vault.run(&["conflicts", "keep", "../plan.md", "--ours"]).code, 0);
}

#[test]
fn a_copy_that_says_the_same_is_found_once() {
    let mut vault = vault().with(COPY, OURS).started();
    assert_eq!(conflicts(&vault)[0]["same"], true);
    vault.finds("beans", &["notes/plan.md"]);
    assert_eq!(vault.search("q=plan"), ["notes/plan.md"]);
    assert_eq!(vault.search("q=-zebra"), ["notes/plan.md"]);
    // The copy alone, where that is what is asked for; and both once they differ.
    assert_eq!(vault.search(&format!("q=beans&path={COPY}")), [COPY]);
    vault.write(COPY, THEIRS);
    vault.finds("peas", &[COPY]).finds("beans", &["notes/plan.md"]);
    assert_eq!(vault.search("q=water").len(), 2);
}

#[test]
fn conflict_markers_are_listed_and_settled_side_by_side() {
    let marked = "# Plan\n\n<<<<<<< HEAD\nSow beans.\n=======\nSow peas.\n>>>>>>> phone\n\nWater them.\n";
    let mut vault = Daemon::vault();
    vault.write("notes/plan.md", marked).write("notes/about.md", format!("# About\n\n```\n{marked}```\n")).start();
    let listed = json!({"path": "notes/plan.md", "of": "notes/plan.md", "made_by": "git"});
    assert_eq!(conflicts(&vault), std::slice::from_ref(&listed));
    let status = vault.run(&["status", "--json"]).ok().json();
    assert_eq!((&status["conflict_copies"], &status["problems"]), (&json!([listed]), &json!([])));
    assert!(vault.run(&["status"]).ok().stdout.contains("notes/plan.md  conflict markers of git\n"));
    let shown = vault.run(&["conflicts", "show", "notes/plan.md"]).ok().stdout;
    assert!(shown.starts_with("--- notes/plan.md (ours)\n+++ notes/plan.md (theirs)\n"), "{shown}");
    assert!(shown.contains("\n-Sow beans.\n+Sow peas.\n"), "{shown}");
    let both = OURS.replace("beans.\n", "beans.\nSow peas.\n");
    for (side, left) in [("--ours", OURS), ("--theirs", THEIRS), ("--both", &both)] {
        let kept = vault.run(&["conflicts", "keep", "notes/plan.md", side, "--json"]).ok();
        assert_eq!(text(&vault, "notes/plan.md").as_deref(), Some(left));
        assert!(conflicts(&vault).is_empty());
        undo(&vault, &kept);
        assert_eq!(text(&vault, "notes/plan.md").as_deref(), Some(marked));
    }
}

/// What Syncthing does with two folders: what changed on one side alone goes over; of what changed on both, what is older there becomes a copy.
fn synchronise(here: &Path, there: &Path, before: &str) {
    let read = |root: &Path| fs::read_to_string(root.join("notes/plan.md")).unwrap();
    let (ours, theirs) = (read(here), read(there));
    if ours != before && theirs != before && ours != theirs {
        for root in [here, there] {
            fs::write(root.join(COPY), &theirs).unwrap();
        }
        fs::write(there.join("notes/plan.md"), &ours).unwrap();
    } else if ours != before {
        fs::write(there.join("notes/plan.md"), &ours).unwrap();
    } else {
        fs::write(here.join("notes/plan.md"), &theirs).unwrap();
    }
}

#[test]
fn two_daemons_whose_folders_are_synchronised_agree_on_what_waits() {
    let (mut here, mut there) = (Daemon::vault(), Daemon::vault());
    let first = "# Plan\n\nSow nothing.\n\nWater them.\n";
    here.write("notes/plan.md", first).start();
    there.write("notes/plan.md", first).start();
    // One side alone goes over, and is found there.
    here.write("notes/plan.md", OURS);
    synchronise(&here.path(""), &there.path(""), first);
    there.finds("beans", &["notes/plan.md"]);
    // Both: each daemon lists the copy, finds either text, and has merged nothing.
    here.write("notes/plan.md", "# Plan\n\nSow corn.\n");
    there.write("notes/plan.md", THEIRS);
    synchronise(&here.path(""), &there.path(""), OURS);
    for side in [&here, &there] {
        side.finds("corn", &["notes/plan.md"]).finds("peas", &[COPY]);
        assert_eq!(conflicts(side).len(), 1);
    }
    // Settled on one machine; the service carries that over.
    here.run(&["conflicts", "keep", "notes/plan.md", "--theirs"]).ok();
    fs::remove_file(there.path(COPY)).unwrap();
    there.write("notes/plan.md", THEIRS);
    for side in [&here, &there] {
        side.finds("peas", &["notes/plan.md"]).finds("corn", &[]);
        until("nothing to settle", || conflicts(side).is_empty());
    }
}

#[test]
fn two_machines_by_git_settle_a_merge_that_stopped() {
    let mut here = Daemon::vault();
    here.write("notes/plan.md", "# Plan\n\nSow nothing.\n\nWater them.\n").write(".gitignore", ".vault/\n.trash/\n");
    let root = here.path("");
    git(&root, &["init", "--quiet", "--initial-branch", "main"]);
    git(&root, &["add", "."]);
    git(&root, &["commit", "--quiet", "-m", "one"]);
    let folder = tempfile::tempdir().unwrap();
    let clone = folder.path().join("clone");
    git(&root, &["clone", "--quiet", ".", clone.to_str().unwrap()]);
    fs::write(clone.join("notes/plan.md"), THEIRS).unwrap();
    git(&clone, &["commit", "--quiet", "-am", "theirs"]);
    here.write("notes/plan.md", OURS);
    git(&root, &["commit", "--quiet", "-am", "ours"]);
    here.start();
    git(&root, &["fetch", "--quiet", clone.to_str().unwrap(), "main"]);
    assert!(!could(&root, &["merge", "--quiet", "FETCH_HEAD"]));
    here.finds("peas", &["notes/plan.md"]);
    assert_eq!(conflicts(&here)[0]["made_by"], "git");
    here.run(&["conflicts", "keep", "notes/plan.md", "--theirs"]).ok();
    assert_eq!(text(&here, "notes/plan.md").as_deref(), Some(THEIRS));
    git(&root, &["add", "notes/plan.md"]);
    git(&root, &["commit", "--quiet", "-m", "merged"]);
    here.run(&["backup"]).ok();
    assert!(conflicts(&here).is_empty());
}

#[test]
fn copies_of_settings_and_documents_are_listed_and_left_to_the_person() {
    let copy = "sync-conflict-20260105-183012-ABC2DEF";
    let (pdf, toml) = (format!("files/scan.{copy}.pdf"), format!("memory.{copy}.toml"));
    let docx = format!("files/letter.{copy}.docx");
    for (served, attachments) in [(false, false), (true, true)] {
        let config = format!("[index]\nattachments = {attachments}\n");
        let mut vault = Daemon::with_config(&config);
        let settings = text(&vault, "memory.toml").unwrap();
        vault
            .write("files/scan.pdf", b"%PDF-1.4\n\xff one")
            .write(&pdf, b"%PDF-1.4\n\xff the other")
            .write("files/letter.docx", b"PK\x03\x04 no archive")
            .write(&docx, b"PK\x03\x04 no archive")
            .write(&toml, format!("{settings}# of the phone\n"));
        if served {
            vault.start().settle();
        }
        let all = conflicts(&vault);
        let of: Vec<&str> = all.iter().map(|copy| copy["of"].as_str().unwrap()).collect();
        assert_eq!(of, ["files/letter.docx", "files/scan.pdf", "memory.toml"]);
        assert!(all.iter().all(|copy| copy["by_hand"].as_str().unwrap().contains("not a note")), "{all:?}");
        let status = vault.run(&["status", "--json"]).ok().json();
        assert_eq!(status["conflict_copies"], json!(all));
        let told = vault.run(&["status"]).ok().stdout;
        assert!(told.contains("3 conflicts of files that were changed in two places"), "{told}");
        assert!(told.contains(&format!("  {pdf}  of files/scan.pdf, by Syncthing; it is not a note")), "{told}");
        if served {
            assert_eq!(vault.get("/api/conflicts").json()["conflicts"], json!(all));
        }
        for name in [&pdf, &toml] {
            let before = fs::read(vault.path(name)).unwrap();
            for refused in [vault.run(&["conflicts", "show", name]), vault.run(&["conflicts", "keep", name, "--ours"])]
            {
                assert!(refused.code != 0 && refused.stderr.contains("not a note"), "{}", refused.stderr);
            }
            assert_eq!(fs::read(vault.path(name)).unwrap(), before);
        }
        assert_ne!(vault.run(&["forget", "memory.toml"]).code, 0);
        assert!(vault.path("memory.toml").exists());
    }
}
