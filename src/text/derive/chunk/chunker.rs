//! From a note's blocks to its chunks.

use std::collections::HashMap;
use std::ops::Range;

use super::id::{ChunkId, token_estimate, without_citations};
use super::split::{LIMIT, Piece, fits, groups, is_noise, split};
use super::turn;
use crate::base::path::VaultPath;
use crate::text::derive::properties::property_lines;
use crate::text::note::{BlockKind, Note};

/// A chunk of a note.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Its name.
    pub id: ChunkId,
    /// The headings it stands under, outermost first.
    pub heading_path: Vec<String>,
    /// What is shown: the source between [`Chunk::bytes`], without comments, what a generated line cites, and the blank space around it.
    pub text: String,
    /// Where in `text` the heading lines end. What follows is searched; headings have a field of their own.
    pub body_start: usize,
    /// Where in `text` that part stands which is embedded: the body, without the noise that is joined to it.
    pub prose: Range<usize>,
    /// Its bytes in the file.
    pub bytes: Range<usize>,
    /// Its first and last line in the file, from 1.
    pub lines: (usize, usize),
}

impl Chunk {
    /// The text under the heading lines.
    pub fn body(&self) -> &str {
        &self.text[self.body_start..]
    }

    /// The text that is embedded.
    pub fn prose(&self) -> &str {
        &self.text[self.prose.clone()]
    }
}

/// What a note is cut into at most.
#[derive(Debug, Clone, Copy)]
pub struct Bounds {
    /// So many chunks.
    pub chunks: usize,
    /// So many bytes, of their texts and of the headings that each of them carries.
    pub bytes: usize,
}

impl Bounds {
    /// What is indexed of a note. 20 MB of prose make 55,000 chunks, of Chinese 80,000, and repeat few headings: who writes
    /// gets here in no file that `max_file_bytes` lets through as it comes. 20 MB of short headings make 1,400,000 chunks, which
    /// took 1.5 GB of memory.
    pub const INDEX: Self = Self { chunks: 100_000, bytes: 64_000_000 };
    const NONE: Self = Self { chunks: usize::MAX, bytes: usize::MAX };
}

/// The chunks of a note, as far as its bounds let it be cut.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cut {
    /// The first chunks, in the order of the text.
    pub chunks: Vec<Chunk>,
    /// The line that the rest begins at, from 1, when there is more.
    pub rest: Option<usize>,
}

/// Cuts a note into chunks, in the order of the text. Their spans cover every non-blank byte of the body that is not a
/// comment. A note without a body has one that says what it is, and stands for its frontmatter.
pub fn chunk(path: &VaultPath, note: &Note, source: &str) -> Vec<Chunk> {
    chunk_within(path, note, source, Bounds::NONE).chunks
}

/// The first of the chunks that [`chunk`] cuts, as many as the bounds allow.
pub fn chunk_within(path: &VaultPath, note: &Note, text: &str, bounds: Bounds) -> Cut {
    let (note, source) = without_citations(note, text);
    let (note, source) = (&*note, &*source);
    let cut = Cut { chunks: Vec::new(), rest: None };
    let (seen, last, run) = Default::default();
    let mut chunker = Chunker { path, note, text, source, bounds, cut, seen, last, run };
    let mut lead: Option<Range<usize>> = None;
    let mut blocks = note.blocks.as_slice();
    while let Some(first) = blocks.first().filter(|_| chunker.cut.rest.is_none()) {
        let length = blocks.iter().take_while(|block| block.section == first.section).count();
        let (section, rest) = blocks.split_at(length);
        blocks = rest;
        let (mut pieces, mut turns) = (Vec::new(), Vec::new());
        for block in section {
            match block.kind {
                BlockKind::Heading(_) => {
                    lead = Some(lead.map_or(block.span.start, |lead| lead.start)..block.span.end);
                }
                ref kind => {
                    for part in turn::parts(path.collection(), note, source, block.span.clone()) {
                        let whole = part.start == block.span.start;
                        let may = *kind == BlockKind::Paragraph || !whole;
                        if may && turn::begins(path.collection(), &source[part.clone()]) {
                            turns.push(part.start);
                        }
                        let noise = whole && is_noise(*kind, &note.visible(source, part.clone()));
                        let split = split(source, part, matches!(kind, BlockKind::Code) && whole);
                        pieces.extend(split.into_iter().map(|piece| Piece { noise: noise || piece.noise, ..piece }));
                    }
                }
            }
        }
        // A heading with nothing of its own leads the first section below it; else it is a chunk by itself.
        let leads_on = rest
            .first()
            .and_then(|next| next.section)
            .is_some_and(|next| first.section.is_some() && note.headings[next].parent == first.section);
        if pieces.is_empty() && leads_on {
            continue;
        }
        chunker.section(first.section, lead.take(), &pieces, &turns);
    }
    chunker.finish();
    if chunker.cut.chunks.is_empty() && chunker.cut.rest.is_none() {
        chunker.whole();
    } else if chunker.cut.rest.is_none() {
        chunker.summary();
    }
    chunker.cut
}

struct Chunker<'a> {
    path: &'a VaultPath,
    note: &'a Note,
    /// The file.
    text: &'a str,
    /// The same, with blanks where it cites.
    source: &'a str,
    /// What is left of them.
    bounds: Bounds,
    cut: Cut,
    seen: HashMap<ChunkId, u32>,
    /// The last draft that says something.
    last: Option<ChunkDraft>,
    /// Those since, which do not.
    run: Vec<ChunkDraft>,
}

impl Chunker<'_> {
    /// Cuts a section. `turns` is where its turns begin, when it is of a conversation: a turn is a chunk by itself, or several
    /// when it is too long for one.
    fn section(&mut self, section: Option<usize>, mut lead: Option<Range<usize>>, pieces: &[Piece], turns: &[usize]) {
        let mut start = 0;
        for end in turn::ends(pieces, turns) {
            let turn = &pieces[start..end];
            let is_turn = turn.first().is_some_and(|piece| turns.binary_search(&piece.span.start).is_ok());
            let whole = is_turn && fits(self.source, turn);
            let groups = if whole { std::iter::once(0..turn.len()).collect() } else { groups(self.source, turn) };
            for group in groups {
                let body = turn[group.start].span.start..turn[group.end - 1].span.end;
                let has_words = turn[group].iter().any(|piece| !piece.noise);
                self.draft(ChunkDraft { section, lead: lead.take(), prose: body.clone(), body, has_words });
            }
            start = end;
        }
        if let Some(lead) = lead {
            let body = lead.end..lead.end;
            self.draft(ChunkDraft { section, lead: Some(lead), prose: body.clone(), body, has_words: false });
        }
    }

    /// A note that has no text is one chunk that says what it is: by its properties, else by its title.
    fn whole(&mut self) {
        // What an agent may do is no knowledge, and is shown elsewhere.
        if matches!(self.path.as_str().split('/').collect::<Vec<_>>()[..], ["agents", _, "agent.md"]) {
            return;
        }
        let lines = property_lines(self.note);
        let text = if lines.is_empty() { self.note.title.clone() } else { lines };
        let end = trimmed(self.source, 0..self.note.body.start).end;
        self.push_text(text, (1, self.note.lines.line_of(end.saturating_sub(1))));
    }

    /// A long note may say in its frontmatter what it comes to: that is one chunk more, which is cited as all of the text is.
    fn summary(&mut self) {
        let Some(text) = self.note.metadata.get("summary").and_then(serde_json::Value::as_str).map(str::trim) else {
            return;
        };
        let body = trimmed(self.source, self.note.body.clone());
        let is_long = token_estimate(&self.source[body.clone()]) > SUMMARIZED_FROM;
        if is_long {
            let lines = (self.note.lines.line_of(body.start), self.note.lines.line_of(body.end.saturating_sub(1)));
            self.push_text(text.to_owned(), lines);
        }
    }

    /// One more chunk that is of the frontmatter, unless one says the same.
    fn push_text(&mut self, text: String, lines: (usize, usize)) {
        let id = ChunkId::new(self.path, &[], &text, 0);
        let has_room = self.bounds.chunks > 0 && text.len() <= self.bounds.bytes;
        if text.trim().is_empty() || !has_room || self.seen.contains_key(&id) {
            return;
        }
        let bytes = trimmed(self.source, 0..self.note.body.start);
        let prose = 0..text.len();
        self.cut.chunks.push(Chunk { id, heading_path: Vec::new(), text, body_start: 0, prose, bytes, lines });
    }

    /// Takes the next draft, in the order of the text, where it shows anything.
    fn draft(&mut self, draft: ChunkDraft) {
        let shows = |span: Range<usize>| !self.note.visible(self.source, span).trim().is_empty();
        if draft.has_words {
            self.settle(Some(draft));
        } else if draft.lead.clone().is_some_and(shows) || shows(draft.body.clone()) {
            self.run.push(draft);
            if self.run.len() == MAX_RUN {
                self.finish();
            }
        }
    }

    /// Makes chunks of what is left.
    fn finish(&mut self) {
        self.settle(None);
        if let Some(last) = self.last.take() {
            self.push(&last);
        }
    }

    fn push(&mut self, draft: &ChunkDraft) {
        if self.cut.rest.is_some() {
            return;
        }
        let heading_path = self.note.heading_path(draft.section);
        let heading_path: Vec<String> =
            heading_path.into_iter().map(|heading| cut_heading(heading).to_owned()).collect();
        let ChunkDraft { lead, body, prose, .. } = draft;
        let visible = |span: Range<usize>| self.note.visible(self.source, span);
        let mut text = match &lead {
            Some(lead) => cut_lead(visible(lead.clone()).trim()).to_owned(),
            None => String::new(),
        };
        let mut body_text = visible(body.start..prose.start).into_owned();
        let embedded = visible(prose.clone());
        let shown = unframed(&embedded);
        let prose_start = body_text.len() + shown.start;
        body_text.push_str(&embedded);
        body_text.push_str(&visible(prose.end..body.end));
        let shown_body = unframed(&body_text);
        if text.is_empty() && body_text.trim().is_empty() {
            return;
        }
        if !text.is_empty() && !shown_body.is_empty() {
            text.push_str("\n\n");
        }
        let body_start = text.len();
        // Where nothing is shown of it, there is nothing to embed.
        let prose_start = (body_start + prose_start).saturating_sub(shown_body.start).max(body_start);
        text.push_str(&body_text[shown_body]);
        let prose = prose_start.min(text.len())..(prose_start + shown.len()).min(text.len());
        let bytes = trimmed(self.text, draft.start()..body.end);
        let lines = (
            self.note.lines.line_of(bytes.start),
            self.note.lines.line_of(bytes.end.saturating_sub(1).max(bytes.start)),
        );
        let size = text.len() + heading_path.iter().map(String::len).sum::<usize>();
        if self.bounds.chunks == 0 || self.bounds.bytes < size {
            self.cut.rest = Some(lines.0);
            return;
        }
        self.bounds = Bounds { chunks: self.bounds.chunks - 1, bytes: self.bounds.bytes - size };
        let first = ChunkId::new(self.path, &heading_path, &text, 0);
        let ordinal = self.seen.entry(first).or_default();
        let id = if *ordinal == 0 { first } else { ChunkId::new(self.path, &heading_path, &text, *ordinal) };
        *ordinal += 1;
        self.cut.chunks.push(Chunk { id, heading_path, text, body_start, prose, bytes, lines });
    }
}

/// Tokens of a body from which on its summary is a chunk. Of a short note it says nothing new.
const SUMMARIZED_FROM: usize = 200;

/// Maximum length of a heading that a chunk carries, in characters. Every chunk carries those it stands under: a page
/// that is all heading must not be copied into each.
const MAX_HEADING_CHARS: usize = 200;

/// The start of a heading or title.
pub fn cut_heading(text: &str) -> &str {
    text.char_indices().nth(MAX_HEADING_CHARS).map_or(text, |(end, _)| &text[..end])
}

/// Maximum length of what is shown of the heading lines above a chunk, in characters. Lines above a `---` are a
/// heading, be they megabytes.
const MAX_LEAD_CHARS: usize = 10 * MAX_HEADING_CHARS;

fn cut_lead(text: &str) -> &str {
    text.char_indices().nth(MAX_LEAD_CHARS).map_or(text, |(end, _)| text[..end].trim_end())
}

/// Where a text stands without the blank lines above it and the blank space below.
fn unframed(text: &str) -> Range<usize> {
    let above = text.len() - text.trim_start_matches(['\n', '\r']).len();
    above..text.trim_end().len().max(above)
}

/// The span without the blank space at its ends.
pub(super) fn trimmed(source: &str, span: Range<usize>) -> Range<usize> {
    let text = &source[span.clone()];
    let start = span.start + (text.len() - text.trim_start().len());
    let end = span.end - (text.len() - text.trim_end().len());
    start..end.max(start)
}

/// The radius in tokens. Measured over four corpora (notes, documentation, a book, design notes): 40, 44 and 48 give
/// chunks of 78, 83 and 88 tokens on average with 8, 10 and 13 % over 128, where filling up to 128 gives 84.
const RADIUS: usize = 48;

/// Cuts a run of blocks with the given keys and sizes in tokens; gives the indices of the blocks that start a chunk,
/// without the first.
pub(super) fn cuts(keys: &[u64], sizes: &[usize]) -> Vec<usize> {
    let mut ends = Vec::with_capacity(sizes.len() + 1);
    let mut total = 0;
    ends.push(0);
    ends.extend(sizes.iter().map(|size| {
        total += size;
        total
    }));
    // Gaps of rising keys, each with the tokens between it and the nearest gap on its left with a lower key.
    let mut rising: Vec<(usize, usize)> = Vec::new();
    let mut cuts = Vec::new();
    let settle = |(gap, left): (usize, usize), right_end: usize, cuts: &mut Vec<usize>| {
        if left >= RADIUS && right_end - ends[gap] >= RADIUS {
            cuts.push(gap);
        }
    };
    for gap in 1..keys.len() {
        while let Some(top) = rising.pop_if(|(top, _)| keys[*top] > keys[gap]) {
            settle(top, ends[gap], &mut cuts);
        }
        let left = ends[gap] - rising.last().map_or(0, |(top, _)| ends[*top]);
        rising.push((gap, left));
    }
    rising.into_iter().for_each(|top| settle(top, total, &mut cuts));
    cuts.sort_unstable();
    cuts
}

/// Maximum of what is joined to a chunk on one side of it, in tokens. Longer lists of addresses, and outlines of nothing but headings,
/// are chunks of their own.
pub(super) const MAX_JOINED: usize = 1_024;
/// Maximum length of a run that is joined, in drafts. A longer one is cut where it is, so that a file of nothing else
/// takes no memory.
const MAX_RUN: usize = 10_000;

/// What may become a chunk: blocks of one section that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChunkDraft {
    /// The section of its blocks.
    pub section: Option<usize>,
    /// The heading lines above it, where it is the first of its section.
    pub lead: Option<Range<usize>>,
    /// Its blocks; empty where there are none.
    pub body: Range<usize>,
    /// The part of them that is embedded.
    pub prose: Range<usize>,
    /// Whether it says something by itself.
    pub has_words: bool,
}

impl ChunkDraft {
    /// Where it begins.
    pub(super) fn start(&self) -> usize {
        self.lead.as_ref().map_or(self.body.start, |lead| lead.start)
    }
}

impl Chunker<'_> {
    /// Joins the run to what is on either side of it. `next` is kept back, for what comes after it.
    fn settle(&mut self, next: Option<ChunkDraft>) {
        let mut before = std::mem::take(&mut self.run);
        let split = match (&self.last, &next) {
            (None, _) => 0,
            (Some(_), None) => before.len(),
            (Some(_), Some(_)) => before.iter().position(|draft| draft.lead.is_some()).unwrap_or(before.len()),
        };
        let after = before.split_off(split);
        if let Some(last) = self.last.take() {
            if before.last().is_some_and(|end| self.fits(last.body.end..end.body.end)) {
                self.push(&self.joined(&[vec![last], before].concat()));
            } else {
                self.push(&last);
                self.alone(&before);
            }
        }
        self.last = match (after.first(), next) {
            (Some(first), Some(next)) if self.fits(first.start()..next.start()) => {
                Some(self.joined(&[after, vec![next]].concat()))
            }
            (_, next) => {
                self.alone(&after);
                next
            }
        };
    }

    fn fits(&self, span: Range<usize>) -> bool {
        // No token is shorter than a character, but for blanks, of which 32 count for one.
        span.len() <= MAX_JOINED * 128 && token_estimate(&self.source[span]) <= MAX_JOINED
    }

    /// Makes chunks of what has none beside it that it could be joined to.
    fn alone(&mut self, run: &[ChunkDraft]) {
        let pieces: Vec<Piece> =
            run.iter().map(|draft| Piece::new(self.source, draft.start()..draft.body.end)).collect();
        let whole = pieces.first().zip(pieces.last()).map(|(first, last)| first.span.start..last.span.end);
        let is_short =
            |span: &Range<usize>| span.len() <= LIMIT * 128 && token_estimate(&self.source[span.clone()]) <= LIMIT;
        let groups = match whole.filter(is_short) {
            Some(_) => std::iter::once(0..run.len()).collect(),
            None => groups(self.source, &pieces),
        };
        groups.into_iter().for_each(|group| self.push(&self.joined(&run[group])));
    }

    /// One draft of several, of which at most one says something. It stands where that does, else under the headings that all
    /// are under; those of its heading lines that it is not under are part of its text.
    fn joined(&self, drafts: &[ChunkDraft]) -> ChunkDraft {
        let (first, last) = (&drafts[0], &drafts[drafts.len() - 1]);
        if drafts.len() == 1 {
            return first.clone();
        }
        let speaks = drafts.iter().find(|draft| draft.has_words);
        let section = match speaks {
            Some(draft) => draft.section,
            None => drafts.iter().map(|draft| draft.section).reduce(|one, other| self.common(one, other)).flatten(),
        };
        let lead = first.lead.as_ref().and_then(|lead| {
            let headings = &self.note.headings;
            let from = headings.partition_point(|heading| heading.span.start < lead.start);
            let above = (from..headings.len())
                .take_while(|at| headings[*at].span.start < lead.end && self.note.stands_under(section, *at));
            // A heading's span may have the end of its line, which its block has not.
            above.last().map(|at| lead.start..headings[at].span.end.min(lead.end))
        });
        let body = lead.as_ref().map_or(first.start(), |lead| lead.end)..last.body.end;
        let prose = speaks.map_or(body.clone(), |draft| draft.prose.clone());
        ChunkDraft { section, lead, body, prose, has_words: speaks.is_some() }
    }

    /// The innermost heading that both sections are under.
    fn common(&self, one: Option<usize>, other: Option<usize>) -> Option<usize> {
        self.note.headings_above(one).find(|heading| self.note.stands_under(other, *heading))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use proptest::prelude::*;
    use std::collections::HashSet;

    fn chunks(blocks: &[(u64, usize)]) -> HashSet<Vec<(u64, usize)>> {
        let (keys, sizes): (Vec<u64>, Vec<usize>) = blocks.iter().copied().unzip();
        let mut starts = vec![0];
        starts.extend(cuts(&keys, &sizes));
        starts.push(blocks.len());
        starts.windows(2).map(|pair| blocks[pair[0]..pair[1]].to_vec()).collect()
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn one_block_more_or_less_changes_at_most_three_chunks(
            blocks in prop::collection::vec((0u64..40, prop_oneof![1usize..12, 20usize..64, 90usize..128]), 1..120),
            block in (0u64..40, 1usize..128),
            at in any::<prop::sample::Index>(),
        ) {
            let mut more = blocks.clone();
            more.insert(at.index(blocks.len() + 1), block);
            let (before, after) = (chunks(&blocks), chunks(&more));
            prop_assert!(after.difference(&before).count() <= 3);
            prop_assert!(before.difference(&after).count() <= 3);
        }

        #[test]
        fn cuts_are_a_radius_apart(blocks in prop::collection::vec((any::<u64>(), 1usize..128), 1..200)) {
            let (keys, sizes): (Vec<u64>, Vec<usize>) = blocks.into_iter().unzip();
            let mut starts = vec![0];
            starts.extend(cuts(&keys, &sizes));
            starts.push(sizes.len());
            if starts.len() > 2 {
                for pair in starts.windows(2) {
                    prop_assert!(sizes[pair[0]..pair[1]].iter().sum::<usize>() >= RADIUS);
                }
            }
        }
    }
}
