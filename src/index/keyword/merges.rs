//! Merging segments in the background, so that an index that grew save by save stays quick to search.
//!
//! tantivy would do so by itself, but tells nobody: a writer that is closed in the middle of a merge leaves its threads at work
//! in a folder that is to be removed or opened again. So its own policy is switched off, and each merge is started here, right after
//! a commit, and waited for when the writer is closed.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Waker};

use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{LogMergePolicy, MergePolicy};
use tantivy::{FutureResult, IndexWriter};

use crate::fs::crash;

/// The merges of one writer. Dropping it waits for those that are under way.
pub(super) struct Merges {
    policy: LogMergePolicy,
    running: Vec<Merge>,
}

/// A merge under way.
struct Merge {
    segments: Vec<SegmentId>,
    ended: FutureResult<Option<SegmentMeta>>,
}

impl Merge {
    fn is_over(&mut self) -> bool {
        Pin::new(&mut self.ended).poll(&mut Context::from_waker(Waker::noop())).is_ready()
    }
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

    /// Starts the merges that are due among the segments of the last commit.
    ///
    /// # Errors
    /// When the list of the segments cannot be read.
    pub(super) fn start_due(&mut self, writer: &mut IndexWriter) -> tantivy::Result<()> {
        self.running.retain_mut(|merge| !merge.is_over());
        let is_free = |segment: &SegmentMeta| !self.running.iter().any(|merge| merge.segments.contains(&segment.id()));
        let mut free = writer.index().searchable_segment_metas()?;
        free.retain(is_free);
        for candidate in self.policy.compute_merge_candidates(&free) {
            // One that fails, on a full disk say, leaves its segments as they are; they are tried again after the next commit.
            self.running.push(Merge { ended: writer.merge(&candidate.0), segments: candidate.0 });
            crash::point("words-merging");
        }
        Ok(())
    }
}

impl Drop for Merges {
    fn drop(&mut self) {
        for merge in self.running.drain(..) {
            if let Err(error) = merge.ended.wait() {
                tracing::debug!("segments of the keyword index were not merged: {error}");
            }
        }
    }
}
