//! Reading passages: by name, by the page, and where each stands.

use std::sync::Arc;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use super::error::ServiceError;
use super::reach::Reach;
use super::search::within;
use super::start::Service;
use super::time::{day_of, rfc3339};
use super::views::{Browse, BrowseParams, ChunkView, Collections};
use crate::access::Principal;
use crate::derive::ChunkId;
use crate::engine::{ChunkText, EngineError, FileEntry, Reader};
use crate::path::VaultPath;
use crate::vault::{ReadError, Source, read};

impl Service {
    pub(super) fn snapshot(&self) -> Result<Arc<dyn Reader>, ServiceError> {
        self.shared.snapshot().ok_or_else(|| {
            let failure = self.shared.progress().failure;
            let message = failure.unwrap_or_else(|| "the index is being opened".into());
            ServiceError::unavailable(message, "try again in a moment; `vault status` tells how far it is")
        })
    }

    /// Has everything checked, and mended where it is damaged; what to say meanwhile.
    pub(super) fn suspect(&self, reason: &dyn std::fmt::Display) -> ServiceError {
        if let Some(syncer) = &self.syncer {
            syncer.suspect();
        }
        ServiceError::unavailable(reason.to_string(), "the index is checked and mended; try again in a moment")
    }

    /// A failure of the catalog: what is damaged is mended.
    pub(super) fn damaged(&self, error: EngineError) -> ServiceError {
        if error.is_damage() { self.suspect(&error) } else { error.into() }
    }

    pub(super) fn view(&self, reach: &Reach, file: &FileEntry, chunk: ChunkText) -> Result<ChunkView, EngineError> {
        let metadata = reach.snapshot.metadata(file.id)?;
        let metadata = metadata.and_then(|metadata| serde_json::from_str(&metadata).ok());
        let (line_start, line_end) = chunk.lines;
        Ok(ChunkView {
            hash: chunk.id.to_string(),
            collection: file.path.collection().to_owned(),
            path: file.path.to_string(),
            title: file.title.clone(),
            heading_path: chunk.heading_path,
            content: chunk.text,
            line_start,
            line_end,
            citation: citation(file.path.as_str(), line_start, line_end),
            obsidian_url: self.obsidian_url(reach, &file.path),
            tags: file.tags.clone(),
            metadata: metadata.unwrap_or(Value::Object(serde_json::Map::new())),
            created_at: rfc3339(file.created_ms),
            updated_at: rfc3339(file.updated_ms),
        })
    }

    /// Opens a note in Obsidian. Agents are not told where the vault is.
    pub(super) fn obsidian_url(&self, reach: &Reach, path: &VaultPath) -> Option<String> {
        let on_disk = self.outside.on_disk(self.home.root(), path);
        let place = percent_encode(&on_disk.to_string_lossy());
        (!reach.is_agents()).then(|| format!("obsidian://open?path={place}"))
    }

    /// Reads a note as it is on disk.
    pub(super) fn source(&self, path: &VaultPath) -> Result<Source, ReadError> {
        let (folder, within) = self.outside.place(self.home.root(), path);
        read(folder, within.ok_or(ReadError::Gone)?.as_ref(), self.config.index.max_file_bytes)
    }

    /// The passage with a name.
    ///
    /// # Errors
    /// When the name is not one, or no passage in the principal's scope has it.
    pub fn chunk(&self, principal: &Principal, hash: &str) -> Result<ChunkView, ServiceError> {
        let found = self.chunk_in(&self.reach(principal)?, hash);
        self.log_read(principal, "passage", hash, found.iter().map(|chunk| chunk.citation.clone()).collect());
        found
    }

    pub(super) fn chunk_in(&self, reach: &Reach, hash: &str) -> Result<ChunkView, ServiceError> {
        let id: ChunkId =
            hash.parse().map_err(|error| ServiceError::invalid(format!("`{hash}` is not a hash: {error}")))?;
        let is_settled = |file: &FileEntry| !reach.is_agents() || self.is_as_indexed(reach, file);
        match self.passage_in(reach, id)?.filter(|(file, _)| is_settled(file)) {
            Some((file, chunk)) => self.view(reach, file, chunk).map_err(|error| self.damaged(error)),
            None => Err(no_passage(hash)),
        }
    }

    /// The passage with a name, and its note, where that is seen.
    pub(super) fn passage_in<'a>(
        &self,
        reach: &'a Reach,
        id: ChunkId,
    ) -> Result<Option<(&'a FileEntry, ChunkText)>, ServiceError> {
        let snapshot = &reach.snapshot;
        let mut rows = snapshot.rows_of(id).map_err(|error| self.damaged(error))?;
        if rows.is_empty() && reach.is_agents() {
            // Any other: what is not there takes as long as what is hidden (`benches/hidden`).
            rows.extend(snapshot.files().iter().find_map(|file| file.chunks.first()).map(|chunk| chunk.row));
        }
        for row in rows {
            let chunk = match snapshot.chunk(row) {
                Ok(Some(chunk)) if chunk.id == id => chunk,
                Ok(_) => continue,
                // An agent is not told that what it may not see is damaged.
                Err(error) if error.is_damage() && reach.is_agents() => {
                    self.damaged(error);
                    continue;
                }
                Err(error) => return Err(self.damaged(error)),
            };
            if let Some(file) = snapshot.files().get(chunk.file).filter(|file| reach.visible.has(file)) {
                return Ok(Some((file, chunk)));
            }
        }
        Ok(None)
    }

    /// A page of passages, of the newest notes first.
    ///
    /// # Errors
    /// When a parameter makes no sense, or the index is not open yet.
    pub fn browse(&self, principal: &Principal, params: &BrowseParams) -> Result<Browse, ServiceError> {
        let (limit, offset) = (limit(params.limit, 20)?, params.offset.unwrap_or(0));
        let day = params.day.as_deref().map(|day| day_of("day", day)).transpose()?;
        let reach = self.settled_reach(principal)?;
        let snapshot = &reach.snapshot;
        let limit = reach.limits.map_or(limit, |limits| limit.min(limits.max_results));
        let mut files: Vec<&Arc<FileEntry>> = reach
            .files()
            .filter(|file| params.collection.as_deref().is_none_or(|collection| file.path.collection() == collection))
            .filter(|file| day.as_ref().is_none_or(|day| day.contains(&file.updated_ms)))
            .collect();
        files.sort_by(|one, two| two.updated_ms.cmp(&one.updated_ms).then_with(|| one.path.cmp(&two.path)));
        let total = files.iter().map(|file| file.chunks.len()).sum();
        let page = files.iter().flat_map(|file| file.chunks.iter().map(move |chunk| (file, chunk.row)));
        let mut chunks = Vec::new();
        for (file, row) in page.skip(offset).take(limit) {
            reach.go_on()?;
            let chunk = snapshot.chunk(row);
            let view = chunk.and_then(|chunk| chunk.map(|chunk| self.view(&reach, file, chunk)).transpose());
            match view {
                Ok(view) => chunks.extend(view),
                Err(error) if error.is_damage() => drop(self.damaged(error)),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(limits) = reach.limits {
            let mut left = limits.max_injected_chars;
            chunks.retain_mut(|chunk| {
                let names = within(chunk, left);
                if left == 0 || names > left {
                    left = 0;
                    return false;
                }
                left -= names;
                chunk.content = chunk.content.chars().take(left).collect();
                left -= chunk.content.chars().count();
                true
            });
        }
        let given = chunks.iter().map(|chunk| chunk.citation.clone()).collect();
        self.log_read(principal, "browse", params.collection.as_deref().unwrap_or_default(), given);
        Ok(Browse { chunks, total })
    }

    /// The names of the collections.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn collections(&self, principal: &Principal) -> Result<Collections, ServiceError> {
        let reach = self.settled_reach(principal)?;
        let names: std::collections::BTreeSet<String> =
            reach.files().map(|file| file.path.collection().to_owned()).collect();
        self.log_read(principal, "collections", "", Vec::new());
        Ok(Collections { collections: names.into_iter().collect() })
    }
}

pub(super) fn limit(asked: Option<usize>, default: usize) -> Result<usize, ServiceError> {
    match asked {
        None => Ok(default),
        Some(limit @ 1..=1000) => Ok(limit),
        Some(limit) => Err(ServiceError::invalid(format!("`limit` is {limit}; it takes 1 to 1000"))),
    }
}

pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part.min(whole) as f64 / whole as f64 }
}

pub(super) fn no_passage(hash: &str) -> ServiceError {
    ServiceError::not_found(format!("no passage has the hash {hash}; it changes when the text does"))
}

/// Splits `a.md:3-5`, `a.md:3` or `a.md#L3-L5` into the path and its first and last line, the last if it is said. What
/// [`citation`] makes is read again.
pub fn split_lines(text: &str) -> (&str, Option<(usize, Option<usize>)>) {
    let number = |text: &str| text.strip_prefix('L').unwrap_or(text).parse().ok();
    let parse = |range: &str| match range.split_once('-') {
        Some((first, last)) => Some((number(first)?, Some(number(last)?))),
        None => number(range).map(|line| (line, None)),
    };
    [text.rsplit_once("#L"), text.rsplit_once(':')]
        .into_iter()
        .flatten()
        .find_map(|(path, range)| Some((path, Some(parse(range)?))))
        .unwrap_or((text, None))
}

/// Names lines of a note: `notes/api.md#L42-L58`, or `notes/api.md#L42` for one.
pub fn citation(path: &str, first: u32, last: u32) -> String {
    if first == last { format!("{path}#L{first}") } else { format!("{path}#L{first}-L{last}") }
}

/// RFC 3986's unreserved characters.
const UNRESERVED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
const WITHOUT_SLASH: AsciiSet = UNRESERVED.remove(b'/');

/// Percent-encodes a text for a URL: all but RFC 3986's unreserved characters.
pub fn percent_encode(text: &str) -> String {
    utf8_percent_encode(text, &UNRESERVED).to_string()
}

/// The same for a path, whose slashes stay.
pub fn percent_encode_path(path: &str) -> String {
    utf8_percent_encode(path, &WITHOUT_SLASH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_search_names_is_read_again() {
        for (text, path, lines) in [
            ("notes/a.md", "notes/a.md", None),
            ("notes/a.md:3", "notes/a.md", Some((3, None))),
            ("notes/a.md:3-5", "notes/a.md", Some((3, Some(5)))),
            ("notes/#1.md#L3-L5", "notes/#1.md", Some((3, Some(5)))),
            ("notes/10:30 talk.md", "notes/10:30 talk.md", None),
        ] {
            assert_eq!(split_lines(text), (path, lines), "{text}");
        }
        assert_eq!(split_lines(&citation("a.md", 2, 9)), ("a.md", Some((2, Some(9)))));
    }
}
