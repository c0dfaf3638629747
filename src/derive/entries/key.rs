//! Under what it is counted how often an entry was given.

use super::entry::EntryShelf;
use super::shelf::shelf_of;
use crate::path::VaultPath;

/// The number under which an entry is counted that was given by itself, by its name (`memories/user.md#^e-1`). It says nothing of the entry,
/// and no chunk has the same.
pub(crate) fn entry_key(path: &VaultPath, id: &str) -> u64 {
    let mut hasher = blake3::Hasher::new_derive_key("memory-vault: the key of an entry");
    hasher.update(path.as_str().as_bytes()).update(b"#^").update(id.as_bytes());
    let [a, b, c, d, e, f, g, h, ..] = *hasher.finalize().as_bytes();
    u64::from_be_bytes([a, b, c, d, e, f, g, h])
}

/// That of the entry that a place names, `memories/user.md#^e-1`; `None` where it names none of those that are known.
pub(crate) fn entry_key_of(place: &str) -> Option<u64> {
    let (path, id) = place.split_once("#^")?;
    let path = VaultPath::new(path).ok()?;
    let (_, shelf) = shelf_of(&path)?;
    (shelf == EntryShelf::Known).then(|| entry_key(&path, id))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_counted_by_its_file_and_its_name() {
        let user = VaultPath::new("memories/user.md").unwrap();
        assert_eq!(entry_key_of("memories/user.md#^e-1"), Some(entry_key(&user, "e-1")));
        assert_ne!(entry_key_of("agents/ada/entries.md#^e-1"), entry_key_of("memories/user.md#^e-1"));
        for none in ["memories/user.md#L1", "memories/pending.md#^e-1", "notes/a.md#^e-1", "", "../a#^e-1"] {
            assert_eq!(entry_key_of(none), None, "{none}");
        }
    }
}
