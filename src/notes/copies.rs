//! Copies of a note that sync services have left beside it. One that says the same is not shown while the note is there, and would come up
//! when that is gone.

use super::derived::derived;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::vault::conflict_copy;
use crate::wire::DerivedNote;

/// The copies of a note: those that have its very bytes, and the others.
///
/// # Errors
/// When the index is not open yet.
pub(super) fn copies_of(
    owner: &Owner,
    path: &VaultPath,
    hash: &[u8; 32],
) -> Result<(Vec<DerivedNote>, Vec<VaultPath>), RequestError> {
    let scope = owner.now()?;
    let files = scope.reader().files();
    let is_copy = |copy: &VaultPath| {
        let of = conflict_copy(copy, |path| files.at(path).is_some());
        of.is_some_and(|(of, _)| path.same_as(&of))
    };
    let copies = files.iter().filter(|file| is_copy(&file.path));
    let (same, other): (Vec<_>, Vec<_>) = copies.partition(|file| file.hash == *hash);
    let same = same.into_iter().map(|file| derived(file.path.to_string())).collect();
    Ok((same, other.into_iter().map(|file| file.path.clone()).collect()))
}
