//! What a day or a week was: for who asks, of what they see; and as a file, which is seen where all is that it was made of.

use std::path::Path;

use serde_json::Map;

use super::span::DigestSpan;
use crate::derive::CONVERSATIONS;
use crate::derive::generated::{GeneratedNote, TRUST, doubt_of, greater_doubt, is_generated, listed_bytes};
use crate::derive::summary::{
    CitedLine, DayDigest, DigestMaker, IN_SHORT, SUMMARIES, digest_body, summary_items, turns_of, without_short_text,
};
use crate::engine::{FileEntry, FileTable, Reader};
use crate::note::{Note, written};
use crate::request::{Owner, ReadScope, RequestError, Room, Viewer};
use crate::summary_files::{
    FileMade, MADE_BY, RULES, SummaryError, SummaryFiles, day_of_file, is_forgotten, place, put,
};
use crate::vault::{is_starter, read};
use crate::wire::{DigestParams, DigestSection, DigestView, DigestWritten, SummaryLineView};

/// Maximum number of notes that a digest is made of.
const MAX_NOTES: usize = 1_000;
/// Maximum bytes of their paths: a file names them all in its frontmatter, which is read up to 64 KiB.
const MAX_SOURCE_BYTES: usize = 48 << 10;
/// Collections that are derived, or an agent's own.
const NOT_THE_PERSONS: [&str; 4] = [SUMMARIES, "agents", "memories", "profile"];
/// Collections of what was captured of the web and of other programs: it is counted, and nothing that it says is told.
const TOLD_BY_OTHERS: [&str; 2] = ["bookmarks", "snippets"];

/// A digest, with the notes that it was made of.
pub(super) struct MadeDigest {
    pub(super) digest: DayDigest,
    pub(super) sources: Vec<String>,
    /// What it says of its trust, where one of them is not to be trusted.
    pub(super) doubt: Option<&'static str>,
}

/// Makes the digest of notes. `text` gives what a note says; `None` leaves it out.
pub(super) fn made_of(
    files: Vec<&FileEntry>,
    span: &DigestSpan,
    text: &mut dyn FnMut(&FileEntry) -> Result<Option<String>, RequestError>,
) -> Result<MadeDigest, RequestError> {
    let mut maker = DigestMaker::default();
    let (mut sources, mut doubt) = (Vec::new(), None);
    for file in files {
        let Some(source) = text(file)? else { continue };
        let note = Note::parse(&source, file.path.stem());
        if is_generated(&note.metadata) || is_starter(&file.path, &source) {
            continue;
        }
        let named = (file.path.collection(), file.path.as_str());
        let is_new = span.ms.contains(&file.created_ms);
        let is_captured = note.metadata.get("source").and_then(serde_json::Value::as_str) == Some("capture");
        let day = file.path.stem().get(..10).and_then(|day| day.parse().ok());
        if file.path.collection() == CONVERSATIONS {
            let usual_day = day_of_file(&file.path, note.created);
            let mut turns = turns_of(&note, &source);
            turns.retain(|turn| {
                let day = turn.date.and_then(|day| day.parse().ok()).or(usual_day);
                day.is_some_and(|day| span.has(day))
            });
            if turns.is_empty() {
                continue;
            }
            maker.add_turns(named, usual_day.is_some_and(|day| span.has(day)), &turns);
        } else if let Some(day) = day.filter(|_| is_captured && note.metadata.contains_key("date")) {
            if !span.has(day) {
                continue;
            }
            maker.add_list(named, &note, &source);
        } else if is_captured && TOLD_BY_OTHERS.contains(&named.0) {
            maker.add_counted(named, is_new);
            sources.push(file.path.to_string());
            continue;
        } else {
            maker.add_note(named, is_new, &note, &source);
        }
        doubt = greater_doubt(doubt, doubt_of(&note.metadata));
        sources.push(file.path.to_string());
    }
    Ok(MadeDigest { digest: maker.finish(), sources, doubt })
}

/// The files that something may have been done with in a time, by path.
pub(super) fn of_span<'f>(files: impl Iterator<Item = &'f FileEntry>, span: &DigestSpan) -> Vec<&'f FileEntry> {
    let is_of = |file: &FileEntry| {
        let touched = span.ms.contains(&file.created_ms) || span.ms.contains(&file.updated_ms);
        // Turns of that day may stand between the first and the last.
        touched
            || (file.path.collection() == CONVERSATIONS
                && file.created_ms < span.ms.end
                && file.updated_ms >= span.ms.start)
    };
    let is_persons = |file: &FileEntry| !NOT_THE_PERSONS.contains(&file.path.collection()) && !file.path.is_document();
    let mut found: Vec<&FileEntry> = files.filter(|file| is_persons(file) && is_of(file)).collect();
    found.sort_unstable_by(|one, other| one.path.cmp(&other.path));
    found.truncate(MAX_NOTES);
    let mut left = MAX_SOURCE_BYTES;
    let fits = |file: &&FileEntry| left.checked_sub(listed_bytes(file.path.as_str())).map(|less| left = less).is_some();
    found.into_iter().take_while(fits).collect()
}

/// Everything that is indexed, for the file of a day.
pub(super) fn all(files: &FileTable) -> impl Iterator<Item = &FileEntry> {
    files.iter().map(AsRef::as_ref)
}

/// What was written, captured and decided on a day or in a week, of what is seen.
///
/// # Errors
/// When a parameter makes no sense, or nobody waits any more.
pub(crate) fn digest(viewer: &Viewer, params: &DigestParams) -> Result<DigestView, RequestError> {
    let span = DigestSpan::asked(params.day.as_deref(), params.week.as_deref(), viewer.at())?;
    let scope = viewer.settled_scope()?;
    let files = of_span(scope.files().map(AsRef::as_ref), &span);
    let mut text = |file: &FileEntry| text_of(&scope, file);
    let made = made_of(files, &span, &mut text)?;
    let mut view = DigestView {
        name: span.name.clone(),
        first_day: span.first.to_string(),
        last_day: span.last.to_string(),
        sections: Vec::new(),
        cut: false,
        file: scope.file(&span.path()).map(|file| file.path.to_string()),
    };
    let mut room = scope.room();
    let short = scope.file(&span.path()).map(|file| short_text(&scope, file)).transpose()?.unwrap_or_default();
    for (heading, lines) in std::iter::once((IN_SHORT, short.as_slice())).chain(made.digest.sections()) {
        let lines = fitting(lines, &mut room, &mut view.cut);
        if !lines.is_empty() {
            view.sections.push(DigestSection { heading: heading.to_owned(), lines });
        }
    }
    let given = view.sections.iter().flat_map(|section| &section.lines).flat_map(|line| line.citations.clone());
    viewer.log("digest", &span.name, given.collect());
    Ok(view)
}

/// The short text of a digest's page, where a model has made one.
fn short_text(scope: &ReadScope, file: &FileEntry) -> Result<Vec<CitedLine>, RequestError> {
    let Some(source) = text_of(scope, file)? else { return Ok(Vec::new()) };
    let Some(page) = GeneratedNote::read(&source) else { return Ok(Vec::new()) };
    let note = Note::of(&file.path, &source);
    let items = summary_items(&note.visible(&source, note.body.clone()), &page.sources());
    Ok(items.into_iter().filter(|item| item.section == IN_SHORT).map(|item| item.said).collect())
}

fn fitting(lines: &[CitedLine], room: &mut Room, cut: &mut bool) -> Vec<SummaryLineView> {
    let mut given = Vec::new();
    for line in lines {
        let chars = line.text.chars().count() + line.citations.iter().map(|cited| cited.chars().count()).sum::<usize>();
        if !room.take(chars) {
            *cut = true;
            break;
        }
        given.push(SummaryLineView { text: line.text.clone(), citations: line.citations.clone() });
    }
    given
}

/// What a note says on disk; to an agent only what it said when it was indexed.
fn text_of(scope: &ReadScope, file: &FileEntry) -> Result<Option<String>, RequestError> {
    scope.go_on()?;
    let source = scope.workspace().source(&file.path).ok();
    Ok(source.filter(|source| !scope.is_agents() || *source.hash.as_bytes() == file.hash).map(|source| source.text))
}

/// Writes the file of a day or a week, as it is now. One that a person has edited stays.
///
/// # Errors
/// When a parameter makes no sense, or the vault cannot be written.
pub(crate) fn write_digest(owner: &Owner, params: &DigestParams) -> Result<DigestWritten, RequestError> {
    let span = DigestSpan::asked(params.day.as_deref(), params.week.as_deref(), owner.at())?;
    let workspace = owner.workspace();
    let maker = SummaryFiles {
        root: workspace.home().root(),
        files: workspace.files()?,
        config: workspace.config(),
        forgotten: workspace.forgotten(),
    };
    let scope = owner.now()?;
    let made = write_file(&maker, scope.reader(), &span, &|| scope.go_on())?;
    let path = match &made {
        FileMade::Written(path) | FileMade::Kept(path) => path.to_string(),
        FileMade::Same | FileMade::Nothing => span.path(),
    };
    let written = matches!(made, FileMade::Written(_));
    let reason = match made {
        FileMade::Written(_) => None,
        FileMade::Same => Some("the file says that already".to_owned()),
        FileMade::Nothing => Some("there was nothing".to_owned()),
        FileMade::Kept(_) => Some("you have edited the file".to_owned()),
    };
    if let FileMade::Written(path) = &made {
        workspace.settled_in_time(path);
    }
    Ok(DigestWritten { path, written, reason })
}

/// Writes the file of a day or a week.
pub(super) fn write_file(
    maker: &SummaryFiles<'_>,
    reader: &dyn Reader,
    span: &DigestSpan,
    go_on: &dyn Fn() -> Result<(), RequestError>,
) -> Result<FileMade, RequestError> {
    let _one = maker.files.one_generation();
    let mut text = |file: &FileEntry| {
        go_on()?;
        Ok(read(maker.root, &file.path, maker.config.index.max_file_bytes).ok().map(|source| source.text))
    };
    let mut made = made_of(of_span(all(reader.files()), span), span, &mut text)?;
    // Held until it is written.
    let asked = maker.forgotten.ask()?;
    for lines in made.digest.lists() {
        lines.retain(|line| !is_forgotten(&asked, &line.text));
    }
    if made.digest.is_empty() {
        return Ok(FileMade::Nothing);
    }
    let place = place(maker.files, None, &span.file(), (span.key(), &span.name))?;
    let mut body = digest_body(&made.digest);
    let mut made_by = None;
    if let Some((before, _)) = &place.before {
        if before.is_edited {
            return Ok(FileMade::Kept(place.path));
        }
        let is_as_before = without_short_text(&before.body) == body.trim_end();
        if is_as_before
            && before.sources() == made.sources
            && made.doubt.is_none_or(|doubt| before.text_of(TRUST) == Some(doubt))
        {
            return Ok(FileMade::Same);
        }
        // What a model has made of these lines stays with them.
        if is_as_before {
            body.clone_from(&before.body);
        } else if before.text_of(MADE_BY).is_some() {
            made_by = Some(RULES);
        }
    }
    let mut own = Map::new();
    own.insert("title".into(), span.title().into());
    if let Ok(start) = span.first.to_zoned(jiff::tz::TimeZone::system()) {
        own.insert("created".into(), written(&start).into());
    }
    if let Some(doubt) = made.doubt {
        own.insert(TRUST.into(), doubt.into());
    }
    own.insert(span.key().into(), span.name.as_str().into());
    if let Some(made_by) = made_by {
        own.insert(MADE_BY.into(), made_by.into());
    }
    put(maker.files, place, &own, &made.sources, &body).map_err(|error: SummaryError| RequestError::from(error))
}

/// The digest's file, if there is one.
pub(super) fn has_file(root: &Path, span: &DigestSpan) -> bool {
    root.join(span.path()).symlink_metadata().is_ok()
}
