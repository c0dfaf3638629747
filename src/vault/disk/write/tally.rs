//! How much an agent may have kept of its changes, and write in a day.

use std::collections::{BTreeMap, HashMap};

use jiff::{SignedDuration, Timestamp};

use super::checkpoint::{Checkpoint, CheckpointId, Quota};
use super::error::WriteError;

/// A day, as quotas count it: back from now.
const DAY: SignedDuration = SignedDuration::from_hours(24);

/// What each agent has had of it.
#[derive(Debug, Default)]
pub(super) struct QuotaTally {
    kept: HashMap<String, BTreeMap<CheckpointId, u64>>,
    written: HashMap<String, BTreeMap<CheckpointId, (Timestamp, u64)>>,
}

impl QuotaTally {
    /// Notes a change that has a checkpoint of so many bytes.
    pub(super) fn add(&mut self, checkpoint: &Checkpoint, bytes: u64) {
        let Some(by) = &checkpoint.by else { return };
        self.kept.entry(by.clone()).or_default().insert(checkpoint.id.clone(), bytes);
        if checkpoint.written > 0 {
            let written = self.written.entry(by.clone()).or_default();
            written.insert(checkpoint.id.clone(), (checkpoint.at, checkpoint.written));
        }
    }

    /// Begins anew with what is kept. What was written today was written, whether or not it can be undone still.
    pub(super) fn forget_kept(&mut self) {
        self.kept.clear();
    }

    /// Notes that a checkpoint is gone, and that its change was never made if it was `taken_back`.
    pub(super) fn remove(&mut self, id: &CheckpointId, taken_back: bool) {
        for kept in self.kept.values_mut() {
            kept.remove(id);
        }
        if taken_back {
            for written in self.written.values_mut() {
                written.remove(id);
            }
        }
    }

    /// Says whether an agent may write so many bytes more.
    pub(super) fn admit(&mut self, by: &str, more: u64, quota: &Quota, now: Timestamp) -> Result<(), WriteError> {
        let Some(written) = self.written.get_mut(by) else {
            return over(more, quota).map_or(Ok(()), Err);
        };
        written.retain(|_, (at, _)| now.duration_since(*at) < DAY);
        let sum: u64 = written.values().map(|(_, bytes)| bytes).sum();
        over(sum + more, quota).filter(|_| more > 0).map_or(Ok(()), Err)
    }

    /// Which of an agent's checkpoints are too many: the oldest, so many that not every further change drops one.
    pub(super) fn excess(&self, by: &str, quota: &Quota) -> Vec<CheckpointId> {
        let Some(kept) = self.kept.get(by) else { return Vec::new() };
        let (mut count, mut bytes) = (kept.len(), kept.values().sum::<u64>());
        if count <= quota.checkpoints && bytes <= quota.checkpoint_bytes {
            return Vec::new();
        }
        let (most, most_bytes) = (quota.checkpoints / 4 * 3, quota.checkpoint_bytes / 4 * 3);
        // What undoes the last change stays in any case.
        let older = kept.iter().take(kept.len() - 1);
        let excess = older.take_while(|(_, size)| {
            let goes = count > most || bytes > most_bytes;
            count -= 1;
            bytes -= **size;
            goes
        });
        excess.map(|(id, _)| id.clone()).collect()
    }
}

fn over(sum: u64, quota: &Quota) -> Option<WriteError> {
    (sum > quota.written_bytes_per_day).then_some(WriteError::TooMuch(quota.written_bytes_per_day))
}
