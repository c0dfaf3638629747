//! Which events an hour has, so that none is written twice.

use std::collections::{HashMap, HashSet};
use std::io::{BufRead, BufReader};
use std::path::Path;

use super::file::{TraceFile, open_whole};
use super::hour::TraceHour;
use super::line::TraceHead;
use crate::fs::{Context, FsError};

/// What an id is known by.
pub(super) type IdDigest = [u8; 16];

/// Maximum number of ids that are held; beyond it the hours that were looked at longest ago are read anew when they are asked for.
const MOST: usize = 4_000_000;

/// The ids of some hours.
#[derive(Debug, Default)]
pub(super) struct KnownIds {
    hours: HashMap<(String, TraceHour), HourIds>,
    looks: u64,
}

#[derive(Debug, Default)]
struct HourIds {
    ids: HashSet<IdDigest>,
    /// When it was looked at last.
    look: u64,
}

/// The digest of an id.
pub(super) fn digest(id: &str) -> IdDigest {
    let mut digest = [0; 16];
    digest.copy_from_slice(&blake3::hash(id.as_bytes()).as_bytes()[..16]);
    digest
}

impl KnownIds {
    /// The ids of an hour of an agent, as its files have them.
    pub(super) fn of(&mut self, root: &Path, agent: &str, hour: TraceHour) -> Result<&mut HashSet<IdDigest>, FsError> {
        self.looks += 1;
        let key = (agent.to_owned(), hour);
        if !self.hours.contains_key(&key) {
            let ids = read(root, agent, hour)?;
            self.make_room(ids.len());
            self.hours.insert(key.clone(), HourIds { ids, look: self.looks });
        }
        let known = self.hours.entry(key).or_default();
        known.look = self.looks;
        Ok(&mut known.ids)
    }

    /// Has an hour read anew when it is asked for.
    pub(super) fn drop_hour(&mut self, agent: &str, hour: TraceHour) {
        self.hours.remove(&(agent.to_owned(), hour));
    }

    fn make_room(&mut self, more: usize) {
        let held = |hours: &HashMap<_, HourIds>| hours.values().map(|hour| hour.ids.len()).sum::<usize>();
        while !self.hours.is_empty() && held(&self.hours) + more > MOST {
            let oldest = self.hours.iter().min_by_key(|(_, hour)| hour.look).map(|(key, _)| key.clone());
            oldest.and_then(|key| self.hours.remove(&key));
        }
    }
}

/// The ids of the whole lines of an hour's files. A damaged line has none: its event is taken again.
fn read(root: &Path, agent: &str, hour: TraceHour) -> Result<HashSet<IdDigest>, FsError> {
    let mut ids = HashSet::new();
    for late in [false, true] {
        let path = TraceFile { agent: agent.to_owned(), hour, late }.path(root);
        let file = match open_whole(&path, false) {
            Err(error) if error.is_not_found() => continue,
            file => file?,
        };
        // What a kill left unsynced is found here, and answered as kept.
        file.sync_data().on("sync", &path)?;
        let (mut reader, mut line) = (BufReader::new(file), Vec::new());
        while reader.read_until(b'\n', &mut line).on("read", &path)? > 0 {
            ids.extend(TraceHead::of(&line).map(|head| digest(&head.id)));
            line.clear();
        }
    }
    Ok(ids)
}
