//! How one vault is, in all its parts.

use jiff::Timestamp;

use super::App;
use crate::backup::BackupState;
use crate::capture;
use crate::engine::Reader;
use crate::fs::folder_bytes;
use crate::jobs::{phase, to_embed, verification};
use crate::request::{Owner, RequestError, rfc3339};
use crate::sync::{ModelStatus, WatchState};
use crate::vault::{self, conflict_copy};
use crate::wire::{Backup, ConflictCopy, Model, Skipped, Status, Watching};

impl App {
    /// How the vault and its index are.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn status(&self, owner: &Owner) -> Result<Status, RequestError> {
        self.is_of_this(owner.workspace())?;
        let workspace = owner.workspace();
        let mut progress = workspace.shared().progress();
        progress.model = workspace.shared().model();
        let snapshot = workspace.shared().snapshot();
        let snapshot = snapshot.as_deref();
        let problems = match snapshot {
            // Whatever is wrong with the index, its status can be had.
            Some(snapshot) => match snapshot.problems() {
                Err(error) if error.is_damage() => {
                    workspace.damaged(error);
                    Vec::new()
                }
                problems => problems?,
            },
            None => Vec::new(),
        };
        let (embedded, embeddable) = snapshot.map_or((0, 0), |snapshot| snapshot.embedded(None));
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            vault: workspace.home().root().display().to_string(),
            address: self.address.get().map(ToString::to_string),
            phase: phase(progress.phase).into(),
            caught_up: progress.caught_up,
            files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
            chunks: snapshot.map_or(0, |snapshot| snapshot.statistics(None).chunks as usize),
            embedded,
            embeddable,
            withheld: snapshot.map_or(0, |snapshot| withheld(&progress.model, snapshot)),
            pending_files: progress.pending_files,
            pending_embeddings: to_embed(&progress, snapshot),
            files_done: progress.files_done,
            embeddings_done: progress.embeddings_done,
            model: Model::of(progress.model),
            watching: watching(progress.watch, workspace.config().index.reconcile_seconds),
            index_bytes: folder_bytes(workspace.index_dir()),
            index_dir: workspace.index_dir().display().to_string(),
            text_bytes: snapshot.map_or(0, |snapshot| snapshot.files().iter().map(|file| file.stamp.size).sum()),
            problems: problems.into_iter().map(|(path, reason)| Skipped { path, reason }).collect(),
            conflict_copies: snapshot.map(conflict_copies).unwrap_or_default(),
            failure: progress.failure.or_else(|| workspace.state().trouble()),
            rebuilt: progress.rebuilt,
            verified: progress.verified.map(verification),
            capture: self.capture.as_deref().map(capture::state),
            backup: self.backup.as_ref().map(|timer| backup(timer.state())),
        })
    }
}

/// How many passages the model is not given.
fn withheld(model: &ModelStatus, snapshot: &dyn Reader) -> usize {
    if !matches!(model, ModelStatus::Ready { takes_private: false, .. }) {
        return 0;
    }
    let private = snapshot.files().facets().private().iter().filter_map(|file| snapshot.files().get(file));
    private.flat_map(|file| &file.chunks).filter(|chunk| chunk.content.is_some()).count()
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

fn watching(state: WatchState, reconcile_seconds: u64) -> Watching {
    let (by, reason) = match state.by {
        None => ("not yet", None),
        Some(vault::WatchedBy::Events) => ("events", None),
        Some(vault::WatchedBy::Partly(reason)) => ("events and polling", Some(reason)),
        Some(vault::WatchedBy::Polling(reason)) => ("polling", Some(reason)),
    };
    let time = |time: Option<Timestamp>| time.map(|time| rfc3339(time.as_millisecond()));
    Watching {
        by: by.into(),
        reason,
        missing_since: time(state.missing_since),
        losses: state.losses,
        lost_at: time(state.lost_at),
        recovered_at: time(state.recovered_at),
        reconcile_seconds,
        compared_at: time(state.compared_at),
    }
}

fn backup(state: BackupState) -> Backup {
    let time = |time| Timestamp::try_from(time).ok().map(|time| rfc3339(time.as_millisecond()));
    Backup { last_at: state.last_at.and_then(time), last_commit: state.last_commit, failure: state.failure }
}
