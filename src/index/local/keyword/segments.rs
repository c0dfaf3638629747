//! Which chunk a document of tantivy is.

use tantivy::index::SegmentId;
use tantivy::{DocId, SegmentReader};

/// Which chunk a segment's document is, and the reverse.
pub(super) struct SegmentMap {
    pub(super) id: SegmentId,
    pub(super) chunks: Vec<u64>,
    pub(super) files: Vec<u32>,
    by_chunk: Vec<DocId>,
}

impl SegmentMap {
    pub(super) fn new(segment: &SegmentReader) -> tantivy::Result<Self> {
        let column = |name: &str| -> tantivy::Result<Vec<u64>> {
            let values = segment.fast_fields().u64(name)?.first_or_default_col(0);
            Ok((0..segment.max_doc()).map(|document| values.get_val(document)).collect())
        };
        let chunks = column("chunk")?;
        let files = column("file")?.into_iter().map(|file| file as u32).collect();
        let mut by_chunk: Vec<DocId> = (0..segment.max_doc()).collect();
        // A chunk that was rewritten within one commit is there twice, once deleted.
        by_chunk.sort_by_key(|document| (chunks[*document as usize], *document));
        Ok(Self { id: segment.segment_id(), chunks, files, by_chunk })
    }

    pub(super) fn file(&self, document: DocId) -> u32 {
        self.files[document as usize]
    }

    pub(super) fn documents(&self, chunk: u64) -> impl Iterator<Item = DocId> + '_ {
        let start = self.by_chunk.partition_point(|document| self.chunks[*document as usize] < chunk);
        self.by_chunk[start..].iter().copied().take_while(move |document| self.chunks[*document as usize] == chunk)
    }
}
