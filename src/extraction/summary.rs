//! The summary that a model has made of a conversation, written where nobody has edited one.

use crate::derive::Label;
use crate::derive::extraction::CheckedLine;
use crate::derive::summary::{CitedLine, ConversationSummary, ConversationTurn, SUMMARIES, cited, turns_of};
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{RequestError, Workspace};
use crate::summary_files::{OF, SummaryError, SummaryFiles};
use crate::vault::Source;

/// Writes what stands of a model's summary of a conversation as it was read. Nothing, where nothing stands, or the conversation is another
/// by now.
pub(super) fn keep_summary(
    workspace: &Workspace,
    (path, source): (&VaultPath, &Source),
    made_by: &str,
    found: &[(&'static str, Vec<CheckedLine>)],
) -> Result<(), RequestError> {
    let summary = summary_of(path, found);
    if summary.is_empty() {
        return Ok(());
    }
    let note = Note::parse(&source.text, path.stem());
    let turns = turns_of(&note, &source.text);
    let files = SummaryFiles {
        root: workspace.home().root(),
        files: workspace.files()?,
        config: workspace.config(),
        forgotten: workspace.forgotten(),
    };
    let known = known_summary(workspace, path);
    let make = |now: &[ConversationTurn<'_>]| (now == turns.as_slice()).then(|| summary.clone());
    let write = || files.make_with(path, known.as_ref(), made_by, &make);
    // Rules may write theirs at this very moment.
    match write().or_else(|_| write()) {
        Ok(_) => Ok(()),
        Err(SummaryError::Write(error)) => Err(error.into()),
        Err(error) => {
            tracing::warn!("{path} is not summarised: {error}");
            Ok(())
        }
    }
}

/// Where the summary of a conversation is, whatever its name.
fn known_summary(workspace: &Workspace, of: &VaultPath) -> Option<VaultPath> {
    let reader = workspace.shared().snapshot()?;
    let label = Label::of_property(OF, Some(of.as_str()));
    let summaries = reader.files().iter().filter(|file| file.path.collection() == SUMMARIES);
    summaries.filter(|file| file.labels.binary_search(&label).is_ok()).map(|file| file.path.clone()).min()
}

fn summary_of(path: &VaultPath, found: &[(&'static str, Vec<CheckedLine>)]) -> ConversationSummary {
    let list = |name: &str| {
        let lines = found.iter().filter(|(list, _)| *list == name).flat_map(|(_, lines)| lines);
        let mut list: Vec<CitedLine> = Vec::new();
        for line in lines.map(|line| CitedLine::of(&line.text, vec![cited(path.as_str(), line.lines)])) {
            if list.iter().all(|known| known.text != line.text) {
                list.push(line);
            }
        }
        list
    };
    ConversationSummary {
        text: list("text"),
        topics: list("topics"),
        decisions: list("decisions"),
        dates: list("dates"),
        actions: list("actions"),
    }
}
