//! Reading chunks: by name, and by the page.

use std::sync::Arc;

use crate::engine::FileEntry;
use crate::request::{RequestError, Viewer, day_of, limit};
use crate::wire::{Browse, BrowseParams, ChunkView, Collections};

/// The chunk with a name.
///
/// # Errors
/// When the name is not one, or no chunk that is seen has it.
pub(crate) fn chunk(viewer: &Viewer, hash: &str) -> Result<ChunkView, RequestError> {
    let found = viewer.read_scope()?.chunk(hash);
    viewer.log("passage", hash, found.iter().map(|chunk| chunk.citation.clone()).collect());
    viewer.count_given(found.iter().map(|chunk| chunk.hash.as_str()));
    found
}

/// A page of chunks, of the newest notes first.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn browse(viewer: &Viewer, params: &BrowseParams) -> Result<Browse, RequestError> {
    let (limit, offset) = (limit(params.limit, 20)?, params.offset.unwrap_or(0));
    let day = params.day.as_deref().map(|day| day_of("day", day)).transpose()?;
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let mut files: Vec<&Arc<FileEntry>> = scope
        .files()
        .filter(|file| params.collection.as_deref().is_none_or(|collection| file.path.collection() == collection))
        .filter(|file| day.as_ref().is_none_or(|day| day.contains(&file.updated_ms)))
        .collect();
    files.sort_by(|one, two| two.updated_ms.cmp(&one.updated_ms).then_with(|| one.path.cmp(&two.path)));
    let total = files.iter().map(|file| file.chunks.len()).sum();
    let page = files.iter().flat_map(|file| file.chunks.iter().map(move |chunk| (file, chunk.row)));
    let mut chunks = Vec::new();
    for (file, row) in page.skip(offset).take(limit) {
        scope.go_on()?;
        let chunk = scope.reader().chunk(row);
        let view = chunk.and_then(|chunk| chunk.map(|chunk| scope.view(file, chunk)).transpose());
        match view {
            Ok(view) => chunks.extend(view),
            Err(error) if error.is_damage() => drop(scope.workspace().damaged(error)),
            Err(error) => return Err(error.into()),
        }
    }
    let mut room = scope.room();
    chunks.retain_mut(|chunk| room.take_chunk(chunk, 0).is_some());
    let given = chunks.iter().map(|chunk| chunk.citation.clone()).collect();
    viewer.log("browse", params.collection.as_deref().unwrap_or_default(), given);
    Ok(Browse { chunks, total })
}

/// The names of the collections.
///
/// # Errors
/// When the index is not open yet.
pub fn collections(viewer: &Viewer) -> Result<Collections, RequestError> {
    let scope = viewer.settled_scope()?;
    let names: std::collections::BTreeSet<String> =
        scope.files().map(|file| file.path.collection().to_owned()).collect();
    viewer.log("collections", "", Vec::new());
    Ok(Collections { collections: names.into_iter().collect() })
}
