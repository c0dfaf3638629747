//! Keeping and dropping a text for whoever asks: the person's as a note, an agent's in its own memory.

use super::error::{ErrorKind, ServiceError};
use super::start::Service;
use super::views::{ForgetParams, MemoryChange, MemoryGetParams, MemorySaveParams, SaveParams, Saved};
use crate::access::{Principal, WriteMode};
use crate::derive::{ChunkId, chunk};
use crate::note::Note;
use crate::path::VaultPath;
use crate::vault::{is_folder_name, slug};

impl Service {
    /// Keeps a text. An agent's is added to `memory/<collection>.md`, or to the file that `memory_save` takes, below a heading that
    /// is its title; tags and metadata are the person's alone. The hash is then that of its last passage; zeros where somebody has
    /// changed the file since.
    ///
    /// # Errors
    /// As [`Service::save`] and [`Service::memory_save`].
    pub fn keep(&self, principal: &Principal, params: &SaveParams) -> Result<Saved, ServiceError> {
        if !matches!(principal, Principal::Agent(_)) {
            return self.save(principal, params);
        }
        if let Some(name) = params.collection.as_deref().filter(|name| !is_folder_name(name)) {
            return Err(ServiceError::invalid(format!("`collection` is {name:?}; it takes the name of a file")));
        }
        let content = match &params.title {
            Some(title) => format!("## {title}\n\n{}", params.content),
            None => params.content.clone(),
        };
        let save =
            |file| self.memory_save(principal, &MemorySaveParams { content: content.clone(), file, append: None });
        let file = params.collection.as_deref().map(|collection| format!("memory/{}.md", slug(collection)));
        let change = match save(file.clone()) {
            // Where the agent may write `MEMORY.md` alone, it goes there.
            Err(error)
                if error.kind == ErrorKind::Forbidden && file.is_some() && self.writes_prompts_alone(principal) =>
            {
                save(None)?
            }
            change => change?,
        };
        let MemoryChange { path, chunks, redacted, searchable, .. } = change;
        // It is written, whatever became of the file since.
        let hash = self.last_passage(&path).unwrap_or_else(|| ChunkId::from_bits(0).to_string());
        Ok(Saved { ok: true, hash, path, chunks, existing: false, redacted, searchable })
    }

    /// Drops the passage with a hash, and says what brings it back. An agent's is one of its own memory.
    ///
    /// # Errors
    /// As [`Service::forget`] and [`Service::memory_delete`].
    pub fn drop_passage(&self, principal: &Principal, hash: &str) -> Result<Option<String>, ServiceError> {
        let Principal::Agent(caller) = principal else {
            let params = ForgetParams { hash: Some(hash.to_owned()), ..ForgetParams::default() };
            return self.forget(principal, &params).map(|forgotten| forgotten.checkpoint_id);
        };
        let named = MemoryGetParams { hash: Some(hash.to_owned()), ..MemoryGetParams::default() };
        let passage = self.memory_get(principal, &named)?;
        let own = format!("agents/{}/", caller.slug);
        // Others may share their memory with it, to be read.
        let file = passage.path.strip_prefix(&own).ok_or_else(|| ServiceError::forbidden("this is not your memory"))?;
        let id = hash.parse().map_err(|error| ServiceError::invalid(format!("`{hash}` is not a hash: {error}")))?;
        self.memory_delete_chunk(principal, file, id).map(|change| Some(change.checkpoint_id))
    }

    fn writes_prompts_alone(&self, principal: &Principal) -> bool {
        let Principal::Agent(caller) = principal else { return false };
        self.policy_of(caller).is_some_and(|policy| policy.write_mode == WriteMode::PromptOnly)
    }

    fn last_passage(&self, path: &str) -> Option<String> {
        let path = VaultPath::new(path).ok()?;
        let source = self.source(&path).ok()?;
        let chunks = chunk(&path, &Note::parse(&source.text, path.stem()), &source.text);
        chunks.last().map(|passage| passage.id.to_string())
    }
}
