//! The use cases.

use std::ops::Range;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Instant;

use jiff::Timestamp;
use serde_json::Value;

use super::error::ServiceError;
use super::start::Service;
use super::time::{Edge, day_of, parse, rfc3339};
use super::views::{
    Backup, Browse, BrowseParams, ChunkView, Collections, HitView, Model, Reindexing, Scores, SearchParams,
    SearchResponse, Skipped, Status, Verification, Watching,
};
use crate::access::{Principal, Scope};
use crate::chunk::ChunkId;
use crate::config::Mode;
use crate::fs::folder_bytes;
use crate::index::catalog::{CatalogError, ChunkText};
use crate::index::keyword::KeywordError;
use crate::index::{FileEntry, Snapshot};
use crate::path::VaultPath;
use crate::search::{Degraded, Filter, Highlighter, SearchError, SearchRequest, search, snippet};
use crate::sync::{ModelStatus, Phase, Syncer, Verified};
use crate::vault::{ReadError, Signal, Source, read};

/// Queries over this are refused: nothing that a person or an agent looks for is longer.
const MAX_QUERY_BYTES: usize = 16 * 1024;

impl Service {
    pub(super) fn snapshot(&self) -> Result<Arc<Snapshot>, ServiceError> {
        self.shared.snapshot().ok_or_else(|| {
            let failure = self.shared.progress().failure;
            let message = failure.unwrap_or_else(|| "the index is being opened".into());
            ServiceError::unavailable(message, "try again in a moment; `vault status` tells how far it is")
        })
    }

    /// Finds passages.
    ///
    /// # Errors
    /// When a parameter makes no sense, or the index is not open yet.
    pub fn search(&self, principal: &Principal, params: &SearchParams) -> Result<SearchResponse, ServiceError> {
        let started = Instant::now();
        if params.q.len() > MAX_QUERY_BYTES {
            let message = format!("`q` has {} bytes; it takes {MAX_QUERY_BYTES}", params.q.len());
            return Err(ServiceError::invalid(message));
        }
        let request = SearchRequest {
            text: params.q.clone(),
            mode: params.mode.unwrap_or(self.config.search.mode),
            limit: limit(params.limit, self.config.search.limit)?,
            filter: filter(params)?,
        };
        let snapshot = self.snapshot()?;
        let embedder = self.shared.embedder();
        let scope = Scope::of(principal);
        let config = &self.config.search;
        let searching = || search(&snapshot, embedder.as_deref(), &scope, config, &request);
        // tantivy panics on what it does not expect in its files.
        let found = catch_unwind(AssertUnwindSafe(searching)).unwrap_or_else(|_| {
            let failed = KeywordError::damaged("a search in it failed unexpectedly");
            Err(SearchError::Keyword(failed))
        });
        let found = match found {
            Err(SearchError::Keyword(error)) if error.is_damage() => return Err(self.suspect(&error)),
            found => found?,
        };
        let mut degraded = found.degraded;
        let mut highlighter = Highlighter::new(&params.q, config.stemmer);
        let mut results = Vec::with_capacity(found.hits.len());
        for hit in found.hits {
            let snippet = snippet(&hit.chunk.text, &mut highlighter, config.max_snippet_chars);
            let highlights = params.highlight.then(|| in_characters(&snippet, &highlighter.matches(&snippet)));
            match self.view(&snapshot, &hit.file, hit.chunk) {
                Ok(chunk) => results.push(HitView {
                    snippet,
                    highlights,
                    score: hit.score,
                    scores: Scores { keyword: hit.keyword, semantic: hit.semantic },
                    chunk,
                }),
                Err(error) if error.is_damage() => degraded = Some(Degraded::Damaged(error.to_string())),
                Err(error) => return Err(error.into()),
            }
        }
        if let Some(Degraded::Damaged(reason)) = &degraded {
            self.suspect(reason);
        }
        Ok(SearchResponse {
            query: params.q.clone(),
            mode: found.mode,
            results,
            degraded: degraded.map(|degraded| self.explain(&degraded, found.mode)).or_else(|| self.mending()),
            embedded_share: share(snapshot.embedded(), snapshot.embeddable),
            took_ms: started.elapsed().as_secs_f64() * 1000.0,
        })
    }

    fn explain(&self, degraded: &Degraded, mode: Mode) -> String {
        let by_words = if mode == Mode::Keyword { "searched by keyword alone: " } else { "" };
        match degraded {
            Degraded::ModelFailed(reason) => format!("{by_words}the model failed: {reason}"),
            Degraded::Embedding { embedded, of } => {
                format!("{embedded} of {of} passages are embedded so far; the others are found by keyword alone")
            }
            Degraded::NoWords => "searched by meaning alone: the keyword index is damaged and being built anew".into(),
            Degraded::Damaged(reason) => {
                format!("some passages cannot be shown ({reason}); the index is checked and mended")
            }
            Degraded::PhraseAbsent => "no passage has the quoted phrase as it is; these have its words".into(),
            Degraded::NoModel if self.syncer.is_none() => {
                format!("{by_words}another process is writing the index; this is the index as it is now")
            }
            Degraded::NoModel => match self.shared.progress().model {
                ModelStatus::Off => format!("{by_words}`embed.model` is \"none\""),
                ModelStatus::Failed(reason) => format!("{by_words}{reason}"),
                ModelStatus::Loading | ModelStatus::Ready { .. } => format!("{by_words}the model is being loaded"),
            },
        }
    }

    /// Why not everything may be found, while the index is built anew.
    fn mending(&self) -> Option<String> {
        let progress = self.shared.progress();
        progress.rebuilt.filter(|_| progress.mending).map(|why| format!("not everything may be found yet: {why}"))
    }

    /// Has everything checked, and mended where it is damaged; what to say meanwhile.
    fn suspect(&self, reason: &dyn std::fmt::Display) -> ServiceError {
        if let Some(syncer) = &self.syncer {
            syncer.suspect();
        }
        ServiceError::unavailable(reason.to_string(), "the index is checked and mended; try again in a moment")
    }

    /// A failure of the catalog: what is damaged is mended.
    pub(super) fn damaged(&self, error: CatalogError) -> ServiceError {
        if error.is_damage() { self.suspect(&error) } else { error.into() }
    }

    pub(super) fn view(
        &self,
        snapshot: &Snapshot,
        file: &FileEntry,
        chunk: ChunkText,
    ) -> Result<ChunkView, CatalogError> {
        let metadata = snapshot.read(|reader| reader.metadata(file.id))?;
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
            obsidian_url: obsidian_url(&self.outside.on_disk(self.home.root(), &file.path)),
            tags: file.tags.clone(),
            metadata: metadata.unwrap_or(Value::Object(serde_json::Map::new())),
            created_at: rfc3339(file.created_ms),
            updated_at: rfc3339(file.updated_ms),
        })
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
        let id: ChunkId =
            hash.parse().map_err(|error| ServiceError::invalid(format!("`{hash}` is not a hash: {error}")))?;
        let snapshot = self.snapshot()?;
        let scope = Scope::of(principal);
        for row in snapshot.read(|reader| reader.rows_of(id)).map_err(|error| self.damaged(error))? {
            let chunk = snapshot.read(|reader| reader.chunk(row)).map_err(|error| self.damaged(error))?;
            let Some(chunk) = chunk else { continue };
            if let Some(file) = snapshot.files.get(chunk.file).filter(|file| scope.allows(file.private)) {
                return self.view(&snapshot, file, chunk).map_err(|error| self.damaged(error));
            }
        }
        Err(ServiceError::not_found(format!("no passage has the hash {hash}; it changes when the text does")))
    }

    /// A page of passages, of the newest notes first.
    ///
    /// # Errors
    /// When a parameter makes no sense, or the index is not open yet.
    pub fn browse(&self, principal: &Principal, params: &BrowseParams) -> Result<Browse, ServiceError> {
        let (limit, offset) = (limit(params.limit, 20)?, params.offset.unwrap_or(0));
        let day = params.day.as_deref().map(|day| day_of("day", day)).transpose()?;
        let snapshot = self.snapshot()?;
        let mut files: Vec<&Arc<FileEntry>> = visible(&snapshot, principal)
            .filter(|file| params.collection.as_deref().is_none_or(|collection| file.path.collection() == collection))
            .filter(|file| day.as_ref().is_none_or(|day| day.contains(&file.updated_ms)))
            .collect();
        files.sort_by(|one, two| two.updated_ms.cmp(&one.updated_ms).then_with(|| one.path.cmp(&two.path)));
        let total = files.iter().map(|file| file.chunks.len()).sum();
        let page = files.iter().flat_map(|file| file.chunks.iter().map(move |chunk| (file, chunk.row)));
        let mut chunks = Vec::new();
        for (file, row) in page.skip(offset).take(limit) {
            let chunk = snapshot.read(|reader| reader.chunk(row));
            let view = chunk.and_then(|chunk| chunk.map(|chunk| self.view(&snapshot, file, chunk)).transpose());
            match view {
                Ok(view) => chunks.extend(view),
                Err(error) if error.is_damage() => drop(self.damaged(error)),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(Browse { chunks, total })
    }

    /// The names of the collections.
    ///
    /// # Errors
    /// When the index is not open yet.
    pub fn collections(&self, principal: &Principal) -> Result<Collections, ServiceError> {
        let snapshot = self.snapshot()?;
        let names: std::collections::BTreeSet<String> =
            visible(&snapshot, principal).map(|file| file.path.collection().to_owned()).collect();
        Ok(Collections { collections: names.into_iter().collect() })
    }

    /// How the vault and its index are. For the owner alone.
    ///
    /// # Errors
    /// When the catalog cannot be read.
    pub fn status(&self) -> Result<Status, ServiceError> {
        let progress = self.shared.progress();
        let snapshot = self.shared.snapshot();
        let snapshot = snapshot.as_deref();
        let problems = match snapshot {
            // Whatever is wrong with the index, its status can be had.
            Some(snapshot) => match snapshot.read(|reader| reader.problems()) {
                Err(error) if error.is_damage() => {
                    self.damaged(error);
                    Vec::new()
                }
                problems => problems?,
            },
            None => Vec::new(),
        };
        Ok(Status {
            version: env!("CARGO_PKG_VERSION").into(),
            vault: self.home.root().display().to_string(),
            phase: phase(progress.phase).into(),
            caught_up: progress.caught_up,
            files: snapshot.map_or(0, |snapshot| snapshot.files.len()),
            chunks: snapshot.map_or(0, Snapshot::chunks),
            embedded: snapshot.map_or(0, Snapshot::embedded),
            embeddable: snapshot.map_or(0, |snapshot| snapshot.embeddable),
            pending_files: progress.pending_files,
            pending_embeddings: progress.pending_embeddings,
            files_done: progress.files_done,
            embeddings_done: progress.embeddings_done,
            model: Model::of(progress.model),
            watching: Watching::of(progress.watch, self.config.index.reconcile_seconds),
            index_bytes: folder_bytes(&self.index_dir),
            index_dir: self.index_dir.display().to_string(),
            text_bytes: snapshot.map_or(0, |snapshot| snapshot.files.iter().map(|file| file.stamp.size).sum()),
            problems: problems.into_iter().map(|(path, reason)| Skipped { path, reason }).collect(),
            failure: progress.failure,
            rebuilt: progress.rebuilt,
            verified: progress.verified.map(verification),
            capture: self.capture_state(),
            backup: self.backup.as_ref().map(|timer| Backup::of(timer.state())),
        })
    }

    /// Starts to compare every note with the index, or with `full` to build it from nothing.
    ///
    /// # Errors
    /// When another process writes the index, or it cannot be written.
    pub fn reindex(&self, full: bool) -> Result<Reindexing, ServiceError> {
        self.writer()?.reindex(full)?;
        Ok(Reindexing { ok: true })
    }

    /// Has places looked at, as if the watcher had named them.
    ///
    /// # Errors
    /// When another process writes the index, or it cannot be written.
    pub fn notice(&self, signals: Vec<Signal>) -> Result<(), ServiceError> {
        Ok(self.writer()?.notice(signals)?)
    }

    /// Compares everything in the index with its checksums. What is damaged is mended from then on.
    ///
    /// # Errors
    /// When another process writes the index, or it cannot be read.
    pub fn verify(&self) -> Result<Verification, ServiceError> {
        Ok(verification(self.writer()?.verify()?))
    }

    fn writer(&self) -> Result<&Syncer, ServiceError> {
        let elsewhere = || ServiceError::unavailable("another process is writing the index", "try again in a moment");
        self.syncer.as_ref().ok_or_else(elsewhere)
    }
}

fn verification(verified: Verified) -> Verification {
    let Verified { at_ms, took_ms, counts: [files, chunks, embeddings], damage } = verified;
    Verification { at: rfc3339(at_ms), took_ms, files, chunks, embeddings, damage }
}

pub(super) fn visible<'a>(snapshot: &'a Snapshot, principal: &Principal) -> impl Iterator<Item = &'a Arc<FileEntry>> {
    let scope = Scope::of(principal);
    snapshot.files.iter().filter(move |file| scope.allows(file.private))
}

fn filter(params: &SearchParams) -> Result<Filter, ServiceError> {
    let now = Timestamp::now();
    let time = |name, text: &Option<String>, edge| match text {
        Some(text) => parse(name, text, edge, now).map(Some),
        None => Ok(None),
    };
    Ok(Filter {
        collection: params.collection.clone(),
        path: params.path.clone(),
        tag: params.tag.clone(),
        since_ms: time("since", &params.since, Edge::Start)?,
        until_ms: time("until", &params.until, Edge::End)?,
    })
}

fn limit(asked: Option<usize>, default: usize) -> Result<usize, ServiceError> {
    match asked {
        None => Ok(default),
        Some(limit @ 1..=1000) => Ok(limit),
        Some(limit) => Err(ServiceError::invalid(format!("`limit` is {limit}; it takes 1 to 1000"))),
    }
}

pub(super) fn share(part: usize, whole: usize) -> f64 {
    if whole == 0 { 1.0 } else { part.min(whole) as f64 / whole as f64 }
}

pub(super) fn phase(phase: Phase) -> &'static str {
    match phase {
        Phase::Starting => "starting",
        Phase::Indexing => "indexing",
        Phase::Embedding => "embedding",
        Phase::Idle => "idle",
        Phase::Failing => "failing",
        Phase::Stopped => "stopped",
    }
}

/// Ranges of bytes, in order, as ranges of characters.
fn in_characters(text: &str, ranges: &[Range<usize>]) -> Vec<[usize; 2]> {
    let (mut bytes, mut characters) = (0, 0);
    let mut at = |byte: usize| {
        characters += text[bytes..byte].chars().count();
        bytes = byte;
        characters
    };
    ranges.iter().map(|range| [at(range.start), at(range.end)]).collect()
}

/// Names lines of a note: `notes/api.md#L42-L58`, or `notes/api.md#L42` for one.
pub fn citation(path: &str, first: u32, last: u32) -> String {
    if first == last { format!("{path}#L{first}") } else { format!("{path}#L{first}-L{last}") }
}

/// Opens a note in Obsidian, given its place on disk.
pub(super) fn obsidian_url(on_disk: &Path) -> String {
    format!("obsidian://open?path={}", percent_encode(&on_disk.to_string_lossy(), ""))
}

/// Percent-encodes a text for a URL: all but RFC 3986's unreserved characters and those of `kept`.
pub fn percent_encode(text: &str, kept: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let unreserved = byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) || kept.as_bytes().contains(&byte);
        if unreserved {
            encoded.push(char::from(byte));
        } else {
            encoded.push_str(&format!("%{byte:02X}"));
        }
    }
    encoded
}
