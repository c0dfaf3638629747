//! What a model says of a conversation, written where nobody has edited a summary; and the short text that it makes of the page of a day or a
//! week: of the lines that rules have made, and written above them.

use std::sync::Arc;

use super::ask::SkipReason;
use super::lane::{EXTRACTION, Extraction, ExtractionRest, KnownSessions, SETTLE_DELAY, TURNS, cut};
use crate::access::request::{RequestError, Workspace};
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::base::redact::redact;
use crate::base::state::{Job, StateError};
use crate::memory::generated_files::{FileMade, GeneratedError, known_summary};
use crate::models::ChatModel;
use crate::text::derive::extraction::{CheckedLine, EXTRACTION_PROPERTY, ShortSentence, check_short, short_prompt};
use crate::text::derive::generated::GeneratedNote;
use crate::text::derive::summary::{
    COUNTED, CitedLine, ConversationTurn, SummaryItem, SummarySections, cited, summary_items, turns_of,
    without_short_text,
};
use crate::text::note::Note;
use crate::vault::disk::{Source, read};

/// What is asked for, as the calls are counted.
const DIGEST: &str = "digest";

impl Extraction {
    /// Asks for the short text of a digest, and writes what of it stands. Not where a person has edited the page, or it has one already, or it
    /// says no more than how much there was.
    pub(super) fn tell_digest(
        &self,
        known: &mut KnownSessions,
        model: &Arc<dyn ChatModel>,
        job: &Job,
        (path, source): (&VaultPath, &Source),
    ) -> Result<ExtractionRest, StateError> {
        let Some(page) = untold(&source.text) else {
            known.finish(&self.jobs, job.key, job.content, self.now())?;
            return Ok(ExtractionRest::None);
        };
        let sources = page.sources();
        let mut unread: Vec<&str> = Vec::new();
        for of in &sources {
            match self.note_at(of) {
                Some(note) if note.is_private() && !model.takes_private() => {
                    self.fails(EXTRACTION, job, "it is private", Some(SETTLE_DELAY))?;
                    known.look_again();
                    return Ok(ExtractionRest::None);
                }
                Some(note) if note.metadata.get(EXTRACTION_PROPERTY) != Some(&false.into()) => {}
                // It is gone, or read by no model.
                _ => unread.push(of),
            }
        }
        let mut lines = summary_items(&page.body, &sources);
        lines.retain(|line| line.said.citations.iter().all(|cited| !unread.iter().any(|of| is_of(cited, of))));
        let digest = cut(blake3::hash(page.body.as_bytes()).as_bytes());
        let says_nothing = lines.iter().all(|line| line.section == COUNTED);
        if says_nothing || self.jobs.done(TURNS)?.get(&job.key) == Some(&digest) {
            known.finish(&self.jobs, job.key, job.content, self.now())?;
            return Ok(ExtractionRest::None);
        }
        let sent = |line: &SummaryItem| {
            let text = &line.said.text;
            let text = if self.workspace.redacts() { redact(text).into_owned() } else { text.clone() };
            (line.section.clone(), text)
        };
        let prompt = short_prompt(&lines.iter().map(sent).collect::<Vec<_>>());
        let root = self.workspace.home().root();
        let is_current = || {
            let now = read(root, path, self.workspace.config().index.max_file_bytes);
            now.is_ok_and(|now| now.hash == source.hash)
        };
        let told = self.asker(DIGEST, model, &is_current).ask_for(&prompt, &|text| {
            let (sentences, dropped) = check_short(text, &prompt.shown)?;
            let counts = [sentences.len(), dropped];
            Ok(Some((sentences, counts)))
        });
        let told = match told {
            Ok(told) => told,
            Err(skipped) => {
                if matches!(skipped, SkipReason::Changed) {
                    known.look_again();
                }
                return self.skipped(EXTRACTION, job, skipped);
            }
        };
        let told = told.iter().map(|sentence| cited_sentence(sentence, &lines)).collect();
        let content = match self.write_told((path, source), model.name(), told) {
            Ok(FileMade::Written(_)) => {
                let now = read(root, path, self.workspace.config().index.max_file_bytes);
                now.map_or(job.content, |now| cut(now.hash.as_bytes()))
            }
            Ok(FileMade::Nothing | FileMade::Same) => job.content,
            Ok(FileMade::Kept(_)) => {
                known.look_again();
                return self.has_changed(EXTRACTION, job);
            }
            Err(error) => {
                self.fails(EXTRACTION, job, &error.message, None)?;
                return Ok(ExtractionRest::None);
            }
        };
        crash::point("extraction-summarised");
        self.has_read(known, job.key, digest, content)
    }

    fn write_told(
        &self,
        (path, source): (&VaultPath, &Source),
        made_by: &str,
        told: Vec<CitedLine>,
    ) -> Result<FileMade, RequestError> {
        Ok(self.workspace.summary_files()?.tell(path, source.hash, made_by, told)?)
    }

    fn note_at(&self, path: &str) -> Option<Note> {
        let path = VaultPath::new(path).ok()?;
        let source = read(self.workspace.home().root(), &path, self.workspace.config().index.max_file_bytes).ok()?;
        Some(Note::parse(&source.text, path.stem()))
    }
}

/// A digest as rules have made it, without a short text.
fn untold(text: &str) -> Option<GeneratedNote> {
    let page = GeneratedNote::read(text)?;
    let is_digest = page.text_of("day").or_else(|| page.text_of("week")).is_some();
    let is_untold = without_short_text(&page.body).len() == page.body.len();
    (is_digest && is_untold && !page.is_edited).then_some(page)
}

/// Whether a citation is of a note.
fn is_of(cited: &str, path: &str) -> bool {
    cited.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('#'))
}

/// A sentence with what its lines cite: of each the first, then of each the second, as a line cites so many places and no more.
fn cited_sentence(sentence: &ShortSentence, lines: &[SummaryItem]) -> CitedLine {
    let named = || sentence.lines.iter().filter_map(|line| lines.get(line - 1));
    let most = named().map(|line| line.said.citations.len()).max().unwrap_or_default();
    let mut citations: Vec<String> = Vec::new();
    for cited in (0..most).flat_map(|at| named().filter_map(move |line| line.said.citations.get(at))) {
        if !citations.contains(cited) {
            citations.push(cited.clone());
        }
    }
    CitedLine::of(&sentence.text, citations)
}

/// Writes what stands of a model's summary of a conversation as it was read. Nothing, where nothing stands, or the conversation is another
/// by now.
pub(super) fn keep_summary(
    workspace: &Workspace,
    (path, source): (&VaultPath, &Source),
    made_by: &str,
    found: &[(&'static str, Vec<CheckedLine>)],
) -> Result<(), RequestError> {
    let summary = summary_of(path, found);
    if summary.is_empty() {
        return Ok(());
    }
    let note = Note::parse(&source.text, path.stem());
    let turns = turns_of(&note, &source.text);
    let files = workspace.summary_files()?;
    let reader = workspace.shared().snapshot();
    let known = reader.as_ref().and_then(|reader| Some(known_summary(reader.files(), path)?.path.clone()));
    let make = |now: &[ConversationTurn<'_>]| (now == turns.as_slice()).then(|| summary.clone());
    let write = || files.make_with(path, known.as_ref(), made_by, &make);
    // Rules may write theirs at this very moment.
    match write().or_else(|_| write()) {
        Ok(_) => Ok(()),
        Err(GeneratedError::Write(error)) => Err(error.into()),
        Err(error) => {
            tracing::warn!("{path} is not summarised: {error}");
            Ok(())
        }
    }
}

fn summary_of(path: &VaultPath, found: &[(&'static str, Vec<CheckedLine>)]) -> SummarySections {
    let list = |name: &str| {
        let lines = found.iter().filter(|(list, _)| *list == name).flat_map(|(_, lines)| lines);
        let mut list: Vec<CitedLine> = Vec::new();
        for line in lines.map(|line| CitedLine::of(&line.text, vec![cited(path.as_str(), line.lines)])) {
            if list.iter().all(|known| known.text != line.text) {
                list.push(line);
            }
        }
        list
    };
    SummarySections::of_conversation(["text", "topics", "decisions", "dates", "actions"].map(list))
}
