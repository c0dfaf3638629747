//! What may be given to who did not ask for it: nothing of the web or of tools, which may have been planted.

use crate::derive::entries::TrustLevel;
use crate::derive::{CONVERSATIONS, Label, Speakers, goes_on_and_begins};
use crate::engine::{FileEntry, FileTable};
use crate::request::{ReadScope, SPEAKING_TOOLS, trust_of_note};
use crate::wire::HitView;

/// Maximum number of chunks of a turn that are looked at to find who speaks. Of a longer turn it is not known.
const MAX_TURN_CHUNKS: usize = 1_000;

/// Whether a note, or one that it was made of, is of the web or of tools, was noted by a program, or is a document: most are of others.
pub(super) fn is_planted(files: &FileTable, file: &FileEntry) -> bool {
    trust_of_note(files, file) <= TrustLevel::Tool
}

/// Whether a hit may be given to who did not ask for it.
pub(super) fn is_trusted(scope: &ReadScope, hit: &HitView) -> bool {
    let files = scope.reader().files();
    let Some(file) = files.at(&hit.chunk.path) else { return false };
    !(is_planted(files, file) || is_of_a_tool(scope, file, hit))
}

fn has(file: &FileEntry, label: Label) -> bool {
    file.labels.binary_search(&label).is_ok()
}

/// Whether a tool or a program speaks in the passage of a hit. Where that cannot be told, one does.
fn is_of_a_tool(scope: &ReadScope, file: &FileEntry, hit: &HitView) -> bool {
    if hit.chunk.collection != CONVERSATIONS || !SPEAKING_TOOLS.iter().any(|term| has(file, Label::of_speaker(term))) {
        return false;
    }
    speakers(scope, file, hit).is_none_or(|terms| terms.iter().any(|term| SPEAKING_TOOLS.contains(&term.as_str())))
}

/// Who speaks in the passage of a hit, as terms. A long turn is several chunks, of which only the first says whose it is.
fn speakers(scope: &ReadScope, file: &FileEntry, hit: &HitView) -> Option<Vec<String>> {
    let body = |at: usize| {
        let chunk = scope.reader().chunk(file.chunks.get(at)?.row).ok()??;
        Some(chunk.text.get(chunk.body_start..)?.to_owned())
    };
    let own = file.chunks.iter().position(|chunk| chunk.id.to_string() == hit.chunk.hash)?;
    let (before, after) = file.chunks.split_at(own);
    // A passage may be given with what stands around it.
    let first = before.partition_point(|chunk| chunk.line < hit.chunk.line_start);
    let end = own + after.partition_point(|chunk| chunk.line <= hit.chunk.line_end).max(1);
    let (mut terms, mut speakers) = (Vec::new(), Speakers::of(CONVERSATIONS));
    if goes_on_and_begins(&body(first)?).0 {
        for (looked, at) in (0..first).rev().enumerate() {
            let text = body(at)?;
            if goes_on_and_begins(&text).1 {
                speakers.next(&text);
                break;
            }
            if looked >= MAX_TURN_CHUNKS {
                return None;
            }
        }
    }
    for at in first..end {
        terms.extend(speakers.next(&body(at)?));
    }
    Some(terms)
}
