//! What is kept of other files, and says what went for good: an entry has gone from one file to the next, a note had another name.

use crate::access::is_agents;
use crate::derive::entries::{EntriesFile, EntryShelf};
use crate::derive::{is_a_sentence, is_a_text, plain, readings, said};
use crate::request::Workspace;
use crate::vault::{Checkpoint, Files, WriteError};

/// Collections of which each file may have had what another has.
const MEMORY: [&str; 3] = ["memories", "profile", "summaries"];

/// Drops the checkpoints that say one of the texts, of files of the memory, of facts, and of files that have another name by now. Of those
/// that an agent made of its own files none: its undo leaves out what was forgotten, and it would see that one is gone.
///
/// # Errors
/// When the disk refuses.
pub(super) fn drop_kept_elsewhere(workspace: &Workspace, files: &Files, texts: &[String]) -> Result<usize, WriteError> {
    let needles = needles(texts);
    if needles.is_empty() {
        return Ok(0);
    }
    let root = workspace.home().root();
    let is_looked_at = |checkpoint: &Checkpoint| match &checkpoint.path {
        path if is_agents(path.as_str()) => checkpoint.by.is_none(),
        path if path.on_disk(root).symlink_metadata().is_err() => !checkpoint.is_of_trash(),
        path => MEMORY.contains(&path.collection()) || workspace.ledger().scope_of(path).is_some(),
    };
    files.drop_checkpoints(is_looked_at, |_, had| {
        let had = String::from_utf8_lossy(had);
        let (words, without_tags) = (plain(&had), had.contains('<').then(|| said(&had).whole()));
        let says = |needle: &String| {
            words.contains(needle) || without_tags.as_ref().is_some_and(|words| words.contains(needle))
        };
        needles.iter().any(says)
    })
}

/// The words by which a text is known again: its blocks, its sentences, and the entries of memory in it without what is noted beside them.
fn needles(texts: &[String]) -> Vec<String> {
    let entries = texts.iter().flat_map(|text| EntriesFile::read(text, EntryShelf::Known).entries);
    let mut needles: Vec<String> = entries.map(|entry| plain(&entry.text)).filter(|words| is_a_text(words)).collect();
    for block in
        texts.iter().flat_map(|text| readings(text)).flat_map(|said| said.blocks).filter(|block| !block.heading)
    {
        needles.extend(Some(block.words).filter(|words| is_a_text(words)));
        needles.extend(block.sentences.into_iter().map(|sentence| sentence.words).filter(|words| is_a_sentence(words)));
    }
    needles.sort_unstable();
    needles.dedup();
    needles
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_known_whatever_is_noted_beside_it() {
        let texts = ["- [fact] The bilby code is seven (source notes/a.md#L1) ^e-2\n".to_owned()];
        let archived = plain("- [fact] The bilby code is seven (until 2026-01-05) ^e-2");
        assert!(needles(&texts).iter().any(|needle| archived.contains(needle)), "{:?}", needles(&texts));
        assert!(needles(&["Thanks!".to_owned()]).is_empty());
    }
}
