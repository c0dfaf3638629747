//! Purges during which the program was killed: what is left of them is done before anything else is, and what goes with the note once the
//! index has all files.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::derived_facts::hide_places;
use super::forget::{clear_left, erase, forget_copy, forget_derived};
use super::generated::remove_made_of;
use super::going::{GoingWith, note_staying};
use super::gone::GoneForGood;
use super::kept_elsewhere::drop_kept_elsewhere;
use super::purge::{GoneTexts, clear_logs, sweep_traces};
use super::told::remove_told;
use crate::access::{Principal, Turn};
use crate::fs::FsError;
use crate::path::VaultPath;
use crate::request::{Owner, Request, RequestError, Role, Workspace, note_path};
use crate::state::{OpenPurge, OpenPurgeTable};
use crate::vault::Files;

/// The longest time between two looks whether the index has all files, where nothing is heard of it.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// Does what can be done before the index is open of the purges that are not finished, and gives those: what is kept of the note goes, and
/// what was generated of it, what the logs and the traces say. What of the note itself was not removed yet stays, and is named as forgotten.
pub(crate) fn finish_purges(owner: &Owner) -> Vec<OpenPurge> {
    let workspace = owner.workspace();
    let Ok(files) = workspace.files() else { return Vec::new() };
    let mut open = OpenPurgeTable::new(workspace.state()).all().unwrap_or_else(|error| {
        tracing::warn!("whether a purge was cut short cannot be told: {error}");
        Vec::new()
    });
    open.retain(|purge| match finish(owner, files, purge) {
        Ok(()) => true,
        Err(error) => {
            tracing::warn!("a purge that was cut short cannot be finished: {}", error.message);
            false
        }
    });
    open
}

/// The thread that does the rest of them, until it is dropped.
pub(crate) struct PurgeKeeper {
    stop: Arc<AtomicBool>,
    workspace: Arc<Workspace>,
    thread: Option<JoinHandle<()>>,
}

impl PurgeKeeper {
    /// Starts to wait for the index; then what goes with the notes goes, and the purges are finished.
    ///
    /// # Errors
    /// When no thread can be started.
    pub(crate) fn start(workspace: &Arc<Workspace>, open: Vec<OpenPurge>) -> Result<Self, FsError> {
        let stop = Arc::new(AtomicBool::new(false));
        let (stopped, vault) = (Arc::clone(&stop), Arc::clone(workspace));
        let thread = std::thread::Builder::new().name("purges".to_owned()).spawn(move || {
            let is_over = || stopped.load(Ordering::SeqCst);
            while !vault.shared().wait(LOOK_EVERY, |progress| progress.caught_up || is_over()).caught_up && !is_over() {
            }
            let request = Request::new(Arc::clone(&vault), Principal::Owner, Turn::default());
            if let (false, Ok(owner)) = (is_over(), Owner::of(request)) {
                match finish_going(&owner, &open) {
                    Ok(left) => left.iter().for_each(|left| tracing::warn!("of what was purged: {left}")),
                    Err(error) => tracing::warn!("a purge that was cut short is not finished: {}", error.message),
                }
            }
        });
        let thread =
            thread.map_err(|source| FsError { operation: "start a thread for", path: "purges".into(), source })?;
        Ok(Self { stop, workspace: Arc::clone(workspace), thread: Some(thread) })
    }
}

impl Drop for PurgeKeeper {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::SeqCst);
        self.workspace.shared().wake();
        if let Some(thread) = self.thread.take() {
            // It has said why it panicked.
            let _ = thread.join();
        }
    }
}

/// What goes with the note of a purge.
fn going_with(purge: &OpenPurge) -> Vec<GoingWith> {
    serde_json::from_str(&purge.going_with).unwrap_or_default()
}

/// Whether lines, or all, of the note go: not facts by their names.
fn has_place(purge: &OpenPurge) -> bool {
    purge.gone || purge.lines.is_some()
}

/// Goes through what goes with the notes, each once; gives what of it is left, and why.
fn finish_going(owner: &Owner, open: &[OpenPurge]) -> Result<Vec<String>, RequestError> {
    let one = owner.workspace().files()?.one_generation();
    let (mut left, mut gone) = (Vec::new(), GoneForGood::default());
    let root = owner.workspace().home().root();
    for purge in open {
        let Ok(path) = VaultPath::new(purge.path.as_str()) else { continue };
        let going = going_with(purge);
        note_staying(owner, going.iter().map(|going| &going.derived), &mut gone.staying)?;
        gone.begun.push(path.clone());
        let place = (&path, purge.lines);
        for GoingWith { mut derived, copy } in going {
            match copy {
                Some(seen) => forget_copy(owner, place, &mut derived, seen, &mut gone),
                None => forget_derived(owner, place, &mut derived, true, &mut gone),
            }
            // What is not there has gone before.
            let file = derived.path.split_once("#^").map_or(derived.path.as_str(), |(file, _)| file);
            let is_there = note_path(file).is_ok_and(|path| path.on_disk(root).exists());
            left.extend(derived.kept_because.filter(|_| is_there).map(|why| format!("`{}`: {why}", derived.path)));
        }
        gone.places.extend(has_place(purge).then(|| (path.clone(), purge.lines)));
        gone.open.push(purge.id);
    }
    let mut cleared = clear_left(owner, &mut Vec::new(), &mut gone)?;
    drop(one);
    erase(owner, &mut gone, &mut cleared);
    left.extend(cleared.remains);
    tracing::info!("what was purged before the last stop is finished");
    Ok(left)
}

fn finish(owner: &Owner, files: &Files, purge: &OpenPurge) -> Result<(), RequestError> {
    let workspace = owner.workspace();
    let Ok(path) = VaultPath::new(purge.path.as_str()) else { return Ok(()) };
    let _one = files.one_generation();
    let texts = files.removed_since(&path, purge.at, |had| workspace.text_of(&path, had))?.into_iter().collect();
    let mut gone = vec![GoneTexts { path: path.clone(), readers: purge.readers.clone(), texts }];
    // Before what says what to look for.
    drop_kept_elsewhere(workspace, files, &gone[0].texts)?;
    remove_made_of(files, workspace.home().root(), &path)?;
    files.purge(&path)?;
    let kept_text = workspace.forget_attachment(&path);
    // By its place it is known which facts are to go; of facts that went by their names nothing else was learned there.
    let waits = going_with(purge).iter().any(|going| going.derived.fact.is_some());
    let failed = match !waits && has_place(purge) {
        true => hide_places(workspace, &[(path.clone(), purge.lines)]),
        false => Vec::new(),
    };
    let logs = clear_logs(workspace, files, (&path, purge.gone), &purge.readers, &gone[0].texts);
    for failure in failed.into_iter().chain(kept_text).chain(logs) {
        tracing::warn!("of what was purged: {failure}");
    }
    let learned = remove_told(owner, files, &gone)?;
    gone.extend(learned);
    sweep_traces(owner, &gone).map(drop)
}
