//! What is wrong with the files of entries, for the person alone.

use crate::derive::entries::{EntryShelf, EntryStatus};
use crate::layers::EntryBook;
use crate::request::{Owner, Workspace};
use crate::wire::Skipped;

/// What of all files of entries cannot be read as it was meant, and which have more than count.
pub(crate) fn problems(owner: &Owner) -> Vec<Skipped> {
    let (workspace, mut found) = (owner.workspace(), Vec::new());
    for holder in workspace.layers().holders() {
        for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
            // One that cannot be read at all is told by the index.
            let Ok(book) = workspace.layers().book(&holder, shelf) else { continue };
            let path = book.path.as_ref().map(ToString::to_string).unwrap_or_default();
            let unclear = book.file.problems.iter().map(|problem| {
                let line = problem.line.map(|line| format!("line {line}: ")).unwrap_or_default();
                format!("{line}{}", problem.message)
            });
            let over = (shelf == EntryShelf::Known).then(|| over_the_cap(workspace, &book)).flatten();
            found.extend(unclear.chain(over).map(|reason| Skipped { path: path.clone(), reason }));
        }
    }
    found
}

/// That a memory has more entries than may count, before some of them are moved.
pub(super) fn over_the_cap(workspace: &Workspace, book: &EntryBook) -> Option<String> {
    let max = workspace.config().memory.max_entries;
    let active = book.entries().iter().filter(|entry| entry.status == EntryStatus::Active).count();
    let goes = active.checked_sub(max).filter(|over| *over > 0 && max > 0)?;
    Some(format!(
        "{active} entries count, {goes} more than `max_entries`; they go to the archive when the next one is added"
    ))
}
