//! The summary of one conversation: made where there is none, made anew where the turns are others, by rules or by a model.

use std::path::Path;

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use serde_json::{Map, Value};

use super::place::{FileMade, SummaryError, everyday, place, put, take_away};
use crate::config::Config;
use crate::derive::CONVERSATIONS;
use crate::derive::generated::{TRUST, doubt_of, is_generated};
use crate::derive::summary::{
    ConversationSummary, ConversationTurn, SUMMARIES, summarize, summary_body, turns_digest, turns_of,
};
use crate::forgotten::{ForgottenLookup, ForgottenTexts, TombstoneScope};
use crate::note::{Note, written};
use crate::path::VaultPath;
use crate::vault::{Files, ReadError, read};

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
    pub(crate) fn bring_up(&self, of: &VaultPath, known: Option<&VaultPath>) -> Result<FileMade, SummaryError> {
        self.make_with(of, known, RULES, &|turns| {
            Some(summarize(of.as_str(), turns, &everyday(&sample(turns), self.config.search.stemmer)))
        })
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
        make: &dyn Fn(&[ConversationTurn<'_>]) -> Option<ConversationSummary>,
    ) -> Result<FileMade, SummaryError> {
        let _one = self.files.one_generation();
        let source = match read(self.root, of, self.config.index.max_file_bytes) {
            Ok(source) => source,
            Err(ReadError::Gone) => return Ok(FileMade::Nothing),
            Err(source) => return Err(SummaryError::Read { path: of.clone(), source }),
        };
        let note = Note::parse(&source.text, of.stem());
        let turns = turns_of(&note, &source.text);
        if is_generated(&note.metadata) || turns.is_empty() && known.is_none() {
            return Ok(FileMade::Nothing);
        }
        let place = place(self.files, known, &name_of(of), (OF, of.as_str()))?;
        let digest = turns_digest(&turns);
        if let Some((before, _)) = &place.before {
            let is_enough = made_by == RULES || before.text_of(MADE_BY) == Some(made_by);
            if before.text_of(TURNS_DIGEST) == Some(&digest) && (is_enough || before.is_edited) {
                let doubt = doubt_of(&note.metadata).filter(|doubt| before.text_of(TRUST) != Some(doubt));
                let Some(doubt) = doubt.filter(|_| !before.is_edited) else { return Ok(FileMade::Same) };
                let (mut own, body) = (before.metadata.clone(), before.body.clone());
                own.insert(TRUST.into(), doubt.into());
                own.insert(READ.into(), source.hash.to_hex().to_string().into());
                return put(self.files, place, &own, &[of.to_string()], &body);
            }
            if before.is_edited {
                return Ok(FileMade::Kept(place.path));
            }
        }
        let Some(mut summary) = make(&turns) else { return Ok(FileMade::Nothing) };
        // Held until it is written.
        let asked = self.forgotten.ask()?;
        for lines in summary.lists() {
            lines.retain(|line| !is_forgotten(&asked, &line.text));
        }
        if summary.is_empty() {
            if place.before.is_some() {
                take_away(self.files, &place.path)?;
            }
            return Ok(FileMade::Nothing);
        }
        let covered = Covered { of, note: &note, turns: &turns };
        let mut own = covered.front();
        own.insert(TURNS_DIGEST.into(), digest.into());
        own.insert(READ.into(), source.hash.to_hex().to_string().into());
        own.insert(MADE_BY.into(), made_by.into());
        put(self.files, place, &own, &[of.to_string()], &summary_body(&summary))
    }
}

/// Whether something that a line of a summary or a digest says was forgotten for good. Before it may stand a day, and who said it.
pub(crate) fn is_forgotten(asked: &ForgottenLookup<'_>, line: &str) -> bool {
    const MOST_PARTS: usize = 4;
    let mut rest = Some(line).filter(|_| !asked.is_empty());
    for _ in 0..MOST_PARTS {
        let Some(part) = rest else { return false };
        if asked.without(part, TombstoneScope::All).is_some() {
            return true;
        }
        rest = part.split_once(": ").map(|(_, said)| said);
    }
    false
}

/// The turns that a summary is made of.
struct Covered<'a> {
    of: &'a VaultPath,
    note: &'a Note,
    turns: &'a [ConversationTurn<'a>],
}

impl Covered<'_> {
    /// What the frontmatter says of them.
    fn front(&self) -> Map<String, Value> {
        let mut own = Map::new();
        own.insert("title".into(), format!("Summary: {}", self.note.title).into());
        if let Some(last) = self.last_turn() {
            own.insert("created".into(), last.into());
        }
        if let Some(doubt) = doubt_of(&self.note.metadata) {
            own.insert(TRUST.into(), doubt.into());
        }
        own.insert(OF.into(), self.of.as_str().into());
        let last_line = self.turns.last().map_or(0, |turn| turn.lines.1);
        own.insert(THROUGH.into(), format!("{}#L{last_line}", self.of).into());
        own.insert(TURNS.into(), self.turns.len().into());
        own
    }

    /// When the last turn was, as frontmatter has it.
    fn last_turn(&self) -> Option<String> {
        let last = self.turns.last()?;
        let day = last.date.and_then(|date| date.parse().ok()).or_else(|| day_of_file(self.of, self.note.created))?;
        let at: DateTime = format!("{day}T{}", last.time).parse().ok()?;
        Some(written(&at.to_zoned(TimeZone::system()).ok()?))
    }
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

/// The beginning of what was said, from which its language is told.
fn sample(turns: &[ConversationTurn<'_>]) -> String {
    const ENOUGH: usize = 2_000;
    let mut sample = String::new();
    for turn in turns {
        if sample.len() > ENOUGH {
            break;
        }
        sample.push_str(&turn.text);
        sample.push('\n');
    }
    sample
}
