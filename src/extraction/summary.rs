//! The summary that a model has made of a conversation, written where nobody has edited one.

use crate::derive::extraction::CheckedLine;
use crate::derive::summary::{CitedLine, ConversationTurn, SummarySections, cited, turns_of};
use crate::generated_files::{GeneratedError, known_summary};
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{RequestError, Workspace};
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
    let files = workspace.summary_files()?;
    let reader = workspace.shared().snapshot();
    let known = reader.as_ref().and_then(|reader| Some(known_summary(reader.files(), path)?.path.clone()));
    let make = |now: &[ConversationTurn<'_>]| (now == turns.as_slice()).then(|| summary.clone());
    let write = || files.make_with(path, known.as_ref(), made_by, &make);
    // Rules may write theirs at this very moment.
    match write().or_else(|_| write()) {
        Ok(_) => Ok(()),
        Err(GeneratedError::Write(error)) => Err(error.into()),
        Err(error) => {
            tracing::warn!("{path} is not summarised: {error}");
            Ok(())
        }
    }
}

fn summary_of(path: &VaultPath, found: &[(&'static str, Vec<CheckedLine>)]) -> SummarySections {
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
    SummarySections::of_conversation(["text", "topics", "decisions", "dates", "actions"].map(list))
}
