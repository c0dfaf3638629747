//! How one vault is, in all its parts.

use std::time::Duration;

use jiff::Timestamp;

use super::App;
use crate::access::request::{Owner, RequestError, rfc3339};
use crate::base::fs::folder_bytes;
use crate::base::tasks::Task;
use crate::index::engine::Reader;
use crate::index::sync::{ModelStatus, WatchState};
use crate::memory::items::FactsSeen;
use crate::models::{ChatModel, ChatUsage, ModelTrouble};
use crate::serve::jobs::{phase, to_embed};
use crate::serve::wire::{ChatState, FactProblem, FactsState, Model, Skipped, Status, Watching};
use crate::text::note::CONFLICT_MARKS;
use crate::{memory::capture::Capture, memory::entries, vault::disk as vault, vault::notes};

/// Time limit of the scan of the notes for what was forgotten and is back; the next status continues it.
const SCAN_LIMIT: Duration = Duration::from_millis(50);

impl App {
    /// How the vault and its index are.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn status(&self, owner: &Owner) -> Result<Status, RequestError> {
        let workspace = owner.workspace();
        let progress = workspace.shared.progress_as_met();
        let snapshot = workspace.shared.snapshot();
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
        // Whatever is wrong with the counts, too.
        let given = workspace.usage.totals().unwrap_or_default();
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            vault: workspace.home.root().display().to_string(),
            address: self.address.get().map(ToString::to_string),
            phase: phase(progress.phase).into(),
            caught_up: progress.caught_up,
            files: snapshot.map_or(0, |snapshot| snapshot.files().len()),
            chunks: snapshot.map_or(0, |snapshot| snapshot.statistics(None).chunks as usize),
            embedded,
            embeddable,
            withheld: snapshot.map_or(0, |snapshot| withheld(&progress.model, snapshot)),
            given_chunks: given.chunks,
            given_times: given.times,
            pending_files: progress.pending_files,
            pending_embeddings: to_embed(&progress, snapshot),
            files_done: progress.files_done,
            embeddings_done: progress.embeddings_done,
            model: Model {
                batch: progress.batch,
                ..Model::with_others(progress.model, progress.next, progress.kept_vectors)
            },
            chat: workspace.chat.model().map(chat),
            processing: self.extraction.processing_state(owner).ok(),
            watching: watching(progress.watch, workspace.config.index.reconcile_seconds),
            index_bytes: folder_bytes(&workspace.index_dir),
            index_dir: workspace.index_dir.display().to_string(),
            text_bytes: snapshot.map_or(0, |snapshot| snapshot.files().iter().map(|file| file.stamp.size).sum()),
            conflict_copies: notes::conflict_copies(workspace, &problems, true),
            problems: problems
                .into_iter()
                .filter(|(_, reason)| !reason.ends_with(CONFLICT_MARKS))
                .map(|(path, reason)| Skipped { path, reason })
                .chain(entries::problems(owner))
                .collect(),
            forgotten_back: notes::forgotten_back(owner, SCAN_LIMIT).map(|(back, _)| back).unwrap_or_default(),
            config_failure: workspace.switches.failure(),
            config_waits: workspace.switches.wait_for_a_restart(),
            failure: progress.failure.or_else(|| workspace.state.trouble()),
            rebuilt: progress.rebuilt,
            verified: progress.verified,
            capture: self.capture.as_deref().map(Capture::state),
            facts: self.fact_store.as_ref().map(|task| facts(task.state())),
            summaries: self.summaries.as_ref().map(Task::state),
            sessions: self.sessions.as_ref().map(Task::state),
            backup: self.backup.as_ref().map(Task::state),
        })
    }
}

fn facts(kept: FactsSeen) -> FactsState {
    let FactsSeen { current, expired, future, problems } = kept;
    let problems = problems
        .into_iter()
        .map(|(path, line, message)| FactProblem { path, line, message, is_unread: false })
        .collect();
    FactsState { current, expired, future, problems }
}

/// How many chunks the model is not given.
fn withheld(model: &ModelStatus, snapshot: &dyn Reader) -> usize {
    if !matches!(model, ModelStatus::Ready { takes_private: false, .. }) {
        return 0;
    }
    let private = snapshot.files().facets().private().iter().filter_map(|file| snapshot.files().get(file));
    private.flat_map(|file| &file.chunks).filter(|chunk| chunk.content.is_some()).count()
}

fn chat(model: Result<&dyn ChatModel, &str>) -> ChatState {
    let none = ChatState { name: None, trouble: None, answers: 0, prompt_tokens: 0, answer_tokens: 0 };
    match model {
        Err(reason) => ChatState { trouble: Some(reason.to_owned()), ..none },
        Ok(model) => {
            let trouble = model.trouble().map(|trouble| match trouble {
                ModelTrouble::Passing(reason) | ModelTrouble::Refused(reason) => reason,
            });
            let ChatUsage { answers, prompt_tokens, answer_tokens } = model.usage();
            ChatState { name: Some(model.name().to_owned()), trouble, answers, prompt_tokens, answer_tokens }
        }
    }
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
