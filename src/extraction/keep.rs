//! What was found in a conversation, written: proposals, which wait for the person.

use crate::derive::entries::{EntryShelf, EntryStatus, MemoryEntry, MemoryHolder, TrustLevel};
use crate::derive::extraction::{CheckedEntry, Voice};
use crate::derive::facts::{Moment, Validity};
use crate::layers::{EntryEdit, LayerWriter, LayersError};
use crate::path::VaultPath;
use crate::request::Workspace;
use crate::vault::{Action, Files};

/// As whom it is written.
const WHO: &str = "extraction";

/// Proposes what was found. What is there already by its name stays as it is.
pub(super) fn propose(
    workspace: &Workspace,
    files: &Files,
    path: &VaultPath,
    found: &[CheckedEntry],
) -> Result<(), LayersError> {
    if found.is_empty() {
        return Ok(());
    }
    let writer = LayerWriter { files, act: Action::Edit.done_by(WHO), is_program: true };
    let entries: Vec<EntryEdit> = found.iter().map(|entry| EntryEdit::Add(entry_of(path, entry))).collect();
    workspace.layers().change(&writer, &MemoryHolder::Person, EntryShelf::Pending, &entries).map(drop)
}

/// An entry that is named by where it comes from and what it says, so that it is the same when it is found again.
fn entry_of(path: &VaultPath, found: &CheckedEntry) -> MemoryEntry {
    let (first, last) = found.lines;
    let lines = if first == last { format!("L{first}") } else { format!("L{first}-L{last}") };
    let mut hasher = blake3::Hasher::new();
    hasher.update(path.as_str().as_bytes()).update(b"\n").update(found.text.to_lowercase().as_bytes());
    MemoryEntry {
        id: format!("e-{}", &hasher.finalize().to_hex()[..8]),
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
