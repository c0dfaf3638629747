//! What a day or a week was: for who asks, of what they see; and as a file, which is seen where all is that it was made of.

use std::ops::Range;
use std::path::Path;

use jiff::civil::{Date, ISOWeekDate, Weekday};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan};
use serde_json::Map;

use crate::access::request::{Budget, Owner, ReadScope, RequestError, Viewer};
use crate::base::clock::day_named;
use crate::base::config::StemmerLanguage;
use crate::index::engine::{FileEntry, Reader};
use crate::memory::generated_files::{
    FileMade, GeneratedFile, MADE_BY, RULES, SummaryFiles, day_of_file, is_forgotten,
};
use crate::serve::wire::{DigestParams, DigestSection, DigestView, DigestWritten};
use crate::text::derive::CONVERSATIONS;
use crate::text::derive::calendar::monday_of;
use crate::text::derive::generated::{GeneratedNote, TRUST, doubt_of, greater_doubt, is_generated, listed_bytes};
use crate::text::derive::summary::{
    CitedLine, DigestMaker, SUMMARIES, SummaryItem, SummarySections, summary_items, turns_of,
};
use crate::text::note::{Note, written};
use crate::vault::disk::{is_starter, read};

/// Maximum number of notes that a digest is made of.
const MAX_NOTES: usize = 1_000;
/// Maximum bytes of their paths: a file names them all in its frontmatter, which is read up to 64 KiB.
const MAX_SOURCE_BYTES: usize = 48 << 10;
/// Collections that are derived, or an agent's own.
const NOT_THE_PERSONS: [&str; 4] = [SUMMARIES, "agents", "memories", "profile"];
/// Collections of what was captured of the web and of other programs: it is counted, and nothing that it says is told.
const TOLD_BY_OTHERS: [&str; 2] = ["bookmarks", "snippets"];

/// A digest, with the notes that it was made of.
struct MadeDigest {
    digest: SummarySections,
    sources: Vec<String>,
    /// What it says of its trust, where one of them is not to be trusted.
    doubt: Option<&'static str>,
}

/// Makes the digest of notes. `text` gives what a note says; `None` leaves it out.
fn made_of(
    files: Vec<&FileEntry>,
    span: &DigestSpan,
    language: StemmerLanguage,
    text: &mut dyn FnMut(&FileEntry) -> Result<Option<String>, RequestError>,
) -> Result<MadeDigest, RequestError> {
    let mut maker = DigestMaker::new(language);
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
            maker.count(named, is_new);
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
fn of_span<'f>(files: impl Iterator<Item = &'f FileEntry>, span: &DigestSpan) -> Vec<&'f FileEntry> {
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

/// What was written, captured and decided on a day or in a week, of what is seen.
///
/// # Errors
/// When a parameter makes no sense, or nobody waits any more.
pub(crate) fn digest(viewer: &Viewer, params: &DigestParams) -> Result<DigestView, RequestError> {
    let span = DigestSpan::asked(params.day.as_deref(), params.week.as_deref(), viewer.at())?;
    let scope = viewer.settled_scope()?;
    let files = of_span(scope.files().map(AsRef::as_ref), &span);
    let mut text = |file: &FileEntry| text_of(&scope, file);
    let made = made_of(files, &span, scope.workspace().config.search.stemmer, &mut text)?;
    let mut view = DigestView {
        name: span.name.clone(),
        first_day: span.first.to_string(),
        last_day: span.last.to_string(),
        sections: Vec::new(),
        cut: false,
        file: scope.file(&span.path()).map(|file| file.path.to_string()),
    };
    let mut room = scope.room();
    for (heading, lines) in made.digest.iter() {
        let lines = fitting(lines, &mut room, &mut view.cut);
        if !lines.is_empty() {
            view.sections.push(DigestSection { heading: heading.to_owned(), lines });
        }
    }
    let given = view.sections.iter().flat_map(|section| &section.lines).flat_map(|line| line.citations.clone());
    viewer.log("digest", &span.name, given.collect());
    Ok(view)
}

/// A page that was generated, and its lines; `None` where a file is none. Comments in it are a person's, and no part of what it says.
pub(super) fn page_of(
    scope: &ReadScope,
    file: &FileEntry,
) -> Result<Option<(GeneratedNote, Vec<SummaryItem>)>, RequestError> {
    let Some(source) = text_of(scope, file)? else { return Ok(None) };
    let Some(page) = GeneratedNote::read(&source) else { return Ok(None) };
    let note = Note::of(&file.path, &source);
    let items = summary_items(&note.visible(&source, note.body.clone()), &page.sources());
    Ok(Some((page, items)))
}

fn fitting(lines: &[CitedLine], room: &mut Budget, cut: &mut bool) -> Vec<CitedLine> {
    let mut given = Vec::new();
    for line in lines {
        let chars = line.text.chars().count() + line.citations.iter().map(|cited| cited.chars().count()).sum::<usize>();
        if !room.take(chars) {
            *cut = true;
            break;
        }
        given.push(line.clone());
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
    let maker = workspace.summary_files()?;
    let scope = owner.now()?;
    let made = write_file(&maker, scope.reader(), &span, &|| scope.go_on())?;
    let path = match &made {
        FileMade::Written(path) | FileMade::Kept(path) => path.to_string(),
        FileMade::Same | FileMade::Nothing => span.path(),
    };
    let written = matches!(made, FileMade::Written(_));
    let reason = match made {
        FileMade::Written(_) => None,
        FileMade::Same => Some("the file already has this text".to_owned()),
        FileMade::Nothing => Some("nothing happened in this time".to_owned()),
        FileMade::Kept(_) => Some("you edited the file".to_owned()),
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
    let files = of_span(reader.files().iter().map(AsRef::as_ref), span);
    let mut made = made_of(files, span, maker.config.search.stemmer, &mut text)?;
    // Held until it is written.
    let asked = maker.forgotten.ask()?;
    made.digest.retain(|line| !is_forgotten(&asked, &line.text));
    if made.digest.is_empty() {
        return Ok(FileMade::Nothing);
    }
    let file = GeneratedFile::called(maker.files, None, &span.file(), (span.key(), &span.name))?;
    let body = made.digest.body();
    let mut made_by = None;
    if let Some(before) = file.note() {
        if before.is_edited {
            return Ok(FileMade::Kept(file.path));
        }
        if before.body.trim_end() == body.trim_end()
            && before.sources() == made.sources
            && made.doubt.is_none_or(|doubt| before.text_of(TRUST) == Some(doubt))
        {
            return Ok(FileMade::Same);
        }
        // A model has made the text of a page that is older than this version.
        made_by = before.text_of(MADE_BY).map(|_| RULES);
    }
    let mut own = Map::new();
    own.insert("title".into(), span.title().into());
    if let Ok(start) = span.first.to_zoned(TimeZone::system()) {
        own.insert("created".into(), written(&start).into());
    }
    if let Some(doubt) = made.doubt {
        own.insert(TRUST.into(), doubt.into());
    }
    own.insert(span.key().into(), span.name.as_str().into());
    if let Some(made_by) = made_by {
        own.insert(MADE_BY.into(), made_by.into());
    }
    Ok(maker.put(&file, &own, &made.sources, &body)?)
}

/// The digest's file, if there is one.
pub(super) fn has_file(root: &Path, span: &DigestSpan) -> bool {
    root.join(span.path()).symlink_metadata().is_ok()
}

/// A day or a week.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DigestSpan {
    /// `2026-11-21`, or `2026-W47`.
    pub(super) name: String,
    /// Its first day.
    pub(super) first: Date,
    /// Its last day.
    pub(super) last: Date,
    /// Whether it is a week.
    is_week: bool,
    /// Its milliseconds since 1970.
    pub(super) ms: Range<i64>,
}

impl DigestSpan {
    /// The day or week that is asked for: today where nothing is. A week is named `2026-W47`, or by one of its days.
    pub(super) fn asked(day: Option<&str>, week: Option<&str>, now: Timestamp) -> Result<Self, RequestError> {
        let invalid = |field: &str, text: &str, what: &str| {
            RequestError::invalid(format!("`{field}` is `{text}`; it takes {what}"))
        };
        let found = match (day, week) {
            (Some(_), Some(_)) => return Err(RequestError::invalid("give `day` or `week`")),
            (Some(day), None) => {
                let date = day.trim().parse().ok().or_else(|| day_named(day, now));
                Self::of_day(date.ok_or_else(|| invalid("day", day, "a date (2026-11-21), `today` or `yesterday`"))?)
            }
            (None, Some(week)) => {
                let date = match week.trim() {
                    "now" => Some(now.to_zoned(TimeZone::system()).date()),
                    week => week.parse().ok().or_else(|| monday_of(week)).or_else(|| day_named(week, now)),
                };
                let date = date.ok_or_else(|| invalid("week", week, "2026-W47, a date in it, or `now`"))?;
                Self::of_week(date)
            }
            (None, None) => Self::of_day(now.to_zoned(TimeZone::system()).date()),
        };
        found.ok_or_else(|| RequestError::invalid("no such day"))
    }

    /// A day; `None` for one that no calendar has.
    pub(super) fn of_day(day: Date) -> Option<Self> {
        Some(Self { name: day.to_string(), first: day, last: day, is_week: false, ms: millis(day, day)? })
    }

    /// The week of a day.
    pub(super) fn of_week(day: Date) -> Option<Self> {
        let week = day.iso_week_date();
        let first = ISOWeekDate::new(week.year(), week.week(), Weekday::Monday).ok()?.date();
        let last = first.checked_add(6.days()).ok()?;
        let name = format!("{:04}-W{:02}", week.year(), week.week());
        Some(Self { name, first, last, is_week: true, ms: millis(first, last)? })
    }

    /// Whether a day is in it.
    pub(super) fn has(&self, day: Date) -> bool {
        (self.first..=self.last).contains(&day)
    }

    /// What it is called in frontmatter: `day` or `week`.
    pub(super) fn key(&self) -> &'static str {
        if self.is_week { "week" } else { "day" }
    }

    /// Its file, below `summaries/`, without the extension.
    pub(super) fn file(&self) -> String {
        format!("{}s/{}", self.key(), self.name)
    }

    /// Its file, if no other took the name.
    pub(super) fn path(&self) -> String {
        format!("{SUMMARIES}/{}.md", self.file())
    }

    /// As people say it.
    pub(super) fn title(&self) -> String {
        match self.is_week {
            true => format!("Week {} ({} to {})", self.name, self.first, self.last),
            false => self.first.strftime("%A, %-d %B %Y").to_string(),
        }
    }
}

fn millis(first: Date, last: Date) -> Option<Range<i64>> {
    let start = |day: Date| Some(day.to_zoned(TimeZone::system()).ok()?.timestamp().as_millisecond());
    Some(start(first)?..start(last.checked_add(1.day()).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_weeks_are_those_of_the_calendar() {
        let now: Timestamp = "2026-11-21T12:00:00Z".parse().unwrap();
        let span = |day, week| DigestSpan::asked(day, week, now).unwrap();
        assert_eq!(span(Some("2026-11-21"), None).path(), "summaries/days/2026-11-21.md");
        let week = span(None, Some("2026-W47"));
        assert_eq!(
            (week.first.to_string().as_str(), week.path().as_str()),
            ("2026-11-16", "summaries/weeks/2026-W47.md")
        );
        assert_eq!(span(None, Some("2026-11-21")), week);
        assert_eq!(span(None, Some("2021-01-01")).name, "2020-W53", "a week is of the year that has most of it");
        assert_eq!(span(Some("yesterday"), None).name, span(Some("2026-11-20"), None).name);
        assert!(week.has("2026-11-22".parse().unwrap()) && !week.has("2026-11-23".parse().unwrap()));
        for (day, week) in [(Some("tomorrow"), None), (None, Some("2026-W60")), (Some("2026-11-21"), Some("2026-W47"))]
        {
            assert!(DigestSpan::asked(day, week, now).is_err());
        }
    }
}
