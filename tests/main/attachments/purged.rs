//! What a purge leaves of a document: nothing, also where it was killed, and where the document was in the trash.

use super::documents::{PdfStyle, pdf};
use crate::support::prelude::*;

const SAID: &str = "The xylograph opens the blue garage door.";
const DOCUMENT: &str = "files/door.pdf";

/// A vault with a document, and an entry of memory that says the same, which is gone and kept to undo that.
fn vault() -> Daemon {
    let mut vault = Daemon::without_model("[index]\nattachments = true\n[memory]\nenabled = false\n");
    let entry = SAID.trim_end_matches('.');
    vault
        .write(DOCUMENT, pdf(&["Nothing of note.", SAID], PdfStyle::default()))
        .write("memories/user.md", format!("- [fact] {entry} ^e-1\n- [fact] Likes the sea very much ^e-2\n"))
        .start()
        .settle();
    vault.post("/api/user-memory/forget", &json!({ "path": "memories/user.md", "line_start": 1 })).ok();
    until("the document alone", || {
        let found = vault.find("xylograph");
        !found.is_empty() && found.iter().all(|path| path == DOCUMENT)
    });
    for folder in [".vault/index/attachments", ".vault/state/checkpoints"] {
        assert!(!says(&vault, folder).is_empty(), "{folder}");
    }
    vault
}

/// What in a folder says it.
fn says(vault: &Daemon, folder: &str) -> Vec<String> {
    files_with(&vault.path(folder), "xylograph")
}

#[track_caller]
fn is_gone(vault: &Daemon, how: &str) {
    for folder in [".vault/index/attachments", ".vault/state/checkpoints", ".trash", "files", "memories"] {
        assert_eq!(says(vault, folder), [""; 0], "{how}");
    }
    assert_eq!(vault.find("xylograph"), Vec::<String>::new(), "{how}");
    let saved = vault.post("/api/user-memory/save", &json!({ "content": SAID })).json();
    assert_eq!(saved["forgotten_before"], true, "{how}: {saved}");
}

#[test]
fn a_purge_that_is_killed_leaves_nothing_of_an_attachment() {
    for point in ["purge-removed", "purge-emptied", "purge-cleared"] {
        let mut vault = vault();
        vault.terminate();
        let mut killed = vault.command(&["forget", DOCUMENT, "--purge", "--yes", "--keep-derived"]);
        let killed = Ran::of(killed.env("VAULT_CRASH_AT", format!("{point}:1")));
        assert_ne!(killed.code, 0, "{point}");
        vault.start().settle();
        is_gone(&vault, point);
    }
}

#[test]
fn one_that_is_in_the_trash_is_purged_with_all_that_it_said() {
    for served in [false, true] {
        let mut vault = vault();
        if !served {
            vault.terminate();
        }
        vault.run(&["forget", DOCUMENT, "--yes", "--keep-derived"]).ok();
        assert!(vault.path(".trash").join(DOCUMENT).exists());
        let purged = vault.run(&["forget", DOCUMENT, "--purge", "--yes", "--keep-derived", "--json"]).ok().json();
        assert!(purged["purged"]["tombstone"].is_i64(), "{purged}");
        if !served {
            vault.start().settle();
        }
        is_gone(&vault, if served { "served" } else { "alone" });
    }
}
