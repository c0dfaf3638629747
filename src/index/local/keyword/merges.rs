//! Merging segments in the background, so that an index that grew save by save stays quick to search.
//!
//! tantivy would do so by itself, but tells nobody: a writer that is closed in the middle of a merge leaves its threads at work
//! in a folder that is to be removed or opened again. So its own policy is switched off, and each merge is started here, right after
//! a commit, and waited for when the writer is dropped.

use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{LogMergePolicy, MergePolicy};
use tantivy::{FutureResult, IndexWriter};

use crate::base::fs::crash;

/// The merges of one writer. Dropping it waits for those that are under way, so that a folder can be removed or opened again.
pub(super) struct Merges {
    policy: LogMergePolicy,
    running: Vec<Merge>,
}

/// A merge under way.
struct Merge {
    segments: Vec<SegmentId>,
    /// Waits for tantivy's thread: its future can be polled or waited for, but not one after the other.
    waiting: JoinHandle<()>,
}

impl Merges {
    pub(super) fn new() -> Self {
        let mut policy = LogMergePolicy::default();
        // Holds 9 segments or fewer under one-note saves.
        policy.set_min_num_segments(4);
        policy.set_min_layer_size(1000);
        policy.set_del_docs_ratio_before_merge(0.3);
        Self { policy, running: Vec::new() }
    }

    /// Writes every segment anew of which something was removed, and waits for that: its words are in the files until then.
    ///
    /// # Errors
    /// When the list of the segments cannot be read, or one cannot be written.
    pub(super) fn rewrite(&mut self, writer: &mut IndexWriter) -> tantivy::Result<()> {
        for merge in self.running.drain(..) {
            // It has said why it panicked.
            let _ = merge.waiting.join();
        }
        for segment in writer.index().searchable_segment_metas()? {
            if segment.num_deleted_docs() > 0 {
                writer.merge(&[segment.id()]).wait()?;
            }
        }
        // What is mapped by searches of before is without a name then.
        writer.garbage_collect_files().wait().map(drop)
    }

    /// Starts the merges that are due among the segments of the last commit.
    ///
    /// # Errors
    /// When the list of the segments cannot be read, or the system gives no thread.
    pub(super) fn start_due(&mut self, writer: &mut IndexWriter) -> tantivy::Result<()> {
        self.running.retain(|merge| !merge.waiting.is_finished());
        let is_free = |segment: &SegmentMeta| !self.running.iter().any(|merge| merge.segments.contains(&segment.id()));
        let mut free = writer.index().searchable_segment_metas()?;
        free.retain(is_free);
        for candidate in self.policy.compute_merge_candidates(&free) {
            let (begun, merging) = channel::<FutureResult<_>>();
            let wait = move || {
                let Ok(merging) = merging.recv() else { return };
                // One that fails, on a full disk say, leaves its segments as they are; they are tried again after a later commit.
                if let Err(error) = merging.wait() {
                    tracing::debug!("segments of the keyword index were not merged: {error}");
                }
            };
            // No merge begins that nobody waits for.
            let waiting = thread::Builder::new().name("merging".into()).spawn(wait)?;
            let _ = begun.send(writer.merge(&candidate.0));
            self.running.push(Merge { segments: candidate.0, waiting });
            crash::point("words-merging");
        }
        Ok(())
    }
}

impl Merges {
    /// Waits so long for the merges that are under way, and for those that are not over by then no more.
    pub(super) fn give_up_after(&mut self, patience: Duration) {
        const LOOK_AGAIN: Duration = Duration::from_millis(2);
        let deadline = Instant::now() + patience;
        while !self.running.iter().all(|merge| merge.waiting.is_finished()) {
            if Instant::now() > deadline {
                return self.running.clear();
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Merges {
    fn drop(&mut self) {
        for merge in self.running.drain(..) {
            let _ = merge.waiting.join();
        }
    }
}
