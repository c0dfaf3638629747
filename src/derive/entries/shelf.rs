//! Which files have entries.

use super::entry::{EntryShelf, MemoryHolder};
use crate::path::VaultPath;

const PERSONS: [(EntryShelf, &str); 3] = [
    (EntryShelf::Known, "memories/user.md"),
    (EntryShelf::Pending, "memories/pending.md"),
    (EntryShelf::Archive, "memories/archive.md"),
];
const AGENTS: [(EntryShelf, &str); 3] =
    [(EntryShelf::Known, "entries.md"), (EntryShelf::Pending, "pending.md"), (EntryShelf::Archive, "archive.md")];

/// The name of a memory's file, within the vault for the person's, within its folder for an agent's.
pub(crate) fn shelf_name(holder: &MemoryHolder, shelf: EntryShelf) -> &'static str {
    let names = if *holder == MemoryHolder::Person { PERSONS } else { AGENTS };
    names.into_iter().find(|(of, _)| *of == shelf).map(|(_, name)| name).unwrap_or_default()
}

/// Whose entries a file has, and which.
pub(crate) fn shelf_of(path: &VaultPath) -> Option<(MemoryHolder, EntryShelf)> {
    if let Some((shelf, _)) = PERSONS.into_iter().find(|(_, name)| *name == path.as_str()) {
        return Some((MemoryHolder::Person, shelf));
    }
    let (slug, name) = path.as_str().strip_prefix("agents/")?.split_once('/')?;
    let (shelf, _) = AGENTS.into_iter().find(|(_, file)| *file == name)?;
    Some((MemoryHolder::Agent(slug.to_owned()), shelf))
}
