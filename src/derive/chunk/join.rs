//! Joins what says nothing by itself to a chunk beside it: noise to the one before it, a heading with nothing under it to the
//! one after it.
//!
//! What is embedded of a chunk stays what it was, so that neither an anchor nor a list of addresses moves its vector. Its
//! words are found, and its lines cited, with those of the chunk that it is joined to.

use std::ops::Range;

use super::measure::token_estimate;
use super::split::{LIMIT, Piece, groups};
use crate::note::Note;

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

/// Takes drafts in the order of the text and gives them back joined.
pub(super) struct Joiner<'a> {
    note: &'a Note,
    source: &'a str,
    /// The last that says something.
    last: Option<ChunkDraft>,
    /// Those since, which do not.
    run: Vec<ChunkDraft>,
}

impl<'a> Joiner<'a> {
    pub(super) fn new(note: &'a Note, source: &'a str) -> Self {
        Self { note, source, last: None, run: Vec::new() }
    }

    /// Takes the next draft, and gives what is done with.
    pub(super) fn add(&mut self, draft: ChunkDraft) -> Vec<ChunkDraft> {
        if draft.has_words {
            return self.settle(Some(draft));
        }
        self.run.push(draft);
        if self.run.len() < MAX_RUN { Vec::new() } else { self.finish() }
    }

    /// Gives what is left.
    pub(super) fn finish(&mut self) -> Vec<ChunkDraft> {
        let mut done = self.settle(None);
        done.extend(self.last.take());
        done
    }

    /// Joins the run to what is on either side of it. `next` is kept back, for what comes after it.
    fn settle(&mut self, next: Option<ChunkDraft>) -> Vec<ChunkDraft> {
        let mut run = std::mem::take(&mut self.run);
        let split = match (&self.last, &next) {
            (None, _) => 0,
            (Some(_), None) => run.len(),
            (Some(_), Some(_)) => run.iter().position(|draft| draft.lead.is_some()).unwrap_or(run.len()),
        };
        let (after, before) = (run.split_off(split), run);
        let mut done = Vec::new();
        if let Some(last) = self.last.take() {
            match before.last().filter(|end| self.fits(last.body.end..end.body.end)).cloned() {
                Some(_) => done.push(self.joined(&[std::slice::from_ref(&last), &before].concat())),
                None => {
                    done.push(last);
                    done.extend(self.alone(&before));
                }
            }
        }
        self.last = match (after.first(), next) {
            (Some(first), Some(next)) if self.fits(first.start()..next.start()) => {
                Some(self.joined(&[after, vec![next]].concat()))
            }
            (_, next) => {
                done.extend(self.alone(&after));
                next
            }
        };
        done
    }

    fn fits(&self, span: Range<usize>) -> bool {
        // No token is shorter than a character, but for blanks, of which 32 count for one.
        span.len() <= MAX_JOINED * 128 && token_estimate(&self.source[span]) <= MAX_JOINED
    }

    /// What has no chunk beside it that it could be joined to.
    fn alone(&self, run: &[ChunkDraft]) -> Vec<ChunkDraft> {
        let pieces: Vec<Piece> =
            run.iter().map(|draft| Piece::new(self.source, draft.start()..draft.body.end)).collect();
        let groups = match (pieces.first(), pieces.last()) {
            (Some(first), Some(last)) if self.is_short(first.span.start..last.span.end) => {
                std::iter::once(0..run.len()).collect()
            }
            _ => groups(self.source, &pieces),
        };
        groups.into_iter().map(|group| self.joined(&run[group])).collect()
    }

    fn is_short(&self, span: Range<usize>) -> bool {
        span.len() <= LIMIT * 128 && token_estimate(&self.source[span]) <= LIMIT
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
                .take_while(|at| headings[*at].span.start < lead.end && self.stands_under(section, *at));
            // A heading's span may have the end of its line, which its block has not.
            above.last().map(|at| lead.start..headings[at].span.end.min(lead.end))
        });
        let body = lead.as_ref().map_or(first.start(), |lead| lead.end)..last.body.end;
        let prose = speaks.map_or(body.clone(), |draft| draft.prose.clone());
        ChunkDraft { section, lead, body, prose, has_words: speaks.is_some() }
    }

    /// The innermost heading that both sections are under.
    fn common(&self, one: Option<usize>, other: Option<usize>) -> Option<usize> {
        let mut at = one;
        while let Some(heading) = at.filter(|heading| !self.stands_under(other, *heading)) {
            at = self.note.headings.get(heading).and_then(|heading| heading.parent);
        }
        at
    }

    /// Whether a section is that of a heading, or below it.
    fn stands_under(&self, section: Option<usize>, top: usize) -> bool {
        let mut at = section;
        while let Some(heading) = at.filter(|heading| *heading > top) {
            at = self.note.headings.get(heading).and_then(|heading| heading.parent);
        }
        at == Some(top)
    }
}
