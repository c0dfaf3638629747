//! Making summaries when the person asks for it.

use crate::derive::CONVERSATIONS;
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, note_path};
use crate::summary_files::{FileMade, KnownSummaries, SummaryFiles};
use crate::wire::{KeptAsEdited, SummariesMade, SummaryMakeParams};

/// Makes summaries now: of one conversation, or of all whose turns are others than they were.
///
/// # Errors
/// When there is no such conversation, or the vault cannot be written.
pub(crate) fn make(owner: &Owner, params: &SummaryMakeParams) -> Result<SummariesMade, RequestError> {
    let workspace = owner.workspace();
    let scope = owner.now()?;
    let maker = SummaryFiles {
        root: workspace.home().root(),
        files: workspace.files()?,
        config: workspace.config(),
        forgotten: workspace.forgotten(),
    };
    let mut known = KnownSummaries::default();
    known.refresh(scope.reader()).map_err(|error| workspace.damaged(error))?;
    let is_one = |path: &VaultPath| path.collection() == CONVERSATIONS && !path.is_document();
    let mut conversations: Vec<VaultPath> = match params.of.as_deref() {
        Some(of) => {
            let path = note_path(of)?;
            if !is_one(&path) || scope.file(path.as_str()).is_none() {
                return Err(RequestError::not_found(format!("there is no conversation `{of}`")));
            }
            vec![path]
        }
        None => scope.files().filter(|file| is_one(&file.path)).map(|file| file.path.clone()).collect(),
    };
    conversations.sort_unstable();
    let mut done = SummariesMade::default();
    for of in conversations {
        scope.go_on()?;
        match maker.bring_up(&of, known.of(&of).map(|known| &known.path)) {
            Ok(FileMade::Written(path)) => done.made.push(path.to_string()),
            Ok(FileMade::Same) => done.same += 1,
            Ok(FileMade::Nothing) => done.nothing += 1,
            Ok(FileMade::Kept(path)) => {
                done.kept.push(KeptAsEdited { path: path.to_string(), reason: "you have edited it".into() });
            }
            Err(error) if params.of.is_none() => {
                done.kept.push(KeptAsEdited { path: of.to_string(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(last) = done.made.last().and_then(|path| VaultPath::new(path.as_str()).ok()) {
        workspace.settled_in_time(&last);
    }
    Ok(done)
}
