//! How the vault and its index are, and setting the indexer to work.

use super::error::ServiceError;
use super::start::Service;
use super::time::rfc3339;
use super::views::{Backup, ConflictCopy, Model, Reindexing, Skipped, Status, Verification, Watching};
use crate::engine::Reader;
use crate::fs::folder_bytes;
use crate::sync::{ModelStatus, Phase, Progress, Syncer, Verified};
use crate::vault::{Signal, conflict_copy};

impl Service {
    /// How the vault and its index are. For the owner alone.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn status(&self) -> Result<Status, ServiceError> {
        let progress = self.shared.progress();
        let snapshot = self.shared.snapshot();
        let snapshot = snapshot.as_deref();
        let problems = match snapshot {
            // Whatever is wrong with the index, its status can be had.
            Some(snapshot) => match snapshot.problems() {
                Err(error) if error.is_damage() => {
                    self.damaged(error);
                    Vec::new()
                }
                problems => problems?,
            },
            None => Vec::new(),
        };
        let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            vault: self.home.root().display().to_string(),
            address: self.address.get().map(ToString::to_string),
            phase: phase(progress.phase).into(),
            caught_up: progress.caught_up,
            files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
            chunks: snapshot.map_or(0, |snapshot| snapshot.statistics(None).chunks as usize),
            embedded,
            embeddable,
            pending_files: progress.pending_files,
            pending_embeddings: to_embed(&progress, snapshot),
            files_done: progress.files_done,
            embeddings_done: progress.embeddings_done,
            model: Model::of(progress.model),
            watching: Watching::of(progress.watch, self.config.index.reconcile_seconds),
            index_bytes: folder_bytes(&self.index_dir),
            index_dir: self.index_dir.display().to_string(),
            text_bytes: snapshot.map_or(0, |snapshot| snapshot.files().iter().map(|file| file.stamp.size).sum()),
            problems: problems.into_iter().map(|(path, reason)| Skipped { path, reason }).collect(),
            conflict_copies: snapshot.map(conflict_copies).unwrap_or_default(),
            failure: progress.failure.or_else(|| self.state.trouble()),
            rebuilt: progress.rebuilt,
            verified: progress.verified.map(verification),
            capture: self.capture_state(),
            backup: self.backup.as_ref().map(|timer| Backup::of(timer.state())),
        })
    }

    /// Starts to compare every note with the index, or with `full` to build it from nothing.
    ///
    /// # Errors
    /// When another process writes the index, or it cannot be written.
    pub fn reindex(&self, full: bool) -> Result<Reindexing, ServiceError> {
        self.writer()?.reindex(full)?;
        Ok(Reindexing { ok: true })
    }

    /// Has places looked at, as if the watcher had named them.
    ///
    /// # Errors
    /// When another process writes the index, or it cannot be written.
    pub fn notice(&self, signals: Vec<Signal>) -> Result<(), ServiceError> {
        Ok(self.writer()?.notice(signals)?)
    }

    /// Compares everything in the index with its checksums. What is damaged is mended from then on.
    ///
    /// # Errors
    /// When another process writes the index, or it cannot be read.
    pub fn verify(&self) -> Result<Verification, ServiceError> {
        Ok(verification(self.writer()?.verify()?))
    }

    fn writer(&self) -> Result<&Syncer, ServiceError> {
        let elsewhere = || ServiceError::unavailable("another process is writing the index", "try again in a moment");
        self.syncer.as_ref().ok_or_else(elsewhere)
    }
}

/// How many passages wait to be embedded. The model is handed each text once, however many passages have it, so its own count
/// is another, and tells when nothing waits.
pub(super) fn to_embed(progress: &Progress, snapshot: Option<&dyn Reader>) -> usize {
    let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
    let without = embeddable.saturating_sub(embedded);
    match progress.model {
        ModelStatus::Loading => without,
        ModelStatus::Ready { .. } if progress.pending_embeddings > 0 => without.max(progress.pending_embeddings),
        ModelStatus::Ready { .. } | ModelStatus::Off | ModelStatus::Failed(_) => 0,
    }
}

fn conflict_copies(snapshot: &dyn Reader) -> Vec<ConflictCopy> {
    let is_there = |path: &str| snapshot.files().at(path).is_some();
    let copies = snapshot.files().iter().filter_map(|file| {
        let (of, made_by) = conflict_copy(&file.path, is_there)?;
        Some(ConflictCopy { path: file.path.to_string(), of, made_by: made_by.into() })
    });
    let mut copies: Vec<_> = copies.collect();
    copies.sort_by(|one, two| one.path.cmp(&two.path));
    copies
}

fn verification(verified: Verified) -> Verification {
    let Verified { at_ms, took_ms, counts: [files, chunks, embeddings], damage } = verified;
    Verification { at: rfc3339(at_ms), took_ms, files, chunks, embeddings, damage }
}

pub(super) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Indexing => "indexing",
        Phase::Embedding => "embedding",
        Phase::Idle => "idle",
        Phase::Failing => "failing",
        Phase::Stopped => "stopped",
    }
}
