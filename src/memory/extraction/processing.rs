//! What the model of the memory does and costs, and what the person has it do; clearing the derived layers: entries, proposals, archives, the
//! profile, summaries, never notes or conversations.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::lane::{EXTRACTION, Extraction, key_of};
use crate::access::request::{Owner, RequestError, rfc3339};
use crate::base::fs::folder_bytes;
use crate::base::path::VaultPath;
use crate::base::state::{Digest, Job};
use crate::memory::generated_files::{generated_pages, is_generated_place};
use crate::memory::items::entries_path;
use crate::serve::wire::{
    ClearParams, Cleared, ClearedFile, DeadLetter, ProcessingDay, ProcessingOutcome, ProcessingState, ProcessingView,
    Retried, RetryParams, StoreSizes,
};
use crate::text::derive::CONVERSATIONS;
use crate::text::derive::entries::{EntryFileKind, shelf_of};
use crate::text::derive::generated::GeneratedNote;
use crate::vault::disk::{Action, Checkpoint, Files};

/// Calls that are listed, and those of which durations are told.
const LISTED: usize = 50;
const TIMED: usize = 1_000;
/// Maximum time that it is waited until what was saved can be found.
const SAVED_WITHIN: Duration = Duration::from_secs(5);
/// Dead letters that are listed.
const MOST_DEAD: usize = 200;

impl Extraction {
    /// How the model of the memory is.
    ///
    /// # Errors
    /// When the state cannot be read; so all that follow.
    pub(crate) fn processing_state(&self, _: &Owner) -> Result<ProcessingState, RequestError> {
        Ok(self.state_of(&self.jobs.all(EXTRACTION)?)?)
    }

    fn state_of(&self, jobs: &[Job]) -> Result<ProcessingState, crate::base::state::StateError> {
        let totals = self.calls.totals(self.now())?;
        let lane = self.state_mut().clone();
        let dead = jobs.iter().filter(|job| job.is_dead).count();
        let queued = jobs.len() - dead;
        let (model, refused) = match lane.model {
            None => (None, None),
            Some(Ok(model)) => (Some(model.name().to_owned()), None),
            Some(Err(reason)) => (Some(self.workspace.config.memory.model.clone()), Some(reason)),
        };
        let stopped = lane.stopped.or(refused);
        let (state, reason) = match (&model, stopped, lane.waits) {
            (None, ..) => ("off", None),
            (_, Some(reason), _) => ("stopped", Some(reason)),
            _ if lane.works || lane.hurries => ("working", None),
            (.., waits) if queued > 0 => ("waiting", waits),
            _ => ("idle", None),
        };
        Ok(ProcessingState {
            model,
            state: state.into(),
            reason,
            queued,
            dead,
            withheld: lane.withheld,
            calls: totals.outcomes.iter().map(|(_, numbers)| numbers[0]).sum(),
            bytes_sent: totals.outcomes.iter().map(|(_, numbers)| numbers[3]).sum(),
            since: totals.first.map(rfc3339),
        })
    }

    /// What it does and costs.
    pub(crate) fn processing(&self, owner: &Owner) -> Result<ProcessingView, RequestError> {
        let jobs = self.jobs.all(EXTRACTION)?;
        let totals = self.calls.totals(self.now())?;
        let newest = self.calls.newest(TIMED)?;
        let mut times: Vec<u64> = newest.iter().filter(|call| call.outcome == "answered").map(|call| call.ms).collect();
        times.sort_unstable();
        // The nearest rank.
        let part = |share: f64| {
            let rank = (times.len() as f64 * share).ceil() as usize;
            times.get(rank.saturating_sub(1)).copied()
        };
        let sum = |at: usize| totals.outcomes.iter().map(|(_, numbers)| numbers[at]).sum::<u64>();
        let ended = |outcome: &str| outcome != "under way" && outcome != "stopped";
        let calls: u64 =
            totals.outcomes.iter().filter(|(outcome, _)| ended(outcome)).map(|(_, numbers)| numbers[0]).sum();
        let answered: u64 =
            totals.outcomes.iter().filter(|(outcome, _)| outcome == "answered").map(|(_, numbers)| numbers[0]).sum();
        let memory = &self.workspace.config.memory;
        let dead = jobs.iter().filter(|job| job.is_dead).take(MOST_DEAD);
        let paths = self.paths();
        Ok(ProcessingView {
            now: self.state_of(&jobs)?,
            day: ProcessingDay {
                calls: totals.day[0],
                calls_limit: memory.calls_per_day,
                tokens: totals.day[1],
                tokens_limit: memory.tokens_per_day,
            },
            prompt_tokens: sum(1),
            answer_tokens: sum(2),
            success: (calls > 0).then(|| answered as f64 / calls as f64),
            p50_ms: part(0.5),
            p95_ms: part(0.95),
            dead_letters: dead.map(|job| dead_letter(job, paths.get(&job.key))).collect(),
            recent: newest.into_iter().take(LISTED).collect(),
            outcomes: totals
                .outcomes
                .into_iter()
                .map(|(outcome, numbers)| ProcessingOutcome { outcome, calls: numbers[0] })
                .collect(),
            stores: self.stores(owner),
        })
    }

    /// Where the conversations are.
    fn paths(&self) -> HashMap<Digest, VaultPath> {
        let snapshot = self.workspace.shared.snapshot();
        let files = snapshot.iter().flat_map(|snapshot| snapshot.files().iter());
        let read = files.filter(|file| file.path.collection() == CONVERSATIONS);
        read.map(|file| (key_of(&file.path), file.path.clone())).collect()
    }

    fn stores(&self, _: &Owner) -> StoreSizes {
        let snapshot = self.workspace.shared.snapshot();
        let sizes = |of: &dyn Fn(&VaultPath) -> bool| {
            let files = snapshot.iter().flat_map(|snapshot| snapshot.files().iter());
            files.filter(|file| of(&file.path)).map(|file| file.stamp.size).sum()
        };
        let is_layer = |path: &VaultPath| is_generated_place(path) || shelf_of(path).is_some();
        StoreSizes {
            notes: sizes(&|_| true),
            layers: sizes(&is_layer),
            index: folder_bytes(&self.workspace.index_dir),
            state: folder_bytes(&self.workspace.home.state_dir()),
        }
    }

    /// Has what was put aside tried again, by a model that is opened anew.
    pub(crate) fn retry(&self, _: &Owner, params: &RetryParams) -> Result<Retried, RequestError> {
        let key = params.id.as_deref().map(key_of_text).transpose()?;
        self.open_again();
        let queued = self.jobs.retry(EXTRACTION, key, self.now())?;
        self.hurry();
        Ok(Retried { queued })
    }

    /// Has all conversations read that wait, and those that were saved just before, at once. With `here` it is done before this returns: no thread does it.
    pub(crate) fn sync(&self, owner: &Owner, here: bool) -> Result<ProcessingView, RequestError> {
        if !here {
            // What was saved just before waits as well.
            self.workspace.shared.fresh().wait(SAVED_WITHIN);
        }
        self.open_again();
        self.hurry();
        let is_there = self.workspace.shared.snapshot().is_some();
        if here && is_there {
            self.begin();
            loop {
                match self.step() {
                    None => {}
                    Some(time) => {
                        let waits = self.processing_state(owner)?;
                        // What failed is tried again in a moment; whatever else is in the way is for later.
                        if waits.queued == 0 || waits.state == "stopped" || time >= Duration::from_secs(10) {
                            break;
                        }
                        self.workspace.shared.wait_for_other(self.workspace.shared.snapshot().as_ref(), time);
                        self.go_on();
                    }
                }
            }
        }
        self.processing(owner)
    }
}

fn dead_letter(job: &Job, path: Option<&VaultPath>) -> DeadLetter {
    DeadLetter {
        id: format!("{:032x}", u128::from_be_bytes(job.key)),
        path: path.map(ToString::to_string),
        reason: job.reason.clone().unwrap_or_default(),
        attempts: job.attempts,
    }
}

fn key_of_text(text: &str) -> Result<Digest, RequestError> {
    let bad =
        || RequestError::invalid(format!("`id` is `{text}`; it takes the 32 hexadecimal digits of a dead letter"));
    let is_key = text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let key = u128::from_str_radix(text, 16).ok().filter(|_| is_key);
    key.map(u128::to_be_bytes).ok_or_else(bad)
}

/// Moves the files of the derived layers to `.trash/`, each with a checkpoint; with `purge` nothing of them is left, nor of those that were
/// cleared before. Generated files that a person has edited stay.
///
/// # Errors
/// When the vault cannot be written.
pub(crate) fn clear(owner: &Owner, params: &ClearParams) -> Result<Cleared, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let _one = files.one_generation();
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for path in of_layers(owner) {
        let Some((bytes, hash)) = files.read(&path)? else { continue };
        if is_generated_place(&path) {
            let text = String::from_utf8_lossy(&bytes);
            match GeneratedNote::read(&text) {
                Some(note) if !note.is_edited => {}
                Some(_) => {
                    kept.push(path.to_string());
                    continue;
                }
                // The person's own.
                None => continue,
            }
        }
        let checkpoint = files.trash(&path, hash, Action::Trash)?;
        if params.purge {
            files.purge(&path)?;
        }
        gone.push((path, checkpoint));
    }
    for (path, _) in &gone {
        workspace.settled_in_time(path);
    }
    let before = if params.purge { purge_cleared(files)? } else { Vec::new() };
    let before = before.into_iter().map(|path| ClearedFile { path: path.to_string(), checkpoint_id: None });
    let file = |(path, checkpoint): (VaultPath, crate::vault::disk::CheckpointId)| ClearedFile {
        path: path.to_string(),
        checkpoint_id: (!params.purge).then(|| checkpoint.to_string()),
    };
    Ok(Cleared { files: gone.into_iter().map(file).chain(before).collect(), kept })
}

/// Purges files of the layers that are not there any more, as an earlier clearing has moved them to the trash; gives their paths.
fn purge_cleared(files: &Files) -> Result<Vec<VaultPath>, RequestError> {
    let checkpoints = files.checkpoints()?;
    purge_former_pages(files, &checkpoints)?;
    let trashed = checkpoints.into_iter().filter(|checkpoint| checkpoint.action == Action::Trash);
    let paths: BTreeSet<VaultPath> = trashed.map(|checkpoint| checkpoint.path).collect();
    let mut purged = Vec::new();
    for path in paths {
        if files.read(&path)?.is_some() {
            continue;
        }
        let is_of_layers = match is_generated_place(&path) {
            true => {
                let had = files.last_content(&path)?.unwrap_or_default();
                GeneratedNote::read(&String::from_utf8_lossy(&had)).is_some_and(|note| !note.is_edited)
            }
            false => shelf_of(&path).is_some(),
        };
        if is_of_layers {
            files.purge(&path)?;
            purged.push(path);
        }
    }
    Ok(purged)
}

/// Purges what is kept of generated pages in whose places others stand now, which stay: the person's, or such as they have edited.
fn purge_former_pages(files: &Files, checkpoints: &[Checkpoint]) -> Result<(), RequestError> {
    let paths: BTreeSet<&VaultPath> =
        checkpoints.iter().map(|checkpoint| &checkpoint.path).filter(|path| is_generated_place(path)).collect();
    for path in paths {
        let is_page = |had: &[u8]| GeneratedNote::read(&String::from_utf8_lossy(had)).is_some();
        if files.read(path)?.is_some() && files.former_contents(path)?.any(|had| is_page(&had)) {
            files.purge(path)?;
        }
    }
    Ok(())
}

/// The files that may be of the layers.
fn of_layers(owner: &Owner) -> BTreeSet<VaultPath> {
    let workspace = owner.workspace();
    let mut paths = BTreeSet::new();
    for holder in workspace.entry_store.holders() {
        paths.extend(EntryFileKind::ALL.into_iter().filter_map(|shelf| entries_path(&holder, shelf).ok()));
    }
    let is_note = |page: &VaultPath| workspace.files.check(page).is_ok();
    paths.extend(generated_pages(workspace.home.root()).into_iter().filter(is_note));
    paths
}
