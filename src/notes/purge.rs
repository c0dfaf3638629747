//! What goes with a text that is purged: it stays forgotten, and what the program's own logs say of it goes, too.

use std::collections::HashSet;

use super::derived::GoingPlace;
use super::kept_elsewhere::drop_kept_elsewhere;
use crate::access::own_file;
use crate::config::StemmerLanguage;
use crate::derive::CommonWords;
use crate::derive::words::plain_words;
use crate::forgotten::{ForgottenPlace, folder_of};
use crate::fs::crash;
use crate::note::{Note, summary_of};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, Workspace};
use crate::state::{ImportTable, OpenPurgeTable, SessionTable};
use crate::trace_files::{ToldTraces, TraceShare};
use crate::vault::Files;

/// A word that more than this share of everyday texts has says nothing of what was forgotten.
const EVERYDAY: f64 = 0.02;

/// A purge that is under way: what it takes is remembered as forgotten before anything is written, so that a kill in between brings
/// nothing back.
pub(super) struct Purge<'a> {
    owner: &'a Owner,
    place: ForgottenPlace,
    texts: Vec<String>,
    /// What lifts it.
    pub(super) tombstone: Option<i64>,
    /// Its number while it is not finished.
    open: i64,
}

impl Drop for Purge<'_> {
    /// However it ended: what was made of the text meanwhile is not given any more.
    fn drop(&mut self) {
        self.owner.workspace().note_purge();
    }
}

impl<'a> Purge<'a> {
    /// Remembers the `texts` that go of a note that says `text`, and the facts: their memory scope, and each name with its value. `gone` says
    /// that all of it goes, and `with` what goes with it, as the next start is to read it.
    pub(super) fn begin(
        owner: &'a Owner,
        (path, lines): GoingPlace<'_>,
        text: &str,
        texts: Vec<String>,
        facts: Option<(String, Vec<(String, &str)>)>,
        gone: bool,
        with: &str,
    ) -> Result<Self, RequestError> {
        let place = owner.forgotten_place(path, text, gone)?;
        let workspace = owner.workspace();
        let open = OpenPurgeTable::new(workspace.state()).open(path.as_str(), lines, gone, &place.readers, with)?;
        let mut purge = Self { owner, place, texts, tombstone: None, open };
        let said: Vec<&str> = purge.texts.iter().map(String::as_str).collect();
        let (scope, facts) = facts.unwrap_or_default();
        let known = workspace.forgotten().remember_with(&purge.place, &said, &scope, &facts);
        purge.tombstone = known.inspect_err(|_| purge.take_back())?;
        crash::point("tombstone-kept");
        Ok(purge)
    }

    /// Tells it from others that are not finished.
    pub(super) fn open(&self) -> i64 {
        self.open
    }

    /// What goes, and who could read it.
    pub(super) fn gone_texts(&self) -> GoneTexts {
        let ForgottenPlace { path, readers, .. } = self.place.clone();
        GoneTexts { path, readers, texts: self.texts.clone() }
    }

    /// Takes it back: nothing was removed.
    pub(super) fn take_back(&self) {
        close(self.owner.workspace(), &[self.open]);
        if let Some(id) = self.tombstone
            && let Err(error) = self.owner.workspace().forgotten().lift(id)
        {
            tracing::warn!("what was not removed counts as forgotten; `vault forgotten lift {id}` lifts it: {error}");
        }
    }

    /// Drops what is kept of other files and says what goes, while the text is still known to whoever would have to finish this; gives how
    /// many checkpoints. What cannot be dropped now is looked for again at the end.
    pub(super) fn drop_elsewhere(&self, files: &Files) -> usize {
        drop_kept_elsewhere(self.owner.workspace(), files, &self.texts).unwrap_or_default()
    }

    /// Takes what went out of the program's own logs; gives what keeps it from that.
    pub(super) fn clear_logs(&self, files: &Files) -> Vec<String> {
        clear_logs(self.owner.workspace(), files, (&self.place.path, self.place.gone), &self.place.readers, &self.texts)
    }
}

/// What goes with all of a note that says `text`: but for the summary frontmatter says nothing that would come again.
pub(super) fn whole_texts(path: &VaultPath, text: &str) -> Vec<String> {
    let note = Note::of(path, text);
    let summary = summary_of(text).filter(|_| !path.is_document());
    summary.into_iter().chain([text[note.body].to_owned()]).collect()
}

/// Purges are finished: the next start has nothing to do for them.
pub(super) fn close(workspace: &Workspace, open: &[i64]) {
    let table = OpenPurgeTable::new(workspace.state());
    for id in open {
        if let Err(error) = table.close(*id) {
            tracing::warn!("the next start goes through a purge again that is finished: {error}");
        }
    }
}

/// Takes texts, and the name of a note that is `gone`, out of the program's own logs; gives what keeps it from that.
pub(super) fn clear_logs(
    workspace: &Workspace,
    files: &Files,
    (path, gone): (&VaultPath, bool),
    readers: &[String],
    texts: &[String],
) -> Vec<String> {
    let folder = folder_of(path);
    let tells = TellingWords::of(texts);
    let log = workspace.agents().log();
    let instead = gone.then_some(folder.as_str());
    let mut failures = Vec::new();
    let mut note = |what: &str, done: Result<(), crate::state::StateError>| {
        failures.extend(done.err().map(|error| format!("{what} may name it: {error}")));
    };
    note("the log of what agents read", log.forget(path.as_str(), instead, |query| tells.are_in(query)));
    let imports = ImportTable::new(workspace.state());
    note("what is kept of imports", imports.purge_file(path.as_str(), gone));
    let sessions = SessionTable::new(workspace.state());
    note("what is kept of sessions", sessions.purge_file(path.as_str(), gone));
    if gone {
        note("the log of changes", files.hide_in_log(path, &folder));
        note("what was forgotten before", workspace.forgotten().gone(path, readers));
    }
    failures
}

/// The words of texts, by which another text is known to be about the same.
pub(super) struct TellingWords {
    words: HashSet<String>,
    common: &'static CommonWords,
}

impl TellingWords {
    pub(super) fn of(texts: &[String]) -> Self {
        let words = texts.iter().flat_map(|text| plain_words(text, true)).collect();
        Self { words, common: CommonWords::of(StemmerLanguage::English) }
    }

    /// Whether a text has one of them that few others have.
    pub(super) fn are_in(&self, text: &str) -> bool {
        let tells = |word: &String| self.words.contains(word) && self.common.share(word) < EVERYDAY;
        plain_words(text, true).iter().any(tells)
    }
}

/// Texts that went out of a note for good.
pub(super) struct GoneTexts {
    pub(super) path: VaultPath,
    /// The agents that could read it.
    pub(super) readers: Vec<String>,
    pub(super) texts: Vec<String>,
}

impl GoneTexts {
    /// Whether an agent could read it, or has it as its own.
    pub(super) fn may_know(&self, agent: &str) -> bool {
        self.readers.iter().any(|reader| reader == agent) || own_file(agent, self.path.as_str()).is_some()
    }
}

/// The events that say texts, or what was forgotten before, of each agent as far as it could read that.
pub(super) fn told_in_traces(owner: &Owner, gone: &[GoneTexts]) -> Result<ToldTraces, RequestError> {
    let known = owner.workspace().forgotten().look()?;
    Ok(owner.workspace().traces().told(&known, &|agent| share_of(owner, agent, gone))?)
}

/// Takes texts, and all that was forgotten before, out of the traces of agents, of each what it could read; gives out of how many events.
pub(super) fn sweep_traces(owner: &Owner, gone: &[GoneTexts]) -> Result<usize, RequestError> {
    let known = owner.workspace().forgotten().look()?;
    Ok(owner.workspace().traces().sweep(&known, &|agent| share_of(owner, agent, gone))?)
}

fn share_of(owner: &Owner, agent: &str, gone: &[GoneTexts]) -> TraceShare {
    let reach = owner.reach_of(agent);
    let may_know = |gone: &&GoneTexts| reach.is_none() || gone.may_know(agent);
    let texts = gone.iter().filter(may_know).flat_map(|gone| gone.texts.iter().cloned()).collect();
    TraceShare { reach, texts }
}
