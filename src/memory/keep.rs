//! Keeps a text, and drops a chunk, for programs that know no files: they say a collection, and a hash.

use super::forget::delete_chunk;
use super::read::get;
use super::write::saved;
use crate::access::WriteMode;
use crate::derive::{ChunkId, chunk};
use crate::note::Note;
use crate::path::VaultPath;
use crate::request::{ErrorKind, MemoryWriter, RequestError, Workspace};
use crate::vault::{is_folder_name, slug};
use crate::wire::{MemoryChange, MemoryGetParams, MemorySaveParams, SaveParams, Saved};

/// Adds a text to `memory/<collection>.md`, or to the file that [`save`](super::write::save) takes, below a heading that is its title; tags and
/// metadata are the person's alone. The hash is then that of its last chunk; zeros where somebody has changed the file since.
///
/// # Errors
/// As [`save`](super::write::save).
pub(crate) fn keep(writer: &MemoryWriter, params: &SaveParams) -> Result<Saved, RequestError> {
    if let Some(name) = params.collection.as_deref().filter(|name| !is_folder_name(name)) {
        return Err(RequestError::invalid(format!("`collection` is {name:?}; it takes the name of a file")));
    }
    let content = match &params.title {
        Some(title) => format!("## {title}\n\n{}", params.content),
        None => params.content.clone(),
    };
    let save = |file| saved(writer, &MemorySaveParams { content: content.clone(), file, append: None });
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
    let (MemoryChange { path, chunks, redacted, searchable, checkpoint_id, .. }, would) = change;
    // It is written, whatever became of the file since.
    let last = match would {
        Some(text) => last_of(&path, &text),
        None => last_chunk(writer.workspace(), &path),
    };
    let hash = last.unwrap_or_else(|| ChunkId::from_bits(0).to_string());
    let checkpoint_id = Some(checkpoint_id);
    Ok(Saved {
        ok: true,
        hash,
        path,
        chunks,
        existing: false,
        redacted,
        searchable,
        forgotten_before: false,
        checkpoint_id,
    })
}

/// Drops the chunk with a hash. It has to be one of its own.
///
/// # Errors
/// As [`delete_chunk`].
pub(crate) fn drop_chunk(writer: &MemoryWriter, hash: &str) -> Result<MemoryChange, RequestError> {
    let named = MemoryGetParams { hash: Some(hash.to_owned()), ..MemoryGetParams::default() };
    let passage = get(writer, &named)?;
    let own = format!("agents/{}/", writer.slug());
    // Others may share their memory with it, to be read.
    let file = passage.path.strip_prefix(&own).ok_or_else(|| RequestError::forbidden("this is not your memory"))?;
    let id = hash.parse().map_err(|error| RequestError::invalid(format!("`{hash}` is not a hash: {error}")))?;
    delete_chunk(writer, file, id)
}

fn last_chunk(workspace: &Workspace, path: &str) -> Option<String> {
    let path = VaultPath::new(path).ok()?;
    let source = workspace.source(&path).ok()?;
    last_of(path.as_str(), &source.text)
}

fn last_of(path: &str, text: &str) -> Option<String> {
    let path = VaultPath::new(path).ok()?;
    let chunks = chunk(&path, &Note::parse(text, path.stem()), text);
    chunks.last().map(|chunk| chunk.id.to_string())
}
