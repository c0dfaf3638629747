//! Summaries of conversations: those that are seen, and making them when the person asks for it.

use serde_json::{Map, Value};

use crate::access::request::{Owner, ReadScope, RequestError, Viewer, limit, note_path, rfc3339};
use crate::base::path::VaultPath;
use crate::index::engine::FileEntry;
use crate::memory::generated_files::{FileMade, MADE_BY, OF, THROUGH, TURNS, known_summary};
use crate::serve::wire::{
    DigestSection, EditedFile, SummariesMade, SummariesParams, SummariesView, SummaryMakeParams, SummaryView,
};
use crate::text::derive::CONVERSATIONS;
use crate::text::derive::generated::GeneratedNote;
use crate::text::derive::summary::{SUMMARIES, summary_items};
use crate::text::note::Note;

/// Summaries when nobody says how many.
const SUMMARIES_GIVEN: usize = 50;
const DAY_MS: i64 = 86_400_000;

/// Summaries of conversations, the newest first.
///
/// # Errors
/// When a parameter makes no sense, or the index is damaged.
pub(crate) fn list(viewer: &Viewer, params: &SummariesParams) -> Result<SummariesView, RequestError> {
    let limit = limit(params.limit, SUMMARIES_GIVEN)?;
    let scope = viewer.settled_scope()?;
    let limit = scope.results(limit);
    let days = viewer.workspace().config().memory.summary_retention_days as i64;
    let since = viewer.at().as_millisecond().saturating_sub(days.saturating_mul(DAY_MS));
    let is_asked = |file: &FileEntry| match params.of.as_deref() {
        Some(of) => file.sources.iter().any(|source| source == of),
        None => params.all == Some(true) || days == 0 || file.created_ms >= since,
    };
    let mut files: Vec<_> =
        scope.files().filter(|file| file.path.collection() == SUMMARIES && is_asked(file)).cloned().collect();
    files.sort_unstable_by(|one, other| other.created_ms.cmp(&one.created_ms).then_with(|| one.path.cmp(&other.path)));
    let mut view = SummariesView::default();
    let mut room = scope.room();
    for file in files {
        scope.go_on()?;
        let Some(summary) = summary(&scope, &file, params.of.as_deref())? else { continue };
        let lines = summary.sections.iter().flat_map(|section| &section.lines);
        let chars = summary.title.chars().count() + lines.map(|line| line.text.chars().count()).sum::<usize>();
        if view.summaries.len() >= limit || !room.take(chars) {
            view.cut = true;
            break;
        }
        view.summaries.push(summary);
    }
    let given = view.summaries.iter().map(|summary| summary.path.clone()).collect();
    viewer.log("summaries", params.of.as_deref().unwrap_or_default(), given);
    Ok(view)
}

/// The summary that a file is, if it is one of a conversation.
fn summary(scope: &ReadScope, file: &FileEntry, of: Option<&str>) -> Result<Option<SummaryView>, RequestError> {
    let metadata = scope.reader().metadata(file.id).map_err(|error| scope.workspace().damaged(error))?;
    let metadata: Map<String, Value> = metadata.and_then(|json| serde_json::from_str(&json).ok()).unwrap_or_default();
    let text = |key: &str| metadata.get(key).and_then(Value::as_str).map(str::to_owned);
    let Some(conversation) = text(OF).filter(|found| of.is_none_or(|of| of == found)) else { return Ok(None) };
    let Ok(source) = scope.workspace().source(&file.path) else { return Ok(None) };
    if scope.is_agents() && *source.hash.as_bytes() != file.hash {
        return Ok(None);
    }
    let Some(generated) = GeneratedNote::read(&source.text) else { return Ok(None) };
    // Comments in it are a person's, and no part of what it says.
    let note = Note::of(&file.path, &source.text);
    let body = note.visible(&source.text, note.body.clone());
    let mut sections: Vec<DigestSection> = Vec::new();
    for item in summary_items(&body, &generated.sources()) {
        match sections.last_mut().filter(|section| section.heading == item.section) {
            Some(section) => section.lines.push(item.said),
            None => sections.push(DigestSection { heading: item.section, lines: vec![item.said] }),
        }
    }
    let is_old = scope.file(&conversation).is_none_or(|file| {
        let read = text("read");
        read.is_none_or(|read| read != blake3::Hash::from_bytes(file.hash).to_hex().as_str())
    });
    Ok(Some(SummaryView {
        path: file.path.to_string(),
        of: conversation,
        title: file.title.clone(),
        at: rfc3339(file.created_ms),
        through: text(THROUGH).unwrap_or_default(),
        turns: metadata.get(TURNS).and_then(Value::as_u64).unwrap_or_default(),
        made_by: text(MADE_BY).unwrap_or_default(),
        edited: generated.is_edited,
        old: is_old,
        sections,
    }))
}

/// Makes summaries now: of one conversation, or of all whose turns are others than they were.
///
/// # Errors
/// When there is no such conversation, or the vault cannot be written.
pub(crate) fn make(owner: &Owner, params: &SummaryMakeParams) -> Result<SummariesMade, RequestError> {
    let workspace = owner.workspace();
    let scope = owner.now()?;
    let maker = workspace.summary_files()?;
    let is_one = |path: &VaultPath| path.collection() == CONVERSATIONS && !path.is_document();
    let mut conversations: Vec<VaultPath> = match params.of.as_deref() {
        Some(of) => {
            let path = note_path(of)?;
            if !is_one(&path) || scope.file(path.as_str()).is_none() {
                return Err(RequestError::not_found(format!("there is no conversation `{of}`")));
            }
            vec![path]
        }
        None => scope.files().filter(|file| is_one(&file.path)).map(|file| file.path.clone()).collect(),
    };
    conversations.sort_unstable();
    let mut done = SummariesMade::default();
    for of in conversations {
        scope.go_on()?;
        match maker.bring_up(&of, known_summary(scope.reader().files(), &of).map(|file| &file.path)) {
            Ok(FileMade::Written(path)) => done.made.push(path.to_string()),
            Ok(FileMade::Same) => done.same += 1,
            Ok(FileMade::Nothing) => done.nothing += 1,
            Ok(FileMade::Kept(path)) => {
                done.kept.push(EditedFile { path: path.to_string(), reason: "you edited it".into() });
            }
            Err(error) if params.of.is_none() => {
                done.kept.push(EditedFile { path: of.to_string(), reason: error.to_string() });
            }
            Err(error) => return Err(error.into()),
        }
    }
    if let Some(last) = done.made.last().and_then(|path| VaultPath::new(path.as_str()).ok()) {
        workspace.settled_in_time(&last);
    }
    Ok(done)
}
