use std::fs;

use jiff::Timestamp;

use super::*;
use crate::text::derive::facts::FactEdit;
use crate::vault::disk::{Files, Outside};

/// Whether a look leaves something to be noted later.
const WAITS: bool = true;
const ALL: bool = false;

struct Desk {
    folder: tempfile::TempDir,
    fact_store: FactStore,
    files: Files,
}

impl Desk {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("vault");
        fs::create_dir(&root).unwrap();
        let files = Files::new(root.clone(), &folder.path().join("state"), Outside::default());
        let state = State::in_folder(&folder.path().join("state"));
        let fact_store = FactStore::new(root, true, 1 << 20, Some(&state));
        Self { folder, fact_store, files }
    }

    fn on_disk(&self, name: &str) -> PathBuf {
        self.folder.path().join("vault").join(name)
    }

    fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        fs::create_dir_all(self.on_disk(name).parent().unwrap()).unwrap();
        fs::write(self.on_disk(name), text).unwrap();
    }

    /// Moves a file to or from a place outside of the vault.
    fn take(&self, name: &str) {
        fs::rename(self.on_disk(name), self.folder.path().join(name)).unwrap();
    }

    fn bring(&self, name: &str) {
        fs::rename(self.folder.path().join(name), self.on_disk(name)).unwrap();
    }

    fn look(&self, in_ms: i64) -> bool {
        self.fact_store.notice_at(&self.files, &MemoryScope::User, now(in_ms)).unwrap()
    }

    fn history(&self) -> String {
        fs::read_to_string(self.on_disk(HISTORY)).unwrap()
    }
}

const FACTS: &str = "- a: 1\n- b: 2\n";
const HISTORY: &str = "facts.history.md";
const LATER: i64 = 60_000;

fn now(in_ms: i64) -> i64 {
    Timestamp::now().as_millisecond() + in_ms
}

#[test]
fn a_file_that_is_written_anew_loses_no_fact() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    assert_eq!(desk.look(0), ALL);
    let noted = desk.history();
    assert_eq!(noted.matches(": — → ").count(), 2);
    // Emptied, then taken away, then there again.
    desk.write(FACTS_FILE, "");
    assert_eq!(desk.look(0), WAITS);
    fs::remove_file(desk.on_disk(FACTS_FILE)).unwrap();
    assert_eq!((desk.look(0), desk.look(1000)), (WAITS, WAITS));
    desk.write(FACTS_FILE, FACTS);
    assert_eq!((desk.look(0), desk.history()), (ALL, noted.clone()));
    // While git is at work however long it takes.
    fs::remove_file(desk.on_disk(FACTS_FILE)).unwrap();
    desk.write(".git/index.lock", "");
    assert_eq!((desk.look(LATER), desk.history()), (WAITS, noted));
    fs::remove_file(desk.on_disk(".git/index.lock")).unwrap();
    assert_eq!(desk.look(0), WAITS);
    assert_eq!(desk.look(LATER), ALL);
    assert_eq!(desk.history().matches(" → — · by edit").count(), 2);
}

#[test]
fn an_emptied_file_has_lost_its_facts_once_it_stays_so() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    desk.write(FACTS_FILE, "# Facts\n");
    assert_eq!((desk.look(0), desk.look(LATER)), (WAITS, ALL));
    assert_eq!(desk.history().matches(" → — · by edit").count(), 2);
}

#[test]
fn files_that_went_together_may_come_back_one_after_the_other() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    let noted = desk.history();
    desk.take(FACTS_FILE);
    desk.take(HISTORY);
    assert!(desk.fact_store.let_go(now(0)), "they may be back at once");
    assert!(!desk.fact_store.let_go(now(LATER)));
    desk.bring(HISTORY);
    assert_eq!((desk.look(LATER), desk.history()), (ALL, noted.clone()));
    desk.bring(FACTS_FILE);
    assert_eq!((desk.look(LATER), desk.history()), (ALL, noted));
    // Seen again, it can go.
    desk.take(FACTS_FILE);
    assert!(!desk.fact_store.let_go(now(LATER)));
    desk.look(LATER);
    assert_eq!(desk.history().matches(" → — · by edit").count(), 2);
}

#[test]
fn what_is_purged_goes_out_of_copies_of_the_history_too() {
    let desk = Desk::new();
    let copy = "facts.history.sync-conflict-20260101-120000-ABCDEFG.md";
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    let path = VaultPath::new(FACTS_FILE).unwrap();
    let none = || Ok::<_, ItemError>(());
    let purge = |value: &str| desk.fact_store.purge(&desk.files, &path, |_, purged| purged == value, none).unwrap().1;
    desk.write(copy, desk.history());
    assert!(purge("1").is_none());
    assert!(!fs::read_to_string(desk.on_disk(copy)).unwrap().contains("`1`"));
    // One that cannot be read is told, and keeps nothing in the history itself.
    desk.write(copy, b"\xff\xfe");
    assert!(purge("2").unwrap().to_string().contains(copy));
    assert!(!desk.history().contains("`2`"), "{}", desk.history());
}

#[test]
fn what_a_half_written_file_lacks_waits_and_what_it_says_does_not() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    desk.write(FACTS_FILE, "- a: 3\n");
    assert_eq!((desk.look(0), desk.look(0)), (WAITS, WAITS));
    assert!(desk.history().contains("`a`: `1` → `3` · by edit") && !desk.history().contains("→ —"));
    desk.write(FACTS_FILE, "- a: 3\n- b: 2\n- c: 4\n");
    let said = desk.history();
    assert_eq!((desk.look(0), desk.look(LATER)), (ALL, ALL));
    assert_eq!(desk.history().strip_prefix(&said).unwrap().lines().count(), 1);
    // What stays so has gone.
    desk.write(FACTS_FILE, "- b: 2\n- c: 4\n");
    assert_eq!((desk.look(0), desk.look(LATER)), (WAITS, ALL));
    assert!(desk.history().contains("`a`: `3` → — · by edit"));
    assert_eq!(desk.history().matches("→ —").count(), 1);
}

#[test]
fn what_is_set_while_the_file_is_away_says_nothing_of_the_others() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    desk.take(FACTS_FILE);
    let act = crate::vault::disk::Action::Edit.into();
    let writer = FactWriter { files: &desk.files, by: "owner", source: None, act, leaves: false };
    let value = serde_json::json!("5");
    let window = crate::text::derive::facts::Validity::default();
    let new = crate::text::derive::facts::NewFact { value: &value, window: &window, tags: None, is_correction: false };
    desk.fact_store.edit(&writer, &MemoryScope::User, ("", "a"), &FactEdit::Set(new), None).unwrap();
    assert_eq!(desk.look(0), WAITS);
    let last = desk.history().lines().last().unwrap().to_owned();
    assert!(last.contains("`a`: `1` → `5` · by owner") && !desk.history().contains("→ —"), "{}", desk.history());
    // Who replaces it has the last word.
    desk.bring(FACTS_FILE);
    assert_eq!((desk.look(0), desk.look(LATER)), (ALL, ALL));
    assert!(desk.history().contains("`a`: `5` → `1` · by edit") && !desk.history().contains("→ —"));
}

#[test]
fn a_look_waited_for_everybody_who_was_to_change_a_fact() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    let noted = desk.history();
    // As after a start: all is noted, and that is not known.
    let state = State::in_folder(&desk.folder.path().join("state"));
    let fact_store = FactStore::new(desk.on_disk(""), true, 1 << 20, Some(&state));
    let desk = Desk { fact_store, ..desk };
    let changing = desk.fact_store.store.one_change();
    assert_eq!((desk.look(0), desk.history()), (ALL, noted));
    drop(changing);
    // What a look has seen can go.
    fs::remove_file(desk.on_disk(FACTS_FILE)).unwrap();
    desk.look(LATER);
    assert_eq!(desk.history().matches(" → — · by edit").count(), 2);
}

#[test]
fn a_line_that_is_no_text_is_passed_over_and_stays() {
    let desk = Desk::new();
    desk.write(FACTS_FILE, FACTS);
    desk.look(0);
    let mut bytes = fs::read(desk.on_disk(HISTORY)).unwrap();
    bytes.extend_from_slice(b"- caf\xe9\n");
    desk.write(HISTORY, &bytes);
    let lines = bytes.split(|byte| *byte == b'\n').count() - 1;
    let book = desk.fact_store.book(&MemoryScope::User).unwrap();
    let problems: Vec<_> = book.problems().collect();
    assert_eq!((problems.len(), problems[0].0.as_str(), problems[0].1), (1, HISTORY, Some(lines)), "{problems:?}");
    assert_eq!(desk.look(0), ALL);
    desk.write(FACTS_FILE, "- a: 3\n- b: 2\n");
    assert_eq!(desk.look(0), ALL);
    let now = fs::read(desk.on_disk(HISTORY)).unwrap();
    let added = String::from_utf8(now.strip_prefix(bytes.as_slice()).unwrap().to_vec()).unwrap();
    assert!(added.contains("`a`: `1` → `3` · by edit") && added.lines().count() == 1, "{added}");
}

#[test]
fn a_line_ahead_of_the_clock_is_reported_and_passed_over() {
    let desk = Desk::new();
    desk.write(HISTORY, "# History\n\n- 2199-01-01T00:00:00Z `a`: — → `0` ^x\n");
    desk.write(FACTS_FILE, FACTS);
    let before = now(0);
    desk.look(0);
    let book = desk.fact_store.book(&MemoryScope::User).unwrap();
    let problems: Vec<_> = book.problems().collect();
    assert_eq!((problems.len(), problems[0].0.as_str(), problems[0].1), (1, HISTORY, Some(3)), "{problems:?}");
    assert!(desk.history().contains(" `a`: — → `1` · by edit ^"), "{}", desk.history());
    let windows = crate::text::derive::facts::windows(book.history.of("", "a"));
    let found = windows.iter().find(|window| window.holds(now(0))).unwrap();
    assert!(found.text == "1" && found.from.unwrap() >= before, "{windows:?}");
    let noted = desk.history();
    assert_eq!((desk.look(0), desk.history()), (ALL, noted));
}
