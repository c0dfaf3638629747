//! The summary of a conversation: made where there is none, made anew where the turns are others, by rules or by a model; and the short text
//! that a model has made of a digest.

use std::path::Path;

use blake3::Hash;
use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::write::{FileMade, GeneratedError, GeneratedFile};
use crate::access::rules::Scope;
use crate::base::config::Config;
use crate::base::path::VaultPath;
use crate::index::engine::{FileEntry, FileTable};
use crate::text::derive::generated::{TRUST, doubt_of, is_generated};
use crate::text::derive::summary::{
    CitedLine, ConversationTurn, SUMMARIES, SummarySections, summarize, turns_digest, turns_of, with_short_text,
    without_short_text,
};
use crate::text::derive::{CONVERSATIONS, Label};
use crate::text::note::{Note, written};
use crate::vault::disk::{Files, ReadError, read};
use crate::vault::forgotten::{ForgottenLookup, ForgottenTexts};

/// The conversation that a summary is of.
pub(crate) const OF: &str = "of";
/// The last line of the turns that it covers.
pub(crate) const THROUGH: &str = "through";
/// How many they are.
pub(crate) const TURNS: &str = "turns";
/// Their digest.
const TURNS_DIGEST: &str = "turns_digest";
/// The hash of the file as it was read: while it is that, nothing has to be looked at.
pub(crate) const READ: &str = "read";
/// The rules, or the model, that made it.
pub(crate) const MADE_BY: &str = "made_by";

/// Who made a summary, where it was made by rules.
pub(crate) const RULES: &str = "rules";

/// Writes the summaries of a vault.
#[derive(Clone, Copy)]
pub(crate) struct SummaryFiles<'a> {
    /// The vault's folder.
    pub(crate) root: &'a Path,
    /// Who writes.
    pub(crate) files: &'a Files,
    /// The vault's configuration.
    pub(crate) config: &'a Config,
    /// What was forgotten for good, which no line says again.
    pub(crate) forgotten: &'a ForgottenTexts,
}

impl SummaryFiles<'_> {
    /// Brings the summary of a conversation up to date by rules. `known` is where it is, if that is known.
    ///
    /// # Errors
    /// When the conversation cannot be read, or the summary not be written.
    pub(crate) fn bring_up(&self, of: &VaultPath, known: Option<&VaultPath>) -> Result<FileMade, GeneratedError> {
        self.make_with(of, known, RULES, &|turns| Some(summarize(of.as_str(), turns, self.config.search.stemmer)))
    }

    /// The same, with a summary that `make` gives of the turns, as `made_by`; `None` leaves all as it is. One that rules would make does not
    /// take the place of one that a model has made of the same turns.
    ///
    /// # Errors
    /// As [`SummaryFiles::bring_up`].
    pub(crate) fn make_with(
        &self,
        of: &VaultPath,
        known: Option<&VaultPath>,
        made_by: &str,
        make: &dyn Fn(&[ConversationTurn<'_>]) -> Option<SummarySections>,
    ) -> Result<FileMade, GeneratedError> {
        let _one = self.files.one_generation();
        let source = match read(self.root, of, self.config.index.max_file_bytes) {
            Ok(source) => source,
            Err(ReadError::Gone) => return Ok(FileMade::Nothing),
            Err(source) => return Err(GeneratedError::Read { path: of.clone(), source }),
        };
        let note = Note::parse(&source.text, of.stem());
        let turns = turns_of(&note, &source.text);
        if is_generated(&note.metadata) || turns.is_empty() && known.is_none() {
            return Ok(FileMade::Nothing);
        }
        let file = GeneratedFile::called(self.files, known, &name_of(of), (OF, of.as_str()))?;
        let digest = turns_digest(&turns);
        if let Some(before) = file.note() {
            let is_enough = made_by == RULES || before.text_of(MADE_BY) == Some(made_by);
            if before.text_of(TURNS_DIGEST) == Some(&digest) && (is_enough || before.is_edited) {
                let doubt = doubt_of(&note.metadata).filter(|doubt| before.text_of(TRUST) != Some(doubt));
                let Some(doubt) = doubt.filter(|_| !before.is_edited) else { return Ok(FileMade::Same) };
                let mut own = before.metadata.clone();
                own.insert(TRUST.into(), doubt.into());
                own.insert(READ.into(), source.hash.to_hex().to_string().into());
                return self.put(&file, &own, &[of.to_string()], &before.body);
            }
            if before.is_edited {
                return Ok(FileMade::Kept(file.path));
            }
        }
        let Some(mut summary) = make(&turns) else { return Ok(FileMade::Nothing) };
        // Held until it is written.
        let asked = self.forgotten.ask()?;
        summary.retain(|line| !is_forgotten(&asked, &line.text));
        if summary.is_empty() {
            file.take_away(self.files)?;
            return Ok(FileMade::Nothing);
        }
        let mut own = front(of, &note, &turns);
        own.insert(TURNS_DIGEST.into(), digest.into());
        own.insert(READ.into(), source.hash.to_hex().to_string().into());
        own.insert(MADE_BY.into(), made_by.into());
        self.put(&file, &own, &[of.to_string()], &summary.body())
    }

    /// Writes a short text at the top of a digest that is as it was read, with the hash `read`; another is kept as it is. What was forgotten for
    /// good is left out; where nothing is left, nothing is written.
    ///
    /// # Errors
    /// When the file cannot be read or written.
    pub(crate) fn tell(
        &self,
        path: &VaultPath,
        read: Hash,
        made_by: &str,
        mut text: Vec<CitedLine>,
    ) -> Result<FileMade, GeneratedError> {
        let _one = self.files.one_generation();
        let there = self.files.read(path)?.filter(|(_, hash)| *hash == read);
        let file = there.and_then(|there| GeneratedFile::of(path.clone(), Some(there)));
        let Some(file) = file.filter(|file| !file.is_edited()) else { return Ok(FileMade::Kept(path.clone())) };
        let Some(before) = file.note() else { return Ok(FileMade::Nothing) };
        // Held until it is written.
        let asked = self.forgotten.ask()?;
        text.retain(|line| !is_forgotten(&asked, &line.text));
        if text.is_empty() {
            return Ok(FileMade::Nothing);
        }
        let body = with_short_text(&text, without_short_text(&before.body));
        let mut own = before.metadata.clone();
        own.insert(MADE_BY.into(), made_by.into());
        self.put(&file, &own, &before.sources(), &body)
    }

    /// Writes a summary or a digest that nobody has edited.
    ///
    /// # Errors
    /// As [`GeneratedFile::write`].
    pub(crate) fn put(
        &self,
        file: &GeneratedFile,
        own: &Map<String, Value>,
        sources: &[String],
        body: &str,
    ) -> Result<FileMade, GeneratedError> {
        file.write(self.files, SUMMARIES, own, sources, body)?;
        Ok(FileMade::Written(file.path.clone()))
    }
}

/// Whether something that a line of a summary or a digest says was forgotten for good. Before it may stand a day, and who said it.
pub(crate) fn is_forgotten(asked: &ForgottenLookup<'_>, line: &str) -> bool {
    const MOST_PARTS: usize = 4;
    let mut rest = Some(line).filter(|_| !asked.is_empty());
    for _ in 0..MOST_PARTS {
        let Some(part) = rest else { return false };
        if asked.without(part, &Scope::Everything).is_some() {
            return true;
        }
        rest = part.split_once(": ").map(|(_, said)| said);
    }
    false
}

/// What the frontmatter of a summary says of the turns that it is made of.
fn front(of: &VaultPath, note: &Note, turns: &[ConversationTurn<'_>]) -> Map<String, Value> {
    let mut own = Map::new();
    own.insert("title".into(), format!("Summary: {}", note.title).into());
    let last_turn = || {
        let last = turns.last()?;
        let day = last.date.and_then(|date| date.parse().ok()).or_else(|| day_of_file(of, note.created))?;
        let at: DateTime = format!("{day}T{}", last.time).parse().ok()?;
        Some(written(&at.to_zoned(TimeZone::system()).ok()?))
    };
    if let Some(last) = last_turn() {
        own.insert("created".into(), last.into());
    }
    if let Some(doubt) = doubt_of(&note.metadata) {
        own.insert(TRUST.into(), doubt.into());
    }
    own.insert(OF.into(), of.as_str().into());
    let last_line = turns.last().map_or(0, |turn| turn.lines.1);
    own.insert(THROUGH.into(), format!("{of}#L{last_line}").into());
    own.insert(TURNS.into(), turns.len().into());
    own
}

/// The day of the turns of a conversation that do not say another: that of its name, else of its frontmatter.
pub(crate) fn day_of_file(path: &VaultPath, created: Option<Timestamp>) -> Option<Date> {
    let of_name = path.stem().get(..10).and_then(|day| day.parse().ok());
    of_name.or_else(|| Some(created?.to_zoned(TimeZone::system()).date()))
}

/// Where the summary of a conversation is, if no other file took the name; `None` where a path is of no conversation.
pub(crate) fn summary_path(of: &VaultPath) -> Option<VaultPath> {
    let is_one = of.collection() == CONVERSATIONS && !of.is_document();
    is_one.then(|| VaultPath::new(format!("{SUMMARIES}/{}.md", name_of(of))).ok())?
}

/// The name of a conversation's summary, below `summaries/`. Those of days and weeks are kept free.
fn name_of(of: &VaultPath) -> String {
    let path = of.as_str();
    let name = path.strip_prefix(CONVERSATIONS).and_then(|rest| rest.strip_prefix('/')).unwrap_or(path);
    let name = name.strip_suffix(".md").or_else(|| name.strip_suffix(".markdown")).unwrap_or(name);
    if name.starts_with("days/") || name.starts_with("weeks/") {
        format!("{CONVERSATIONS}/{name}")
    } else {
        name.to_owned()
    }
}

/// The files of summaries of conversations, as the index knows them.
pub(crate) fn known_summaries(files: &FileTable) -> Vec<&FileEntry> {
    labelled(files, Label::of_property(OF, None))
}

/// The file with the summary of a conversation, whatever its name; of two the first by name.
pub(crate) fn known_summary<'f>(files: &'f FileTable, of: &VaultPath) -> Option<&'f FileEntry> {
    // Case does not count in a label.
    let is_of = |file: &&FileEntry| file.sources.iter().any(|source| source == of.as_str());
    let found = labelled(files, Label::of_property(OF, Some(of.as_str())));
    found.into_iter().filter(is_of).min_by_key(|file| &file.path)
}

fn labelled(files: &FileTable, label: Label) -> Vec<&FileEntry> {
    let found = files.facets().labelled(label);
    let found = found.iter().filter_map(|id| files.get(id)).map(AsRef::as_ref);
    found.filter(|file: &&FileEntry| file.path.collection() == SUMMARIES).collect()
}
