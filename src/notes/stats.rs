//! What there is, in numbers.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::request::{RequestError, Viewer, rfc3339, share};
use crate::wire::{AgentStatus, Collection, Growth, Model, Stats};

/// What is counted of a collection.
#[derive(Default)]
struct Count {
    files: usize,
    chunks: usize,
    bytes: u64,
    embeddable: usize,
    embedded: usize,
    updated_ms: Option<i64>,
}

/// What there is, in numbers.
///
/// # Errors
/// When the index is not open yet.
pub fn stats(viewer: &Viewer) -> Result<Stats, RequestError> {
    let scope = viewer.settled_scope()?;
    let zone = TimeZone::system();
    let mut counts: BTreeMap<&str, Count> = BTreeMap::new();
    let mut months: BTreeMap<(i16, i8), (usize, usize)> = BTreeMap::new();
    for file in scope.files() {
        let count = counts.entry(file.path.collection()).or_default();
        count.files += 1;
        count.chunks += file.chunks.len();
        count.bytes += file.stamp.size;
        count.updated_ms = count.updated_ms.max(Some(file.updated_ms));
        for chunk in file.chunks.iter().filter(|chunk| chunk.content.is_some()) {
            count.embeddable += 1;
            count.embedded += usize::from(scope.reader().is_embedded(chunk.row));
        }
        if let Ok(made) = Timestamp::from_millisecond(file.created_ms) {
            let made = made.to_zoned(zone.clone());
            let month = months.entry((made.year(), made.month())).or_default();
            *month = (month.0 + 1, month.1 + file.chunks.len());
        }
    }
    viewer.log("stats", "", Vec::new());
    let sum = |of: fn(&Count) -> usize| counts.values().map(of).sum();
    Ok(Stats {
        total: sum(|count| count.chunks),
        collections: counts.iter().map(|(name, count)| ((*name).to_owned(), count.chunks)).collect(),
        files: sum(|count| count.files),
        bytes: counts.values().map(|count| count.bytes).sum(),
        embedded_share: share(sum(|count| count.embedded), sum(|count| count.embeddable)),
        details: counts.iter().map(|(name, count)| ((*name).to_owned(), count.view())).collect(),
        growth: months
            .into_iter()
            .map(|((year, month), (notes, chunks))| Growth { month: format!("{year:04}-{month:02}"), notes, chunks })
            .collect(),
    })
}

/// How an agent's part of the vault is: nothing that it may not read is counted.
///
/// # Errors
/// When the index is not open yet.
pub(crate) fn agent_status(viewer: &Viewer) -> Result<AgentStatus, RequestError> {
    let stats = stats(viewer)?;
    Ok(AgentStatus {
        version: env!("CARGO_PKG_VERSION").into(),
        files: stats.files,
        chunks: stats.total,
        embedded_share: stats.embedded_share,
        collections: stats.collections,
        model: Model::of(viewer.workspace().shared().progress().model).state,
    })
}

impl Count {
    fn view(&self) -> Collection {
        Collection {
            files: self.files,
            chunks: self.chunks,
            bytes: self.bytes,
            embedded_share: share(self.embedded, self.embeddable),
            updated_at: self.updated_ms.map_or_else(String::new, rfc3339),
        }
    }
}
