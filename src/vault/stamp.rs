//! Whether a file may have changed, without reading it.

use std::fs::Metadata;
use std::time::UNIX_EPOCH;

/// What the file system says of a file, to tell whether it may have changed without reading it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Last change of the content, in nanoseconds since 1970.
    pub mtime_ns: i64,
    /// Last change of the inode, in nanoseconds since 1970; 0 where the system has none.
    pub ctime_ns: i64,
    /// Length in bytes.
    pub size: u64,
    /// The file's number; 0 where the system has none.
    pub inode: u64,
}

impl Stamp {
    /// The stamp of a file from its metadata.
    pub fn of(meta: &Metadata) -> Self {
        let mtime_ns = meta.modified().map_or(0, |time| match time.duration_since(UNIX_EPOCH) {
            Ok(since) => since.as_nanos() as i64,
            Err(before) => -(before.duration().as_nanos() as i64),
        });
        use std::os::unix::fs::MetadataExt;
        let ctime_ns = meta.ctime().wrapping_mul(1_000_000_000).wrapping_add(meta.ctime_nsec());
        Self { mtime_ns, ctime_ns, size: meta.len(), inode: meta.ino() }
    }
}
