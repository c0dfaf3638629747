//! The files of a memory's entries.

use super::LayersError;
use crate::derive::entries::{EntryShelf, MemoryHolder};
use crate::path::VaultPath;

const PERSONS: [(EntryShelf, &str); 3] = [
    (EntryShelf::Known, "memories/user.md"),
    (EntryShelf::Pending, "memories/pending.md"),
    (EntryShelf::Archive, "memories/archive.md"),
];
const AGENTS: [(EntryShelf, &str); 3] =
    [(EntryShelf::Known, "entries.md"), (EntryShelf::Pending, "pending.md"), (EntryShelf::Archive, "archive.md")];

/// The file of a memory's entries.
///
/// # Errors
/// When an agent's folder is none.
pub(crate) fn entries_path(holder: &MemoryHolder, shelf: EntryShelf) -> Result<VaultPath, LayersError> {
    let name = |names: [(EntryShelf, &'static str); 3]| {
        names.into_iter().find(|(of, _)| *of == shelf).map(|(_, name)| name).unwrap_or_default()
    };
    let (path, slug) = match holder {
        MemoryHolder::Person => (name(PERSONS).to_owned(), "the person"),
        MemoryHolder::Agent(slug) if slug.contains('/') => return Err(LayersError::Holder(slug.clone())),
        MemoryHolder::Agent(slug) => (format!("agents/{slug}/{}", name(AGENTS)), slug.as_str()),
    };
    VaultPath::new(path).map_err(|_| LayersError::Holder(slug.to_owned()))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_memory_has_three_files() {
        for holder in [MemoryHolder::Person, MemoryHolder::Agent("ada".into())] {
            for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
                let path = entries_path(&holder, shelf).unwrap();
                assert_eq!(shelf_of(&path), Some((holder.clone(), shelf)), "{path}");
            }
        }
        assert!(entries_path(&MemoryHolder::Agent("../x".into()), EntryShelf::Known).is_err());
        assert_eq!(shelf_of(&VaultPath::new("agents/ada/memory/entries.md").unwrap()), None);
    }
}
