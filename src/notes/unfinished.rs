//! Purges during which the program was killed: what is left of them is done before anything else is.

use super::derived_facts::hide_places;
use super::generated::remove_made_of;
use super::kept_elsewhere::drop_kept_elsewhere;
use super::purge::{GoneTexts, clear_logs, close, sweep_traces};
use super::told::remove_told;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::state::{OpenPurge, OpenPurgeTable};
use crate::vault::Files;

/// Finishes the purges that are open: what is kept of the note goes, and what was made of it, what the logs and the traces say. What of the
/// note itself was not removed yet stays, and is named as forgotten.
pub(crate) fn finish_purges(owner: &Owner) {
    let workspace = owner.workspace();
    let Ok(files) = workspace.files() else { return };
    let open = OpenPurgeTable::new(workspace.state()).all().unwrap_or_else(|error| {
        tracing::warn!("whether a purge was cut short cannot be told: {error}");
        Vec::new()
    });
    for purge in open {
        match finish(owner, files, &purge) {
            Ok(()) => {
                tracing::info!("a purge that was cut short is finished");
                close(workspace, &[purge.id]);
            }
            Err(error) => tracing::warn!("a purge that was cut short cannot be finished: {}", error.message),
        }
    }
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
    // Of facts that went by their names nothing else was learned there.
    let failed = match purge.gone || purge.lines.is_some() {
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
