//! What was found in a conversation, written: proposals, which wait for the person.

use jiff::Timestamp;

use crate::derive::entries::{EntryStatus, MemoryEntry, MemoryHolder, TrustLevel};
use crate::derive::extraction::{CheckedEntry, Voice};
use crate::derive::facts::{Moment, Validity};
use crate::forgotten::Reach;
use crate::layers::{EntryProposal, LayerWriter, ProposeRules, Proposed};
use crate::path::VaultPath;
use crate::request::{RequestError, Workspace};
use crate::state::LeftOut;
use crate::vault::Action;

/// As whom it is written.
const WHO: &str = "extraction";

/// Proposes what was found. What is there already, was forgotten for good or was rejected before stays as it is.
pub(super) fn propose(workspace: &Workspace, path: &VaultPath, found: &[CheckedEntry]) -> Result<(), RequestError> {
    if found.is_empty() {
        return Ok(());
    }
    let forgotten = workspace.forgotten();
    let asked = forgotten.ask()?;
    let rules =
        ProposeRules { config: &workspace.config().memory, forgotten: &asked, reach: Reach::All, likeness: None };
    let writer = LayerWriter { files: workspace.files()?, act: Action::Edit.done_by(WHO), is_program: true };
    let proposals =
        found.iter().map(|found| EntryProposal { entry: entry_of(path, found), is_quoted: found.has_quote }).collect();
    let all = workspace.layers().propose(&writer, &MemoryHolder::Person, proposals, &rules)?;
    drop(asked);
    for outcome in &all.outcomes {
        if let Proposed::Forgotten(tombstone) = outcome {
            let (at, by, into) = (Timestamp::now(), WHO.to_owned(), path.to_string());
            forgotten.note(LeftOut { at, by, into, whole: true, tombstone: *tombstone });
        }
    }
    Ok(())
}

fn entry_of(path: &VaultPath, found: &CheckedEntry) -> MemoryEntry {
    let (first, last) = found.lines;
    let lines = if first == last { format!("L{first}") } else { format!("L{first}-L{last}") };
    MemoryEntry {
        confidence: found.confidence,
        tags: found.tags.clone(),
        window: Validity { from: found.valid_from.as_deref().and_then(Moment::read), until: None },
        sources: vec![format!("{path}#{lines}")],
        status: EntryStatus::Pending,
        trust: match found.voice {
            Voice::Person => TrustLevel::Person,
            Voice::Agent => TrustLevel::Agent,
        },
        ..MemoryEntry::new(found.kind, &found.text)
    }
}
