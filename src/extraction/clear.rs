//! Clearing the derived layers: entries, proposals, archives, the profile, summaries. Never notes or conversations.

use std::collections::BTreeSet;

use crate::derive::entries::{EntryShelf, shelf_of};
use crate::derive::generated::GeneratedNote;
use crate::engine::FileEntry;
use crate::generated_files::generated_pages;
use crate::items::entries_path;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::vault::{Action, Checkpoint, Files};
use crate::wire::{ClearParams, Cleared, ClearedFile};

/// Folders of generated files.
const GENERATED_IN: [&str; 2] = ["summaries/", "profile/"];

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
    for path in of_layers(owner)? {
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
        let checkpoint = files.trash_as(&path, hash, Action::Trash.into())?;
        if params.purge {
            files.purge(&path)?;
        }
        gone.push((path, checkpoint));
    }
    for (path, _) in &gone {
        workspace.settled_in_time(path);
    }
    let before = if params.purge { purge_cleared(files)? } else { Vec::new() };
    if params.purge
        && let Some(trouble) = workspace.sweep_given()
    {
        tracing::warn!("{trouble}");
    }
    let before = before.into_iter().map(|path| ClearedFile { path: path.to_string(), checkpoint_id: None });
    let file = |(path, checkpoint): (VaultPath, crate::vault::CheckpointId)| ClearedFile {
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
        if files.read(path)?.is_some() && files.has_had(path, is_page)? {
            files.purge(path)?;
        }
    }
    Ok(())
}

/// Whether generated files are there.
fn is_generated_place(path: &VaultPath) -> bool {
    GENERATED_IN.iter().any(|folder| path.as_str().starts_with(folder))
}

/// The files that may be of the layers.
fn of_layers(owner: &Owner) -> Result<BTreeSet<VaultPath>, RequestError> {
    let workspace = owner.workspace();
    let mut paths = BTreeSet::new();
    for holder in workspace.entry_store().holders() {
        for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
            paths.extend(entries_path(&holder, shelf).ok());
        }
    }
    let scope = owner.now()?;
    let is_one = |file: &&FileEntry| is_generated_place(&file.path) && !file.path.is_document();
    let generated = scope.files().map(AsRef::as_ref).filter(is_one);
    paths.extend(generated.map(|file| file.path.clone()));
    // What was made a moment ago is not indexed yet.
    let is_note = |page: &VaultPath| page.as_str().ends_with(".md");
    paths.extend(generated_pages(workspace.home().root()).into_iter().filter(is_note));
    Ok(paths)
}
