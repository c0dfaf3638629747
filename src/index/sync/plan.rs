//! The difference between the disk and the catalog. Pure.

use std::collections::HashSet;
use std::sync::Arc;

use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::vault::disk::Scan;

/// What is to be done for the index to agree with the disk.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Plan {
    /// Files that are new or may have changed, newest first.
    pub read: Vec<VaultPath>,
    /// Files that are gone.
    pub remove: Vec<VaultPath>,
}

/// A file changed this short before it was read may change again without its time changing: git calls it racily clean.
const RACY_NS: i64 = 2_000_000_000;

/// Compares what a scan found with what the catalog knows of the same places. With `distrust`, every file is read.
pub(crate) fn plan<'a>(known: impl Iterator<Item = &'a Arc<FileEntry>>, scan: &Scan, distrust: bool) -> Plan {
    let mut known: std::collections::HashMap<&VaultPath, &FileEntry> =
        known.map(|file| (&file.path, file.as_ref())).collect();
    let mut read: Vec<(i64, &VaultPath)> = Vec::new();
    for found in &scan.files {
        let same = known.remove(&found.path).is_some_and(|file| {
            file.is_whole()
                && file.stamp == found.stamp
                && file.read_ns.saturating_sub(file.stamp.mtime_ns.max(file.stamp.ctime_ns)) > RACY_NS
        });
        if distrust || !same {
            read.push((found.stamp.mtime_ns, &found.path));
        }
    }
    read.sort_by(|one, two| two.0.cmp(&one.0).then_with(|| one.1.cmp(two.1)));
    // What lies in a folder that cannot be listed is unknown, not gone; what cannot be indexed any more is gone from here.
    let below = |path: &VaultPath, folder: &VaultPath| {
        path.as_str().strip_prefix(folder.as_str()).is_some_and(|rest| rest.starts_with('/'))
    };
    let unknown = |path: &VaultPath| scan.root_unreadable || scan.unreadable.iter().any(|folder| below(path, folder));
    let mut remove: Vec<VaultPath> = known.into_keys().filter(|path| !unknown(path)).cloned().collect();
    let reading: HashSet<&VaultPath> = read.iter().map(|(_, path)| *path).collect();
    remove.retain(|path| !reading.contains(path));
    remove.sort();
    Plan { read: read.into_iter().map(|(_, path)| path.clone()).collect(), remove }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::{FileInfo, FileUpdate};
    use crate::vault::disk::{FoundNote, Stamp};

    const HOUR: i64 = 3_600_000_000_000;

    fn stamp(mtime_ns: i64) -> Stamp {
        Stamp { mtime_ns, ctime_ns: mtime_ns, size: 1, inode: 1 }
    }

    fn known(path: &str, mtime_ns: i64, read_ns: i64) -> Arc<FileEntry> {
        let note = FileUpdate::of_text(path, "", StemmerLanguage::English);
        let info = FileInfo { stamp: stamp(mtime_ns), hash: [1; 32], read_ns, ..note.info };
        Arc::new(FileEntry { id: 1, info, chunks: Vec::new() })
    }

    fn found(path: &str, mtime_ns: i64) -> FoundNote {
        FoundNote { path: VaultPath::new(path).unwrap(), stamp: stamp(mtime_ns) }
    }

    fn paths(paths: &[&str]) -> Vec<VaultPath> {
        paths.iter().map(|path| VaultPath::new(*path).unwrap()).collect()
    }

    #[test]
    fn reads_what_may_have_changed_and_removes_what_is_gone() {
        let index = [
            known("same.md", 0, HOUR),
            known("edited.md", 0, HOUR),
            known("racy.md", HOUR, HOUR + 1),
            known("gone.md", 0, HOUR),
        ];
        let files = ["same.md", "edited.md", "racy.md", "new.md"].iter().zip([0, 5, HOUR, 9]);
        let scan = Scan { files: files.map(|(path, mtime)| found(path, mtime)).collect(), ..Scan::default() };
        let made = plan(index.iter(), &scan, false);
        assert_eq!(made.read, paths(&["racy.md", "new.md", "edited.md"]), "newest first");
        assert_eq!(made.remove, paths(&["gone.md"]));
        assert_eq!(plan(index.iter(), &scan, true).read.len(), 4);
    }

    #[test]
    fn what_lies_in_an_unreadable_folder_is_kept() {
        let index = [known("locked/a.md", 0, HOUR), known("lockedness.md", 0, HOUR)];
        let scan = Scan { unreadable: paths(&["locked"]), ..Scan::default() };
        assert_eq!(plan(index.iter(), &scan, false).remove, paths(&["lockedness.md"]));
    }
}
