//! The files of a memory's entries.

use super::LayersError;
use crate::derive::entries::{EntryShelf, MemoryHolder, shelf_name};
use crate::path::VaultPath;

/// The file of a memory's entries.
///
/// # Errors
/// When an agent's folder is none.
pub(crate) fn entries_path(holder: &MemoryHolder, shelf: EntryShelf) -> Result<VaultPath, LayersError> {
    let name = shelf_name(holder, shelf);
    let (path, slug) = match holder {
        MemoryHolder::Person => (name.to_owned(), "the person"),
        MemoryHolder::Agent(slug) if slug.contains('/') => return Err(LayersError::Holder(slug.clone())),
        MemoryHolder::Agent(slug) => (format!("agents/{slug}/{name}"), slug.as_str()),
    };
    VaultPath::new(path).map_err(|_| LayersError::Holder(slug.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::derive::entries::shelf_of;

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
