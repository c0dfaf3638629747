//! Waiting until the index says what the disk does, after a change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{RequestError, Workspace};
use crate::derive::ChunkId;
use crate::engine::Reader;
use crate::path::VaultPath;
use crate::sync::{Phase, SyncProgress};
use crate::vault::{Change, Signal};

/// What is written is found after milliseconds; a bulk import may hold it up.
const PATIENCE: Duration = Duration::from_secs(20);
/// Interval at which the disk is looked at again, as it is whenever the index has changed.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

impl Workspace {
    /// Waits until the index says of a file that was changed what the disk does: how the note is named and how many chunks it
    /// has, or that there is none. `None` when it does not in time, which does not undo the change.
    pub fn settled_in_time(&self, path: &VaultPath) -> Option<Option<(ChunkId, usize)>> {
        self.settled_within(path, PATIENCE).inspect_err(|error| tracing::warn!("{error}")).ok()
    }

    /// The same for those who wait no longer than `patience`.
    ///
    /// # Errors
    /// When the index does not follow in time.
    pub fn settled_within(
        &self,
        path: &VaultPath,
        patience: Duration,
    ) -> Result<Option<(ChunkId, usize)>, RequestError> {
        let behind = |why: String| {
            let message = format!("`{path}` is written, and the index does not follow{why}");
            RequestError::unavailable(message, "`vault status` says what the indexer is doing")
        };
        let deadline = Instant::now() + patience;
        let mut left_out = None;
        // It is whole, as if its writer had closed it.
        let noticed = self.notice(vec![Signal::Changed(path.clone(), Change::Closed)]);
        noticed.map_err(|error| behind(format!(": {error}")))?;
        loop {
            let now = self.files()?.read(path)?.map(|(_, hash)| hash);
            let snapshot = self.shared().snapshot();
            let known = snapshot.as_ref().and_then(|snapshot| snapshot.files().at(path.as_str()));
            match (now, known) {
                (Some(hash), Some(file)) if *hash.as_bytes() == file.hash => {
                    return Ok(Some((ChunkId::of_note(path, &file.hash), file.chunks.len())));
                }
                (None, None) => return Ok(None),
                // What is left out of the index is there all the same.
                (Some(hash), None) if *left_out.get_or_insert_with(|| self.leaves_out(path)) => {
                    return Ok(Some((ChunkId::of_note(path, hash.as_bytes()), 0)));
                }
                // A document that cannot be read is a problem, and in no index.
                (Some(hash), None)
                    if path.is_document() && snapshot.as_ref().is_some_and(|now| is_unread(now, path)) =>
                {
                    return Ok(Some((ChunkId::of_note(path, hash.as_bytes()), 0)));
                }
                _ if Instant::now() > deadline => return Err(behind(" yet".into())),
                _ => {
                    // On a full disk it fails until somebody has made room.
                    let SyncProgress { phase, failure, .. } = self.shared().progress();
                    if let Some(failure) = failure.filter(|_| phase == Phase::Failing) {
                        return Err(behind(format!(": {failure}")));
                    }
                    self.shared().wait_for_other(snapshot.as_ref(), CHECK_INTERVAL);
                }
            }
        }
    }
}

/// Whether the index knows of a file that it could not be read.
fn is_unread(now: &Arc<dyn Reader>, path: &VaultPath) -> bool {
    now.problems().is_ok_and(|problems| problems.iter().any(|(of, _)| path.same_as(of)))
}
