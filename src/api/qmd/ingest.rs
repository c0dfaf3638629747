//! Keeping and dropping a text for whoever asks: the person's as a note, an agent's in its own memory.

use crate::access::WriteMode;
use crate::derive::{ChunkId, chunk};
use crate::memory;
use crate::note::Note;
use crate::notes;
use crate::path::VaultPath;
use crate::request::{ErrorKind, RequestError, Viewer, Workspace};
use crate::vault::{is_folder_name, slug};
use crate::wire::{ForgetParams, MemoryChange, MemoryGetParams, MemorySaveParams, SaveParams, Saved};

/// Keeps a text. An agent's is added to `memory/<collection>.md`, or to the file that `memory_save` takes, below a heading that
/// is its title; tags and metadata are the person's alone. The hash is then that of its last chunk; zeros where somebody has
/// changed the file since.
///
/// # Errors
/// As [`notes::save`] and [`memory::save`].
pub(super) fn keep(viewer: &Viewer, params: &SaveParams) -> Result<Saved, RequestError> {
    if let Some(owner) = viewer.owner() {
        return notes::save(&owner, params);
    }
    let writer = viewer.memory_writer()?;
    if let Some(name) = params.collection.as_deref().filter(|name| !is_folder_name(name)) {
        return Err(RequestError::invalid(format!("`collection` is {name:?}; it takes the name of a file")));
    }
    let content = match &params.title {
        Some(title) => format!("## {title}\n\n{}", params.content),
        None => params.content.clone(),
    };
    let save = |file| memory::save(&writer, &MemorySaveParams { content: content.clone(), file, append: None });
    let file = params.collection.as_deref().map(|collection| format!("memory/{}.md", slug(collection)));
    let change = match save(file.clone()) {
        // Where the agent may write `MEMORY.md` alone, it goes there.
        Err(error)
            if error.kind == ErrorKind::Forbidden && file.is_some() && writer.mode() == WriteMode::PromptOnly =>
        {
            save(None)?
        }
        change => change?,
    };
    let MemoryChange { path, chunks, redacted, searchable, .. } = change;
    // It is written, whatever became of the file since.
    let hash = last_chunk(writer.workspace(), &path).unwrap_or_else(|| ChunkId::from_bits(0).to_string());
    Ok(Saved { ok: true, hash, path, chunks, existing: false, redacted, searchable })
}

/// Drops the chunk with a hash, and says what brings it back. An agent's is one of its own memory.
///
/// # Errors
/// As [`notes::forget`] and [`memory::delete_chunk`].
pub(super) fn drop_chunk(viewer: &Viewer, hash: &str) -> Result<Option<String>, RequestError> {
    if let Some(owner) = viewer.owner() {
        let params = ForgetParams { hash: Some(hash.to_owned()), ..ForgetParams::default() };
        return notes::forget(&owner, &params).map(|forgotten| forgotten.checkpoint_id);
    }
    let writer = viewer.memory_writer()?;
    let named = MemoryGetParams { hash: Some(hash.to_owned()), ..MemoryGetParams::default() };
    let passage = memory::get(&writer, &named)?;
    let own = format!("agents/{}/", writer.slug());
    // Others may share their memory with it, to be read.
    let file = passage.path.strip_prefix(&own).ok_or_else(|| RequestError::forbidden("this is not your memory"))?;
    let id = hash.parse().map_err(|error| RequestError::invalid(format!("`{hash}` is not a hash: {error}")))?;
    memory::delete_chunk(&writer, file, id).map(|change| Some(change.checkpoint_id))
}

fn last_chunk(workspace: &Workspace, path: &str) -> Option<String> {
    let path = VaultPath::new(path).ok()?;
    let source = workspace.source(&path).ok()?;
    let chunks = chunk(&path, &Note::parse(&source.text, path.stem()), &source.text);
    chunks.last().map(|chunk| chunk.id.to_string())
}
