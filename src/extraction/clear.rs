//! Clearing the derived layers: entries, proposals, archives, the profile, summaries. Never notes or conversations.

use std::collections::BTreeSet;

use crate::derive::entries::EntryShelf;
use crate::derive::generated::GeneratedNote;
use crate::layers::entries_path;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::vault::Action;
use crate::wire::{ClearParams, Cleared, ClearedFile};

/// Folders of generated files.
const GENERATED_IN: [&str; 2] = ["summaries/", "profile/"];

/// Moves the files of the derived layers to `.trash/`, each with a checkpoint; with `purge` nothing of them is left. Generated files that
/// a person has edited stay.
///
/// # Errors
/// When the vault cannot be written.
pub(crate) fn clear(owner: &Owner, params: &ClearParams) -> Result<Cleared, RequestError> {
    let workspace = owner.workspace();
    let files = workspace.files()?;
    let (mut gone, mut kept) = (Vec::new(), Vec::new());
    for path in of_layers(owner)? {
        let Some((bytes, hash)) = files.read(&path)? else { continue };
        let is_generated_place = GENERATED_IN.iter().any(|folder| path.as_str().starts_with(folder));
        if is_generated_place {
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
    let file = |(path, checkpoint): (VaultPath, crate::vault::CheckpointId)| ClearedFile {
        path: path.to_string(),
        checkpoint_id: (!params.purge).then(|| checkpoint.to_string()),
    };
    Ok(Cleared { files: gone.into_iter().map(file).collect(), kept })
}

/// The files that may be of the layers.
fn of_layers(owner: &Owner) -> Result<BTreeSet<VaultPath>, RequestError> {
    let workspace = owner.workspace();
    let mut paths = BTreeSet::new();
    for holder in workspace.layers().holders() {
        for shelf in [EntryShelf::Known, EntryShelf::Pending, EntryShelf::Archive] {
            paths.extend(entries_path(&holder, shelf).ok());
        }
    }
    let scope = owner.now()?;
    let generated =
        scope.files().filter(|file| GENERATED_IN.iter().any(|folder| file.path.as_str().starts_with(folder)));
    paths.extend(generated.map(|file| file.path.clone()));
    Ok(paths)
}
