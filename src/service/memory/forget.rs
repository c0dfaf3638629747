//! Forgets what an agent says in words of its own, when it is clear what that is.

use super::super::error::{ErrorKind, ServiceError};
use super::super::read::{citation, no_passage};
use super::super::save::text;
use super::super::start::Service;
use super::super::views::{MemoryCandidate, MemoryChange, MemoryForgetParams, MemoryForgotten};
use super::candidates::{Meant, Place, meant, places};
use super::edit::checked;
use super::own::{Own, forbidden};
use super::target::{TargetError, own_name, writable};
use super::write::{Outcome, refused};
use crate::access::{Principal, WriteMode};
use crate::derive::{ChunkId, chunk, without_chunk, without_lines};
use crate::note::Note;
use crate::path::VaultPath;
use crate::vault::{Action, CheckpointId};

/// Maximum number of candidates that are shown.
const MAX_CANDIDATES: usize = 6;
/// Maximum number of hits that are looked through.
const HITS: usize = 10;

impl Service {
    /// Forgets a paragraph, list item or table row of an agent's own memory, when it is clear which one is meant; else says which
    /// may be. Returns when it can no longer be found.
    ///
    /// # Errors
    /// When it is not an agent that asks or it may not write, the query is empty, or the disk refuses.
    pub fn memory_forget(
        &self,
        principal: &Principal,
        params: &MemoryForgetParams,
    ) -> Result<MemoryForgotten, ServiceError> {
        let own = self.own(principal)?;
        if own.mode == WriteMode::Off {
            return Err(forbidden(TargetError::Mode(own.mode).to_string(), "the person says so in your `agent.md`"));
        }
        let query = text("query", &params.query)?;
        let places = self.places(&own)?;
        let near = self.near(&own, &query, &places)?;
        let mut forgotten = MemoryForgotten {
            ok: true,
            deleted: Vec::new(),
            candidates: Vec::new(),
            needs_confirmation: false,
            checkpoint_ids: Vec::new(),
            searchable: true,
        };
        match meant(&query, &places, &near, MAX_CANDIDATES) {
            Meant::One(at) if params.dry_run.unwrap_or(false) => forgotten.candidates.push(self.shown(&places[at])),
            Meant::One(at) => {
                let id = self.forget_place(&own, &places[at])?;
                let change = self.changed(&own, "memory_forget", &places[at].path, &id);
                forgotten.searchable = change.searchable;
                forgotten.deleted.push(self.shown(&places[at]));
                forgotten.checkpoint_ids.push(id.to_string());
            }
            Meant::Perhaps(some) => {
                forgotten.needs_confirmation = !some.is_empty();
                forgotten.candidates.extend(some.into_iter().map(|at| self.shown(&places[at])));
            }
        }
        Ok(forgotten)
    }

    /// Forgets a chunk of a file of an agent's own memory, with what is hidden in it. Returns when it can no longer be found.
    ///
    /// # Errors
    /// When it is not an agent that asks or it may not write the file, the chunk is not there, or the disk refuses.
    pub(in super::super) fn memory_delete_chunk(
        &self,
        principal: &Principal,
        file: &str,
        id: ChunkId,
    ) -> Result<MemoryChange, ServiceError> {
        let own = self.own(principal)?;
        let path = self.file_to_write(&own, Some(file))?;
        let checkpoint = self.rewrite(&own, &path, Action::Forget, 0, |existing| {
            let existing = existing.ok_or_else(|| no_passage(&id.to_string()))?;
            let note = Note::parse(existing, path.stem());
            let chunks = chunk(&path, &note, existing);
            let chunk = chunks.iter().find(|chunk| chunk.id == id).ok_or_else(|| no_passage(&id.to_string()))?;
            let left = without_chunk(&note, existing, chunk)
                .map_err(|error| ServiceError::conflict(format!("`{path}`: {error}")))?;
            // The last of the text goes, and the frontmatter is the person's.
            let left = left.text.unwrap_or_else(|| existing[..note.body.start].to_owned());
            let (left, empty) = checked(existing, &note, left).map_err(|error| refused(&path, error))?;
            Ok(if empty { Outcome::Gone } else { Outcome::Text(left) })
        })?;
        Ok(self.changed(&own, "memory_delete", &path, &checkpoint))
    }

    /// All places of the files that the agent may write, in the order of their paths.
    fn places(&self, own: &Own) -> Result<Vec<Place>, ServiceError> {
        let reach = self.reach_own(own)?;
        let files = reach.files().map(|file| &file.path);
        // What is seen is neither left out nor kept from the agent.
        let may_write =
            |path: &&VaultPath| own_name(own.slug, path).is_some_and(|file| writable(own.slug, own.mode, file).is_ok());
        let mut paths: Vec<&VaultPath> = files.filter(may_write).collect();
        paths.sort_unstable();
        let mut found = Vec::new();
        for path in paths {
            if let Some((path, text)) = self.file_of_own(own, path.as_str())? {
                found.extend(places(&path, &Note::parse(&text, path.stem()), &text));
            }
        }
        Ok(found)
    }

    /// Places in the passages that a search finds, the best first.
    fn near(&self, own: &Own<'_>, query: &str, places: &[Place]) -> Result<Vec<usize>, ServiceError> {
        let found = self.search_own(own, query, Some(HITS))?;
        let within = |at: &usize, path: &str, first: u32, last: u32| {
            let place = &places[*at];
            place.path.as_str() == path && place.lines.0 <= last as usize && place.lines.1 >= first as usize
        };
        let near = found.results.iter().map(|hit| &hit.chunk).flat_map(|chunk| {
            (0..places.len()).filter(move |at| within(at, &chunk.path, chunk.line_start, chunk.line_end))
        });
        Ok(near.collect())
    }

    fn forget_place(&self, own: &Own<'_>, place: &Place) -> Result<CheckpointId, ServiceError> {
        let path = &place.path;
        self.rewrite(own, path, Action::Forget, 0, |existing| {
            let changed = || ServiceError::conflict(format!("`{path}` has changed since; nothing was written"));
            let existing = existing.ok_or_else(changed)?;
            let note = Note::parse(existing, path.stem());
            let now = places(path, &note, existing);
            let now = now.iter().find(|found| found.hash == place.hash).ok_or_else(changed)?;
            let left = without_lines(&note, existing, now.lines.0, now.lines.1).map_err(|error| ServiceError {
                kind: ErrorKind::Conflict,
                message: format!("`{path}`: {error}"),
                hint: Some("nothing was written".into()),
            })?;
            // The last of the text goes, and the frontmatter is the person's.
            let left = left.text.unwrap_or_else(|| existing[..note.body.start].to_owned());
            let (left, empty) = checked(existing, &note, left).map_err(|error| refused(path, error))?;
            Ok(if empty { Outcome::Gone } else { Outcome::Text(left) })
        })
    }

    fn shown(&self, place: &Place) -> MemoryCandidate {
        let most = self.config.search.max_snippet_chars;
        let (line_start, line_end) = (place.lines.0 as u32, place.lines.1 as u32);
        let cut = place.text.char_indices().nth(most);
        MemoryCandidate {
            hash: place.hash.to_string(),
            path: place.path.to_string(),
            text: cut.map_or_else(|| place.text.clone(), |(at, _)| format!("{}…", &place.text[..at])),
            line_start,
            line_end,
            citation: citation(place.path.as_str(), line_start, line_end),
        }
    }
}
