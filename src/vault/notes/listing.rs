//! The names of notes, in the order of their paths, what there is in numbers, and the files beside the notes.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;

use crate::access::request::{Edge, Owner, ReadScope, RequestError, Viewer, day_of, limit, parse, rfc3339, share};
use crate::base::path::{ROOT_COLLECTION, folded};
use crate::index::engine::FileEntry;
use crate::index::search::{UnknownName, unknown_collection};
use crate::serve::wire::{
    AgentStatus, AttachmentState, AttachmentView, AttachmentsView, Browse, BrowseParams, ChunkView, Collection,
    Collections, DayCount, DaysParams, DaysView, FolderCount, FoldersView, Growth, Model, NoteName, NoteOrder,
    NotesParams, NotesView, Stats, TagCount, TagsView,
};
use crate::vault::disk::{FoundNote, NoteRules, Scan, globs};

/// Notes of a page, when nobody says how many.
const NOTES: usize = 50;

/// The length of a name like `2026-01-05`.
const DAY_LENGTH: usize = 10;
/// Collections whose notes have a day as their name, and are no daily notes.
const MADE: [&str; 3] = ["agents", "conversations", "summaries"];

/// The notes that are seen, the newest first, by name or by size.
///
/// # Errors
/// When a parameter makes no sense, or the index is not open yet.
pub fn list(viewer: &Viewer, params: &NotesParams) -> Result<NotesView, RequestError> {
    let (limit, offset) = (limit(params.limit, NOTES)?, params.offset.unwrap_or(0));
    let since = params.since.as_deref().map(|since| parse("since", since, Edge::Start, viewer.at())).transpose()?;
    let until = params.until.as_deref().map(|until| parse("until", until, Edge::End, viewer.at())).transpose()?;
    let folder = params.folder.as_deref().map(|folder| folder.trim_matches('/')).filter(|folder| !folder.is_empty());
    let scope = viewer.settled_scope()?;
    let is_in = |file: &&Arc<FileEntry>| {
        folder.is_none_or(|folder| {
            let below = file.path.as_str().strip_prefix(folder).is_some_and(|rest| rest.starts_with('/'));
            below || (folder == ROOT_COLLECTION && file.path.collection() == folder)
        })
    };
    let tag = params.tag.as_deref().map(|tag| folded(tag.trim_start_matches('#')));
    let is_so = |file: &&Arc<FileEntry>| {
        let is_below = |tag: &str, wanted: &str| {
            tag.strip_prefix(wanted).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let is_tagged = tag.as_ref().is_none_or(|wanted| file.tags.iter().any(|tag| is_below(&folded(tag), wanted)));
        is_tagged
            && since.is_none_or(|since| since <= file.updated_ms)
            && until.is_none_or(|until| file.updated_ms < until)
    };
    let in_folder: Vec<&Arc<FileEntry>> = scope.files().filter(is_in).collect();
    let is_empty = in_folder.is_empty();
    let mut files: Vec<&Arc<FileEntry>> = in_folder.into_iter().filter(is_so).collect();
    files.sort_unstable_by(|one, two| one.path.cmp(&two.path));
    match params.sort.unwrap_or_default() {
        NoteOrder::Changed => files.sort_by_key(|file| Reverse(file.updated_ms)),
        NoteOrder::Name => files.sort_by_cached_key(|file| folded(&file.title)),
        NoteOrder::Size => files.sort_by_key(|file| Reverse(file.stamp.size)),
    }
    let mut room = scope.room();
    let mut notes = Vec::new();
    for file in files.iter().skip(offset).take(scope.results(limit)) {
        if !room.take(file.title.chars().count() + file.path.as_str().chars().count()) {
            break;
        }
        notes.push(note_name(file));
    }
    viewer.log("notes", folder.unwrap_or_default(), notes.iter().map(|note| note.path.clone()).collect());
    let degraded = folder.filter(|_| is_empty).and_then(|folder| none_in(&scope, folder));
    Ok(NotesView { notes, total: files.len(), degraded })
}

/// Says that there is no collection of a name, or no note in a folder.
fn none_in(scope: &ReadScope, folder: &str) -> Option<String> {
    // While the vault is read for the first time, nobody knows.
    if !scope.workspace().shared.progress().caught_up {
        return None;
    }
    let collection = folder.split('/').next().unwrap_or(folder);
    let unknown: Option<UnknownName> = unknown_collection(collection, scope.reader().files(), scope.visible());
    Some(unknown.map_or_else(|| format!("the folder `{folder}` has no notes"), |unknown| unknown.said))
}

fn note_name(file: &FileEntry) -> NoteName {
    NoteName {
        path: file.path.to_string(),
        title: file.title.clone(),
        bytes: file.stamp.size,
        updated_at: rfc3339(file.updated_ms),
    }
}

/// The names of the notes that are seen, in the order of their paths: so many of those that match a glob and come after a path; and how many do.
///
/// # Errors
/// When the glob cannot be read, or the index is not open yet.
pub(crate) fn listing(
    viewer: &Viewer,
    glob: Option<&str>,
    after: Option<&str>,
    limit: usize,
) -> Result<(Vec<NoteName>, usize), RequestError> {
    let asked = glob.unwrap_or_default();
    let glob = glob.map(|glob| globs("glob", &[glob.to_owned()])).transpose();
    let glob = glob.map_err(|error| RequestError::invalid(error.to_string()))?;
    let scope = viewer.settled_scope()?;
    let mut files: Vec<&Arc<FileEntry>> = scope
        .files()
        .filter(|file| after.is_none_or(|after| file.path.as_str() > after))
        .filter(|file| glob.as_ref().is_none_or(|glob| glob.is_match(file.path.as_str())))
        .collect();
    files.sort_by(|one, two| one.path.cmp(&two.path));
    let notes: Vec<NoteName> = files.iter().take(limit).map(|file| note_name(file)).collect();
    viewer.log("list", asked, notes.iter().map(|note| note.path.clone()).collect());
    Ok((notes, files.len()))
}

/// Maximum number of levels that a tag stands below. A tag of a thousand levels, which nobody writes by hand, would be
/// a thousand tags, each nearly as long.
const MAX_LEVELS: usize = 16;
/// Maximum length of the levels that a tag stands below, in bytes.
const MAX_LEVEL_BYTES: usize = 500;

/// What is counted of a tag.
#[derive(Default)]
struct TagNotes {
    /// Notes with this very tag, and with it or one below it.
    notes: (usize, usize),
    /// How often it is spelled how.
    spelled: BTreeMap<String, usize>,
}

/// The tags of the notes that are seen, with those that they stand below.
///
/// # Errors
/// When the index is not open yet.
pub fn tags(viewer: &Viewer) -> Result<TagsView, RequestError> {
    let scope = viewer.settled_scope()?;
    let mut tags: BTreeMap<String, TagNotes> = BTreeMap::new();
    for file in scope.files() {
        let (mut own, mut all) = (HashSet::new(), HashSet::new());
        for tag in &file.tags {
            own.insert(folded(tag));
            let levels = tag.match_indices('/').map(|(at, _)| at).filter(|at| *at <= MAX_LEVEL_BYTES).take(MAX_LEVELS);
            let ends = levels.chain([tag.len()]);
            for tag in ends.map(|end| &tag[..end]).filter(|tag| !tag.is_empty()) {
                let known = tags.entry(folded(tag)).or_default();
                *known.spelled.entry(tag.to_owned()).or_default() += 1;
                all.insert(folded(tag));
            }
        }
        own.iter().for_each(|tag| _ = tags.get_mut(tag).map(|tag| tag.notes.0 += 1));
        all.iter().for_each(|tag| _ = tags.get_mut(tag).map(|tag| tag.notes.1 += 1));
    }
    viewer.log("tags", "", Vec::new());
    let mut room = scope.room();
    let mut view = TagsView { tags: Vec::with_capacity(tags.len()), cut: false };
    for (folded, TagNotes { notes: (notes, with_below), spelled }) in tags {
        // As most notes write it; of two that are as frequent, the first in the alphabet.
        let most = spelled.into_iter().min_by_key(|(_, times)| Reverse(*times));
        let tag = most.map_or(folded, |(spelled, _)| spelled);
        if !room.take(tag.chars().count()) {
            view.cut = true;
            break;
        }
        view.tags.push(TagCount { tag, notes, with_below });
    }
    Ok(view)
}

/// What there is, in numbers.
///
/// # Errors
/// When the index is not open yet.
pub fn stats(viewer: &Viewer) -> Result<Stats, RequestError> {
    let scope = viewer.settled_scope()?;
    let zone = TimeZone::system();
    let mut collections: BTreeMap<&str, Vec<&Arc<FileEntry>>> = BTreeMap::new();
    let mut months: BTreeMap<(i16, i8), (usize, usize)> = BTreeMap::new();
    for file in scope.files() {
        collections.entry(file.path.collection()).or_default().push(file);
        if let Ok(made) = Timestamp::from_millisecond(file.created_ms) {
            let made = made.to_zoned(zone.clone());
            let month = months.entry((made.year(), made.month())).or_default();
            *month = (month.0 + 1, month.1 + file.chunks.len());
        }
    }
    viewer.log("stats", "", Vec::new());
    let counted = |files: &[&Arc<FileEntry>]| {
        let chunks = || files.iter().flat_map(|file| &file.chunks);
        let embeddable = || chunks().filter(|chunk| chunk.content.is_some());
        let embedded = embeddable().filter(|chunk| scope.reader().is_embedded(chunk.row)).count();
        Collection {
            files: files.len(),
            chunks: chunks().count(),
            bytes: files.iter().map(|file| file.stamp.size).sum(),
            embedded_share: share(embedded, embeddable().count()),
            updated_at: files.iter().map(|file| file.updated_ms).max().map_or_else(String::new, rfc3339),
        }
    };
    let all = counted(&collections.values().flatten().copied().collect::<Vec<_>>());
    let details: BTreeMap<String, Collection> =
        collections.iter().map(|(name, files)| ((*name).to_owned(), counted(files))).collect();
    Ok(Stats {
        total: all.chunks,
        collections: details.iter().map(|(name, counted)| (name.clone(), counted.chunks)).collect(),
        files: all.files,
        bytes: all.bytes,
        embedded_share: all.embedded_share,
        details,
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
        model: Model::of(viewer.workspace().shared.progress().model).state,
    })
}

/// The chunk with a name.
///
/// # Errors
/// When the name is not one, or no chunk that is seen has it.
pub(crate) fn chunk(viewer: &Viewer, hash: &str) -> Result<ChunkView, RequestError> {
    let found = viewer.read_scope()?.chunk(hash);
    viewer.logged("passage", hash, found, |chunk| vec![chunk.citation.clone()])
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

/// The folders that have notes in them or below them, with how many.
///
/// # Errors
/// When the index is not open yet.
pub(crate) fn folders(viewer: &Viewer) -> Result<FoldersView, RequestError> {
    let scope = viewer.owner().map_or_else(|| viewer.settled_scope(), |owner| owner.now())?;
    let mut folders: BTreeMap<&str, usize> = BTreeMap::new();
    for folder in scope.files().flat_map(|file| file.path.and_parents().skip(1)) {
        *folders.entry(folder).or_default() += 1;
    }
    let folders = folders.into_iter().map(|(path, notes)| FolderCount { path: path.to_owned(), notes }).collect();
    Ok(FoldersView { folders })
}

/// The days of a span that have a daily note, or notes that were last changed on them.
///
/// # Errors
/// When a day makes no sense, or the index is not open yet.
pub(crate) fn days(owner: &Owner, params: &DaysParams) -> Result<DaysView, RequestError> {
    let span = day_of("from", &params.from)?.start..day_of("until", &params.until)?.end;
    let scope = owner.now()?;
    let zone = TimeZone::system();
    let mut days: BTreeMap<String, DayCount> = BTreeMap::new();
    for file in scope.files() {
        let changed = Timestamp::from_millisecond(file.updated_ms).ok().filter(|_| span.contains(&file.updated_ms));
        if let Some(changed) = changed {
            days.entry(changed.to_zoned(zone.clone()).date().to_string()).or_default().notes += 1;
        }
        let name = file.path.stem();
        let is_named = name.len() == DAY_LENGTH && day_of("name", name).is_ok_and(|day| span.contains(&day.start));
        if is_named && !MADE.contains(&file.path.collection()) {
            let daily = &mut days.entry(name.to_owned()).or_default().daily;
            // Of several, the one with the shortest path.
            let is_nearer = daily.as_ref().is_none_or(|known| file.path.as_str().len() < known.len());
            daily.take_if(|_| is_nearer);
            daily.get_or_insert_with(|| file.path.to_string());
        }
    }
    Ok(DaysView { days: days.into_iter().map(|(day, count)| DayCount { day, ..count }).collect() })
}

/// All attachments, by path, be they searched or not.
///
/// # Errors
/// When the index is not open yet or damaged, or a glob of the configuration cannot be read.
pub(crate) fn attachments(owner: &Owner) -> Result<AttachmentsView, RequestError> {
    let workspace = owner.workspace();
    let scope = owner.now()?;
    let rules = workspace.rules().ok_or_else(|| RequestError::invalid("`index.exclude` has an invalid glob"))?;
    let searched = workspace.config.index.attachments;
    let problems = scope.reader().problems().map_err(|error| workspace.damaged(error))?;
    let mut reasons: HashMap<String, Vec<String>> = HashMap::new();
    problems.into_iter().for_each(|(path, reason)| reasons.entry(path).or_default().push(reason));
    let found = Scan::of(workspace.home.root(), &rules, NoteRules::takes_attachment, None);
    let mut attachments: Vec<AttachmentView> = Vec::with_capacity(found.files.len());
    for FoundNote { path, stamp } in found.files {
        let Some(kind) = path.attachment() else { continue };
        let file = scope.reader().files().at(path.as_str());
        let known = reasons.remove(path.as_str()).unwrap_or_default();
        let (state, reasons) = match file {
            _ if !kind.is_document() => (AttachmentState::NotRead, vec!["pictures are listed, but not read".into()]),
            _ if !searched => (AttachmentState::NotRead, vec!["`[index] attachments` is off".into()]),
            Some(_) => (AttachmentState::Searched, known),
            None if known.is_empty() => (AttachmentState::Waiting, known),
            None => (AttachmentState::NotRead, known),
        };
        attachments.push(AttachmentView {
            path: path.to_string(),
            kind: kind.as_str().into(),
            bytes: stamp.size,
            updated_at: rfc3339(stamp.mtime_ns / 1_000_000),
            state,
            passages: file.map_or(0, |file| file.chunks.len()),
            reasons,
        });
    }
    attachments.sort_unstable_by(|one, two| one.path.cmp(&two.path));
    Ok(AttachmentsView { searched, attachments })
}
