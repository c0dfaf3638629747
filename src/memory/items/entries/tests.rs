use super::*;
use crate::base::config::{MemoryKind, MemoryScope};
use crate::text::derive::ItemEditError;
use crate::text::derive::entries::{EntryEdit, EntryStatus, MemoryEntry};
use crate::vault::disk::{Action, Files, Outside};

fn vault() -> (tempfile::TempDir, Files, EntryStore) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().to_owned();
    let files = Files::new(root.clone(), &root.join(".vault/state"), Outside::new(&root, &[]).unwrap());
    (folder, files, EntryStore::new(root, 1 << 20))
}

fn entry(text: &str) -> MemoryEntry {
    MemoryEntry { sources: vec!["notes/a.md#L1".into()], ..MemoryEntry::new(MemoryKind::Fact, text) }
}

#[test]
fn what_is_added_is_read_and_undone() {
    let (folder, files, entry_store) = vault();
    let writer = EntryWriter { files: &files, act: Action::Edit.into(), is_program: false };
    let person = MemoryScope::User;
    assert!(entry_store.holders().is_empty() && entry_store.entries(&person).unwrap().entries.is_empty());
    let (_, written) =
        entry_store.change(&writer, &person, EntryFileKind::Known, &[EntryEdit::Add(entry("Likes tea"))]).unwrap();
    let book = entry_store.entries(&person).unwrap();
    assert_eq!(book.get(&written[0]).unwrap().text, "Likes tea");
    let text = std::fs::read_to_string(folder.path().join("memories/user.md")).unwrap();
    assert!(text.starts_with("---\nsources: [\"notes/a.md\"]\n---\n# Entries\n\n- [fact] Likes tea"), "{text}");
    std::fs::write(folder.path().join("memories/user.md"), format!("{text}- By hand\n")).unwrap();
    assert_eq!(entry_store.entries(&person).unwrap().entries.len(), 2);
    let agent = MemoryScope::Agent("ada".into());
    entry_store.change(&writer, &agent, EntryFileKind::Pending, &[EntryEdit::Add(entry("x"))]).unwrap();
    assert_eq!(entry_store.pending(&agent).unwrap().entries[0].status, EntryStatus::Pending);
    let text = std::fs::read_to_string(folder.path().join("agents/ada/pending.md")).unwrap();
    assert!(text.starts_with("---\nprivate: true\n---\n\n# Proposals\n\n- [fact] x"), "{text}");
    std::fs::write(folder.path().join("agents/ada/pending.md"), text.replace("private: true", "x: 1")).unwrap();
    entry_store.change(&writer, &agent, EntryFileKind::Pending, &[EntryEdit::Add(entry("y"))]).unwrap();
    let text = std::fs::read_to_string(folder.path().join("agents/ada/pending.md")).unwrap();
    assert!(text.starts_with("---\nx: 1\nprivate: true\n---\n"), "{text}");
    assert_eq!(entry_store.holders(), [person, agent]);
}

#[test]
fn a_program_drops_no_more_than_a_quarter() {
    let (_folder, files, entry_store) = vault();
    let writer = EntryWriter { files: &files, act: Action::Edit.into(), is_program: true };
    let person = MemoryScope::User;
    let adds: Vec<EntryEdit> = (0..8).map(|at| EntryEdit::Add(entry(&format!("Number {at}")))).collect();
    let ids = entry_store.change(&writer, &person, EntryFileKind::Known, &adds).unwrap().1;
    let remove = |ids: &[String]| ids.iter().cloned().map(EntryEdit::Remove).collect::<Vec<_>>();
    let refused = entry_store.change(&writer, &person, EntryFileKind::Known, &remove(&ids[..3]));
    assert!(matches!(refused, Err(ItemError::Loss { ref lost, of: 8, .. }) if lost[0] == "Number 0"), "{refused:?}");
    assert!(matches!(
        entry_store.rewrite(&writer, &person, EntryFileKind::Known, "- Number 1\n"),
        Err(ItemError::Loss { .. })
    ));
    // A name alone keeps nothing.
    let emptied: String = ids.iter().map(|id| format!("- [fact] x ^{id}\n")).collect();
    let refused = entry_store.rewrite(&writer, &person, EntryFileKind::Known, &emptied);
    assert!(matches!(refused, Err(ItemError::Loss { ref lost, .. }) if lost.len() == 8), "{refused:?}");
    assert_eq!(entry_store.entries(&person).unwrap().entries.len(), 8);
    entry_store.change(&writer, &person, EntryFileKind::Known, &remove(&ids[..2])).unwrap();
    let moved: Vec<EntryEdit> =
        entry_store.entries(&person).unwrap().entries.iter().cloned().map(EntryEdit::Move).collect();
    entry_store.change(&writer, &person, EntryFileKind::Known, &moved).unwrap();
    let by_person = EntryWriter { is_program: false, ..writer };
    entry_store.rewrite(&by_person, &person, EntryFileKind::Known, "").unwrap();
}

#[test]
fn two_writers_at_once_lose_nothing() {
    let (_folder, files, entry_store) = vault();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let (files, entry_store) = (&files, &entry_store);
            scope.spawn(move || {
                let writer = EntryWriter { files, act: Action::Edit.into(), is_program: false };
                for at in 0..5 {
                    let add = EntryEdit::Add(entry(&format!("Thread {thread} says {at}")));
                    entry_store.change(&writer, &MemoryScope::User, EntryFileKind::Known, &[add]).unwrap();
                }
            });
        }
    });
    assert_eq!(entry_store.entries(&MemoryScope::User).unwrap().entries.len(), 20);
}

#[test]
fn a_line_that_was_edited_by_hand_is_not_written_over() {
    let (folder, files, entry_store) = vault();
    let writer = EntryWriter { files: &files, act: Action::Edit.into(), is_program: false };
    let person = MemoryScope::User;
    let adds = ["Likes tea", "Likes jam"].map(|text| EntryEdit::Add(entry(text)));
    entry_store.change(&writer, &person, EntryFileKind::Known, &adds).unwrap();
    let book = entry_store.entries(&person).unwrap();
    let [was, other] = [0, 1].map(|at| book.entries[at].clone());
    let path = folder.path().join("memories/user.md");
    let text = std::fs::read_to_string(&path).unwrap().replace("Likes tea", "Likes green tea");
    std::fs::write(&path, &text).unwrap();
    let now = MemoryEntry { confidence: 0.5, ..was.clone() };
    let refused = entry_store.change(
        &writer,
        &person,
        EntryFileKind::Known,
        &[EntryEdit::Change { was: was.clone(), now: Box::new(now) }],
    );
    assert!(matches!(refused, Err(ItemError::Edit { source: ItemEditError::Changed, .. })), "{refused:?}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
    // What is put elsewhere goes as it was read, or stays.
    entry_store
        .change(&writer, &person, EntryFileKind::Known, &[EntryEdit::Move(was), EntryEdit::Move(other)])
        .unwrap();
    let left: Vec<String> =
        entry_store.entries(&person).unwrap().entries.iter().map(|entry| entry.text.clone()).collect();
    assert_eq!(left, ["Likes green tea"]);
}
