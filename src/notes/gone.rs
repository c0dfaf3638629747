//! What goes for good with one request: of a note, and of all that was made of it.

use super::derived::GonePlace;
use super::purge::{GoneTexts, Purge};
use super::staying::StayingTexts;
use crate::engine::ContentHash;
use crate::path::VaultPath;

/// What went for good, and what is on the way.
#[derive(Default)]
pub(super) struct GoneForGood {
    /// Where it was: what histories name no more.
    pub(super) places: Vec<GonePlace>,
    pub(super) texts: Vec<GoneTexts>,
    /// What is still said: of what was made of what goes no more is forgotten than nobody else says.
    pub(super) staying: StayingTexts,
    /// The names of the embeddings that were of it.
    pub(super) embedded: Vec<ContentHash>,
    /// The purges that are not finished before all of this is.
    pub(super) open: Vec<i64>,
    /// The notes that were begun with: two generated pages may name each other.
    pub(super) begun: Vec<VaultPath>,
    /// How many pages are on the way to the one that goes now, each made of the one before.
    pub(super) steps: usize,
}

impl GoneForGood {
    /// Something went, at a place or, as the earlier values of a fact, at none.
    pub(super) fn add(&mut self, place: Option<GonePlace>, purge: &Purge<'_>) {
        self.places.extend(place);
        self.texts.push(purge.gone_texts());
        self.open.push(purge.open());
    }
}
