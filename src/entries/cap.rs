//! At most so many active entries: what goes over that is archived, chosen by use, confidence and age.

use crate::derive::chunk;
use crate::derive::entries::{EntryStatus, MemoryHolder};
use crate::layers::LayerWriter;
use crate::note::Note;
use crate::request::{RequestError, Workspace};
use crate::vault::{Action, CheckpointId};

/// Archives what goes over `[memory] max_entries`; gives the names, and what undoes it.
pub(super) fn keep_to_cap(
    workspace: &Workspace,
    holder: &MemoryHolder,
) -> Result<(Vec<String>, Vec<CheckpointId>), RequestError> {
    let (max, layers) = (workspace.config().memory.max_entries, workspace.layers());
    let book = layers.entries(holder)?;
    let active: Vec<_> = book.entries().iter().filter(|entry| entry.status == EntryStatus::Active).collect();
    if max == 0 || active.len() <= max {
        return Ok((Vec::new(), Vec::new()));
    }
    let used = uses(workspace, holder);
    let mut order: Vec<usize> = (0..active.len()).collect();
    // What stands first is oldest, unless it says since when it is so.
    order.sort_by(|one, other| {
        let key = |at: &usize| {
            let entry = active[*at];
            let was_used = used.iter().any(|(first, last)| *first <= entry.line_end && entry.line_start <= *last);
            (
                was_used,
                (entry.confidence * 1000.0) as i64,
                entry.window.from.as_ref().and_then(|from| from.ms).unwrap_or(0),
                *at,
            )
        };
        key(one).cmp(&key(other))
    });
    let goes: Vec<String> = order[..active.len() - max].iter().map(|at| active[*at].id.clone()).collect();
    let writer = LayerWriter { files: workspace.files()?, act: Action::Edit.done_by("max_entries"), is_program: true };
    let done = layers.archive_entries(&writer, holder, &goes)?;
    Ok((goes, done))
}

/// The lines of the passages that were ever given, to the person or to the agent whose memory it is.
fn uses(workspace: &Workspace, holder: &MemoryHolder) -> Vec<(usize, usize)> {
    let read = || {
        let book = workspace.layers().entries(holder).ok()?;
        let path = book.path.clone()?;
        let text = workspace.source(&path).ok()?.text;
        let chunks = chunk(&path, &Note::parse(&text, path.stem()), &text);
        let names: Vec<u64> = chunks.iter().map(|chunk| chunk.id.to_bits()).collect();
        let readers = match holder {
            MemoryHolder::Person => vec![""],
            MemoryHolder::Agent(slug) => vec!["", slug.as_str()],
        };
        let mut lines = Vec::new();
        for reader in readers {
            let counts = workspace.usage().of(reader, &names).ok()?;
            let used = chunks.iter().zip(counts).filter(|(_, given)| given.count > 0);
            lines.extend(used.map(|(chunk, _)| chunk.lines));
        }
        Some(lines)
    };
    read().unwrap_or_default()
}
