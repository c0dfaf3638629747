//! What goes with a text that is purged: it stays forgotten, and what the program's own logs say of it goes, too.

use std::collections::HashSet;

use crate::access::own_file;
use crate::config::StemmerLanguage;
use crate::derive::CommonWords;
use crate::derive::words::plain_words;
use crate::forgotten::{ForgottenPlace, folder_of};
use crate::fs::crash;
use crate::note::{Note, summary_of};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::state::{ImportTable, SessionTable};
use crate::trace_files::{SweptTraces, TraceShare};
use crate::vault::Files;

/// A word that more than this share of everyday texts has says nothing of what was forgotten.
const EVERYDAY: f64 = 0.02;

/// A purge that is under way: what it takes is remembered as forgotten before anything is written, so that a kill in between brings
/// nothing back.
pub(super) struct Purge<'a> {
    owner: &'a Owner,
    place: ForgottenPlace,
    texts: Vec<String>,
    pub(super) tombstone: Option<i64>,
    /// That of its facts.
    facts: Option<i64>,
}

impl Drop for Purge<'_> {
    /// However it ended: what was made of the text meanwhile is not given any more.
    fn drop(&mut self) {
        self.owner.workspace().note_purge();
    }
}

impl<'a> Purge<'a> {
    /// Remembers what goes of a note that says `text`. `gone` says that it is all of it; `values` are those of facts that go, which may come
    /// again without their keys.
    pub(super) fn begin(
        owner: &'a Owner,
        path: &VaultPath,
        text: &str,
        removed: &[String],
        gone: bool,
        values: Vec<String>,
    ) -> Result<Self, RequestError> {
        let note = Note::parse(text, path.stem());
        // But for the summary frontmatter says nothing that would come again.
        let mut texts: Vec<String> = match gone {
            true => summary_of(text).into_iter().chain([text[note.body.clone()].to_owned()]).collect(),
            false => removed.to_vec(),
        };
        texts.extend(values);
        let place = owner.forgotten_place(path, text, gone)?;
        let said: Vec<&str> = texts.iter().map(String::as_str).collect();
        let tombstone = owner.workspace().forgotten().remember(&place, &said)?;
        crash::point("tombstone-kept");
        Ok(Self { owner, place, texts, tombstone, facts: None })
    }

    /// What goes, and who could read it.
    pub(super) fn gone_texts(&self) -> GoneTexts {
        let ForgottenPlace { path, readers, .. } = self.place.clone();
        GoneTexts { path, readers, texts: self.texts.clone() }
    }

    /// Takes it back: nothing was removed.
    pub(super) fn take_back(&self) {
        for id in self.tombstone.iter().chain(&self.facts.filter(|_| self.facts != self.tombstone)) {
            if let Err(error) = self.owner.workspace().forgotten().lift(*id) {
                tracing::warn!(
                    "what was not removed counts as forgotten; `vault forgotten lift {id}` lifts it: {error}"
                );
            }
        }
    }

    /// Remembers facts as forgotten, too: each a name and a value.
    pub(super) fn remember_facts(&mut self, scope: &str, facts: &[(String, &str)]) -> Result<(), RequestError> {
        let known = self.owner.workspace().forgotten().remember_facts(&self.place, scope, facts);
        self.facts = known.inspect_err(|_| self.take_back())?;
        // What lifts them is told, where the text says too little to be known again.
        self.tombstone = self.tombstone.or(self.facts);
        Ok(())
    }

    /// Takes what went out of the program's own logs; gives what keeps it from that.
    pub(super) fn clear_logs(&self, files: &Files) -> Vec<String> {
        let (workspace, path, folder) = (self.owner.workspace(), &self.place.path, folder_of(&self.place.path));
        let words: HashSet<String> = self.texts.iter().flat_map(|text| plain_words(text, true)).collect();
        let common = CommonWords::of(StemmerLanguage::English);
        let tells = |word: &String| words.contains(word) && common.share(word) < EVERYDAY;
        let log = workspace.agents().log();
        let instead = self.place.gone.then_some(folder.as_str());
        let mut failures = Vec::new();
        let mut note = |what: &str, done: Result<(), crate::state::StateError>| {
            failures.extend(done.err().map(|error| format!("{what} may name it: {error}")));
        };
        note(
            "the log of what agents read",
            log.forget(path.as_str(), instead, |query| plain_words(query, true).iter().any(tells)),
        );
        let imports = ImportTable::new(workspace.state());
        note("what is kept of imports", imports.purge_file(path.as_str(), self.place.gone));
        let sessions = SessionTable::new(workspace.state());
        note("what is kept of sessions", sessions.purge_file(path.as_str(), self.place.gone));
        if self.place.gone {
            note("the log of changes", files.hide_in_log(path, &folder));
            note("what was forgotten before", workspace.forgotten().gone(path, &self.place.readers));
        }
        failures
    }
}

/// Texts that went out of a note for good.
pub(super) struct GoneTexts {
    path: VaultPath,
    /// The agents that could read it.
    readers: Vec<String>,
    texts: Vec<String>,
}

/// Takes texts, and all that was forgotten before, out of the traces of agents, of each what it could read; gives out of which events.
pub(super) fn sweep_traces(owner: &Owner, gone: &[GoneTexts]) -> Result<SweptTraces, RequestError> {
    let known = owner.workspace().forgotten().look()?;
    let share_of = |agent: &str| {
        let reach = owner.reach_of(agent);
        let may_know = |gone: &&GoneTexts| {
            reach.is_none()
                || gone.readers.iter().any(|reader| reader == agent)
                || own_file(agent, gone.path.as_str()).is_some()
        };
        let texts = gone.iter().filter(may_know).flat_map(|gone| gone.texts.iter().cloned()).collect();
        TraceShare { reach, texts }
    };
    Ok(owner.workspace().traces().sweep(&known, &share_of)?)
}
