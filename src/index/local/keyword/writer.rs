//! Writing to the keyword index, and merging its segments in the background, so that one that grew save by save stays quick to search.
//!
//! tantivy would merge by itself, but tells nobody: a writer that is closed in the middle of a merge leaves its threads at work
//! in a folder that is to be removed or opened again. So its own policy is switched off, and each merge is started here, right after
//! a commit, and waited for when the writer is dropped.

use std::path::Path;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tantivy::index::{SegmentId, SegmentMeta};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy, MergePolicy, NoMergePolicy};
use tantivy::{FutureResult, Index, IndexReader, IndexWriter, ReloadPolicy, TantivyDocument, Term};

use super::schema::{ChunkFields, check, open};
use super::searcher::KeywordSearcher;
use crate::base::config::StemmerLanguage;
use crate::base::fs::crash;
use crate::index::engine::EngineError;

/// What a commit carries, to tell which state of the catalog it belongs to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Payload {
    /// What counts as a word, and how chunks become documents: [`FORMAT`].
    pub format: u32,
    /// The language of the stems.
    pub stemmer: StemmerLanguage,
    /// The catalog it follows.
    pub store: String,
    /// The last change of the catalog it has.
    pub seq: u64,
}

/// Counts up whenever the words change, or indexes of before may be wrong; an index of another format is rebuilt.
///
/// 2: what was removed first after a start could come back (see `burn_number`). 3: Thai, Lao, Khmer and Burmese are words.
/// 5: Korean is pairs; sara am, points and soft hyphens do not count. 6: stems are those of the note's language; who speaks.
/// 7: all who speak in a chunk.
pub const FORMAT: u32 = 7;

/// A chunk as the index takes it. The words are in the form of [`Words`](crate::text::derive::words::Words).
#[derive(Debug)]
pub(crate) struct WordDocument {
    /// Its row id.
    pub chunk: u64,
    /// Its file's row id.
    pub file: u32,
    /// Stems of the chunk and its neighbours.
    pub body: String,
    /// Stems of title and heading path.
    pub heading: String,
    /// Words of the chunk.
    pub own: String,
    /// Who speak in it.
    pub speakers: Vec<String>,
}

/// The one writer of a keyword index.
pub(crate) struct KeywordWriter {
    // Dropped before the writer, without which no merge comes to its end.
    merges: Merges,
    pub(super) index: Index,
    pub(super) writer: IndexWriter,
    pub(super) reader: IndexReader,
    pub(super) fields: ChunkFields,
}

// Replacing one 10-chunk note costs 11–16 ms of CPU from 1,000 to 100,000 chunks with one thread and 15 MB; with four
// threads it costs 70 ms and 118 MB.
const THREADS: usize = 1;
const MEMORY_BYTES: usize = 16_000_000;

impl KeywordWriter {
    /// Opens the index in a folder, or makes a new one. Every file is compared with its checksum.
    ///
    /// # Errors
    /// When the folder cannot be written to, another process writes to it, or the index is damaged or of another version.
    pub(crate) fn open(folder: &Path) -> Result<Self, EngineError> {
        let (index, fields) = open(folder)?;
        // Before anything reads them, for tantivy panics on what it does not expect. Half a millisecond a megabyte.
        check(&index, &mut || true)?;
        let options = IndexWriterOptions::builder()
            .num_worker_threads(THREADS)
            .memory_budget_per_thread(MEMORY_BYTES)
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options)?;
        writer.set_merge_policy(Box::new(NoMergePolicy));
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        let writer = Self { merges: Merges::new(), index, writer, reader, fields };
        writer.burn_number()?;
        Ok(writer)
    }

    /// Uses up the number that tantivy 0.27 would give the next operation.
    ///
    /// A new writer begins to count at the number of the last commit, C, and so it does after everything was removed. The first
    /// removal would be number C as well, and a merge of the segments as of commit C may take it for one that they have: those with a
    /// list of deletions made at C do not look at it, the others apply it, and the segment that comes out is taken
    /// to have it. What was to be removed would stay in the index for good.
    fn burn_number(&self) -> Result<(), EngineError> {
        self.writer.run(std::iter::empty())?;
        Ok(())
    }

    /// The payload of the last commit, if it is one of ours.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(crate) fn payload(&self) -> Result<Option<Payload>, EngineError> {
        let metas = self.index.load_metas()?;
        Ok(metas.payload.and_then(|payload| serde_json::from_str(&payload).ok()))
    }

    /// Removes a chunk.
    pub(crate) fn remove(&mut self, chunk: u64) {
        self.writer.delete_term(Term::from_field_u64(self.fields.chunk, chunk));
    }

    /// Removes all chunks of a file.
    pub(crate) fn remove_file(&mut self, file: u32) {
        self.writer.delete_term(Term::from_field_u64(self.fields.file, u64::from(file)));
    }

    /// Removes everything.
    ///
    /// # Errors
    /// When the index cannot be written to.
    pub(crate) fn clear(&mut self) -> Result<(), EngineError> {
        self.writer.delete_all_documents()?;
        self.burn_number()
    }

    /// Adds a chunk.
    ///
    /// # Errors
    /// When the index cannot be written to.
    pub(crate) fn add(&mut self, document: &WordDocument) -> Result<(), EngineError> {
        let mut fields = TantivyDocument::default();
        fields.add_u64(self.fields.chunk, document.chunk);
        fields.add_u64(self.fields.file, u64::from(document.file));
        fields.add_text(self.fields.body, &document.body);
        fields.add_text(self.fields.heading, &document.heading);
        fields.add_text(self.fields.own, &document.own);
        document.speakers.iter().for_each(|speaker| fields.add_text(self.fields.speaker, speaker));
        self.writer.add_document(fields)?;
        Ok(())
    }

    /// Makes what was added and removed last, and has segments merged where that is due.
    ///
    /// # Errors
    /// When the index cannot be written to; what was there before stays readable.
    pub(crate) fn commit(&mut self, payload: &Payload) -> Result<(), EngineError> {
        let mut commit = self.writer.prepare_commit()?;
        commit.set_payload(&serde_json::to_string(payload).expect("a struct of text and number is JSON"));
        crash::point("words-prepared");
        commit.commit()?;
        // What was committed is committed. A merge that cannot begin does so after a later commit.
        if let Err(error) = self.merges.start_due(&mut self.writer) {
            tracing::debug!("segments of the keyword index are not merged yet: {error}");
        }
        Ok(())
    }

    /// Leaves nothing of what was removed in the files. With the catalog's it takes two seconds for 109,000 chunks.
    ///
    /// # Errors
    /// When the index cannot be written to; what was there before stays readable.
    pub(crate) fn rewrite(&mut self) -> Result<(), EngineError> {
        self.merges.rewrite(&mut self.writer)?;
        crash::point("words-rewritten");
        Ok(())
    }

    /// What is checked of it, on whatever thread.
    pub(crate) fn index(&self) -> Index {
        self.index.clone()
    }

    /// Closes the index. A merge that takes longer than `patience` is left half-way: nothing refers to it, the next writer removes what
    /// it wrote, and the numbers of its operations are past it (see `burn_number`).
    pub(crate) fn close(mut self, patience: Duration) {
        self.merges.give_up_after(patience);
    }

    /// Opens what was committed last for searching; `before` lends what it knows of segments that are still there.
    ///
    /// # Errors
    /// When the index cannot be read.
    pub(crate) fn searcher(&self, before: Option<&KeywordSearcher>) -> Result<KeywordSearcher, EngineError> {
        self.reader.reload()?;
        KeywordSearcher::new(self.reader.searcher(), self.fields, before)
    }
}

/// Opens an index that another process writes, as it is now.
///
/// # Errors
/// When there is none, or it cannot be read.
pub fn open_searcher(folder: &Path) -> Result<KeywordSearcher, EngineError> {
    let (index, fields) = open(folder)?;
    let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
    KeywordSearcher::new(reader.searcher(), fields, None)
}

/// The merges of one writer. Dropping it waits for those that are under way, so that a folder can be removed or opened again.
pub(super) struct Merges {
    policy: LogMergePolicy,
    running: Vec<Merge>,
}

/// A merge under way.
struct Merge {
    segments: Vec<SegmentId>,
    /// Waits for tantivy's thread: its future can be polled or waited for, but not one after the other.
    waiting: JoinHandle<()>,
}

impl Merges {
    pub(super) fn new() -> Self {
        let mut policy = LogMergePolicy::default();
        // Holds 9 segments or fewer under one-note saves.
        policy.set_min_num_segments(4);
        policy.set_min_layer_size(1000);
        policy.set_del_docs_ratio_before_merge(0.3);
        Self { policy, running: Vec::new() }
    }

    /// Writes every segment anew of which something was removed, and waits for that: its words are in the files until then.
    ///
    /// # Errors
    /// When the list of the segments cannot be read, or one cannot be written.
    pub(super) fn rewrite(&mut self, writer: &mut IndexWriter) -> tantivy::Result<()> {
        for merge in self.running.drain(..) {
            // It has said why it panicked.
            let _ = merge.waiting.join();
        }
        for segment in writer.index().searchable_segment_metas()? {
            if segment.num_deleted_docs() > 0 {
                writer.merge(&[segment.id()]).wait()?;
            }
        }
        // What is mapped by searches of before is without a name then.
        writer.garbage_collect_files().wait().map(drop)
    }

    /// Starts the merges that are due among the segments of the last commit.
    ///
    /// # Errors
    /// When the list of the segments cannot be read, or the system gives no thread.
    pub(super) fn start_due(&mut self, writer: &mut IndexWriter) -> tantivy::Result<()> {
        self.running.retain(|merge| !merge.waiting.is_finished());
        let is_free = |segment: &SegmentMeta| !self.running.iter().any(|merge| merge.segments.contains(&segment.id()));
        let mut free = writer.index().searchable_segment_metas()?;
        free.retain(is_free);
        for candidate in self.policy.compute_merge_candidates(&free) {
            let (begun, merging) = channel::<FutureResult<_>>();
            let wait = move || {
                let Ok(merging) = merging.recv() else { return };
                // One that fails, on a full disk say, leaves its segments as they are; they are tried again after a later commit.
                if let Err(error) = merging.wait() {
                    tracing::debug!("segments of the keyword index were not merged: {error}");
                }
            };
            // No merge begins that nobody waits for.
            let waiting = thread::Builder::new().name("merging".into()).spawn(wait)?;
            let _ = begun.send(writer.merge(&candidate.0));
            self.running.push(Merge { segments: candidate.0, waiting });
            crash::point("words-merging");
        }
        Ok(())
    }
}

impl Merges {
    /// Waits so long for the merges that are under way, and for those that are not over by then no more.
    pub(super) fn give_up_after(&mut self, patience: Duration) {
        const LOOK_AGAIN: Duration = Duration::from_millis(2);
        let deadline = Instant::now() + patience;
        while !self.running.iter().all(|merge| merge.waiting.is_finished()) {
            if Instant::now() > deadline {
                return self.running.clear();
            }
            thread::sleep(LOOK_AGAIN);
        }
    }
}

impl Drop for Merges {
    fn drop(&mut self) {
        for merge in self.running.drain(..) {
            let _ = merge.waiting.join();
        }
    }
}
