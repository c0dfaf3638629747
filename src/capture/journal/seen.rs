//! Which events were there already: the keys of the last ones, in memory and on disk.

use std::collections::{HashSet, VecDeque};
use std::io::Write;
use std::path::PathBuf;

use crate::fs::{Context, FsError, write_atomically};

/// So many are remembered.
const MAX: usize = 100_000;

/// The keys of the last events that had an id.
#[derive(Debug)]
pub(super) struct Seen {
    path: PathBuf,
    known: HashSet<u64>,
    order: VecDeque<u64>,
    on_disk: usize,
}

impl Seen {
    /// Those on disk, none of a file that cannot be read.
    pub(super) fn load(path: PathBuf) -> Self {
        let bytes = std::fs::read(&path).unwrap_or_default();
        let mut seen = Self { path, known: HashSet::new(), order: VecDeque::new(), on_disk: bytes.len() / 8 };
        for key in bytes.as_chunks::<8>().0 {
            seen.add(u64::from_le_bytes(*key));
        }
        seen
    }

    pub(super) fn has(&self, key: u64) -> bool {
        self.known.contains(&key)
    }

    pub(super) fn add(&mut self, key: u64) {
        if self.known.insert(key) {
            self.order.push_back(key);
        }
        if self.order.len() > MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
    }

    /// Makes keys safe on disk, before what else tells of them is removed.
    pub(super) fn keep(&mut self, keys: &[u64]) -> Result<(), FsError> {
        if keys.is_empty() {
            return Ok(());
        }
        if self.on_disk + keys.len() > 2 * MAX || !self.on_disk.is_multiple_of(8) {
            let all: Vec<u8> = self.order.iter().flat_map(|key| key.to_le_bytes()).collect();
            write_atomically(&self.path, &all, 0o600)?;
            self.on_disk = self.order.len();
            return Ok(());
        }
        let bytes: Vec<u8> = keys.iter().flat_map(|key| key.to_le_bytes()).collect();
        let append = || -> std::io::Result<()> {
            let mut options = std::fs::File::options();
            options.append(true).create(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            let mut file = options.open(&self.path)?;
            // A write that was cut short before left a part of a key.
            let whole = file.metadata()?.len() / 8 * 8;
            file.set_len(whole)?;
            file.write_all(&bytes)?;
            file.sync_all()
        };
        append().on("write", &self.path)?;
        self.on_disk += keys.len();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_keys_are_remembered_across_a_start() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seen");
        let mut seen = Seen::load(path.clone());
        let keys: Vec<u64> = (0..250_000).collect();
        for keys in keys.chunks(30_000) {
            keys.iter().for_each(|key| seen.add(*key));
            seen.keep(keys).unwrap();
        }
        std::fs::File::options().append(true).open(&path).unwrap().write_all(&[1, 2, 3]).unwrap();
        let mut again = Seen::load(path.clone());
        assert!(again.has(249_999) && again.has(150_000) && !again.has(149_999));
        again.keep(&[7]).unwrap();
        assert!(Seen::load(path).has(7));
    }
}
