//! Facts that are not there any more: taken away, or only for the moment, as while an editor, a sync service or git writes their file.

use std::path::Path;

use crate::path::VaultPath;
use crate::vault::{Stamp, git_is_busy};

/// Minimum time that a file has to be away, or without some of its facts, before they count as taken away, in milliseconds.
pub(super) const SETTLE_MS: i64 = 3_000;

/// Whether a file that is away, or lacks what it said, has been so for long enough at `now`, in milliseconds since 1970, and git is not at work.
///
/// By when the file was written, or something came or went where it was: who looks first sees that, too.
pub(super) fn is_settled(root: &Path, path: &VaultPath, now: i64) -> bool {
    let meta = path.on_disk(root).ancestors().find_map(|place| place.symlink_metadata().ok());
    let stamp = meta.map(|meta| Stamp::of(&meta)).unwrap_or_default();
    let is_long_ago = |at_ns: i64| now.abs_diff(at_ns / 1_000_000) >= SETTLE_MS.unsigned_abs();
    is_long_ago(stamp.mtime_ns) && is_long_ago(stamp.ctime_ns) && !git_is_busy(root)
}
