//! Changing facts, and noting what changed, by whomever.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use jiff::Timestamp;

use super::{FactStore, FactsSnapshot, copies_of_history, history_of, is_settled};
use crate::base::config::MemoryScope;
use crate::base::fs::crash;
use crate::base::path::VaultPath;
use crate::memory::items::ItemError;
use crate::memory::items::store::edit;
use crate::text::derive::ItemEditError;
use crate::text::derive::facts::{
    FactChange, FactChangeKind, FactEdit, FactsFile, FactsHistory, NoticedBy, edited, lines_after, read_value,
    without_changes, without_sources,
};
use crate::vault::disk::{
    Act, Action, CheckpointId, Files, NoteEdit, WriteError, committed_at, git_is_busy, until_written,
};

/// Who changes a fact.
#[derive(Clone, Copy)]
pub(crate) struct FactWriter<'a> {
    /// Who writes the files.
    pub(crate) files: &'a Files,
    /// By the history: `owner`, `agent ada`.
    pub(crate) by: &'a str,
    /// Where it was learned.
    pub(crate) source: Option<&'a str>,
    /// As whom the file is written.
    pub(crate) act: Act<'a>,
    /// Whether nothing is written, and all else is as if it were.
    pub(crate) leaves: bool,
}

/// What became of a fact.
#[derive(Debug)]
pub(crate) struct FactWritten {
    /// Undoes it; `None` where the file says what it said.
    pub(crate) checkpoint: Option<CheckpointId>,
    /// The value before, as it was written.
    pub(crate) before: Option<String>,
}

impl FactStore {
    /// Changes a fact, and notes it. `expected` is the value that it is to have before, as written; `Some(None)` is none.
    ///
    /// # Errors
    /// When it has another, or none that could go, the file cannot be changed so, or the disk refuses.
    pub(crate) fn edit(
        &self,
        writer: &FactWriter<'_>,
        scope: &MemoryScope,
        (namespace, key): (&str, &str),
        fact_edit: &FactEdit<'_>,
        expected: Option<Option<&str>>,
    ) -> Result<FactWritten, ItemError> {
        let _one = self.store.one_change();
        // What it says of a span that is over: of which value, what, and which value it brings.
        let past = |history: &FactsHistory| match fact_edit {
            FactEdit::Was { text, window } => vec![(None, FactChangeKind::Was, (Some(text.as_str()), window))],
            FactEdit::WasNot { span } => {
                let known = history.values_in(namespace, key, span).into_iter();
                known.map(|text| (Some(text), FactChangeKind::WasNot, (None, span))).collect()
            }
            FactEdit::Set(_) | FactEdit::Unset | FactEdit::Retract => Vec::new(),
        };
        if matches!(fact_edit, FactEdit::Set(_) | FactEdit::Unset | FactEdit::Retract) {
            return self.change(writer, scope, (namespace, key), |text, book| {
                is_as_expected(book, namespace, key, expected)?;
                let now = edited(text, &book.facts, (namespace, key), fact_edit);
                now.map_err(|source| ItemError::edit(&book.path, source))
            });
        }
        self.notice_now(writer.files, scope, Timestamp::now().as_millisecond())?;
        let book = self.book(scope)?;
        is_as_expected(&book, namespace, key, expected)?;
        let said = past(&book.history);
        if said.is_empty() {
            return Err(ItemError::edit(&book.path, ItemEditError::Absent("fact")));
        }
        let noticed = noticed_by(writer);
        self.append(writer.files, scope, &book, writer.act, |history| {
            let (mut history, mut changes) = (history.clone(), Vec::new());
            for (old, kind, new) in past(&history) {
                let change = history.change((namespace, key), old.as_deref(), kind, new, &noticed);
                history = history.with(std::slice::from_ref(&change));
                changes.push(change);
            }
            changes
        })?;
        let taken_back: Vec<String> = said.into_iter().filter_map(|(old, ..)| old).collect();
        let before = if taken_back.is_empty() { value_of(&book, namespace, key) } else { Some(taken_back.join(", ")) };
        Ok(FactWritten { checkpoint: None, before })
    }

    /// Works out what the file says after a change, writes that over what it said, and notes it.
    fn change(
        &self,
        writer: &FactWriter<'_>,
        scope: &MemoryScope,
        (namespace, key): (&str, &str),
        change: impl Fn(&str, &FactsSnapshot) -> Result<String, ItemError>,
    ) -> Result<FactWritten, ItemError> {
        let path = self.path(scope)?;
        let (mut before, mut said) = (None, None);
        let written = edit(writer.files, &path, writer.act, |text| {
            // What somebody has edited before is theirs.
            self.notice_now(writer.files, scope, Timestamp::now().as_millisecond())?;
            let book = self.book(scope)?;
            if text.map(|text| blake3::hash(text.as_bytes())) != book.hash {
                return Ok(NoteEdit::Again);
            }
            before = value_of(&book, namespace, key);
            let text = text.unwrap_or_default();
            let now = change(text, &book)?;
            if now == text {
                return Ok(NoteEdit::Stays);
            }
            if writer.leaves {
                return Ok(NoteEdit::Left);
            }
            said = Some((book, FactsFile::read(&now)));
            Ok(NoteEdit::Text(now))
        });
        written.and_then(|checkpoint| {
            if let Some((book, facts)) = said.filter(|_| checkpoint.is_some()) {
                crash::point("fact-written");
                let noticed = noticed_by(writer);
                // Noted is what was written, whatever somebody has made of the file since.
                self.append(writer.files, scope, &book, writer.act, |history| {
                    let mut changes = history.unnoticed(&facts, &noticed);
                    // What somebody else has changed meanwhile is theirs, and noted as that.
                    changes.retain(|change| (change.namespace.as_str(), change.key.as_str()) == (namespace, key));
                    changes
                })?;
            }
            Ok(FactWritten { checkpoint, before })
        })
    }

    /// Notes what somebody has changed in a scope's file since it was last looked at. Gives whether something waits: facts of the file have
    /// gone, only just, and it may be on its way. All else is noted.
    ///
    /// # Errors
    /// When a file cannot be read, or the history not be written.
    pub(crate) fn notice(&self, files: &Files, scope: &MemoryScope) -> Result<bool, ItemError> {
        self.notice_at(files, scope, Timestamp::now().as_millisecond())
    }

    /// The same at a moment, in milliseconds since 1970.
    pub(super) fn notice_at(&self, files: &Files, scope: &MemoryScope, now: i64) -> Result<bool, ItemError> {
        if !self.keeps_history {
            return Ok(false);
        }
        let book = self.book(scope)?;
        if book.is_noticed.load(Ordering::SeqCst) {
            return Ok(false);
        }
        if book.stamp.is_some() && book.unnoticed(&book.history, now, "edit").is_empty() {
            book.is_noticed.store(self.saw(&book.path), Ordering::SeqCst);
            return Ok(false);
        }
        // What is being written is noted by who writes it.
        let _one = self.store.one_change();
        self.notice_now(files, scope, now)
    }

    fn notice_now(&self, files: &Files, scope: &MemoryScope, now: i64) -> Result<bool, ItemError> {
        let book = self.book(scope)?;
        // A file that is not there may be on its way: only who has seen it can say that it is gone.
        if !self.keeps_history || book.stamp.is_none() && !self.is_taken_away(&book.path) {
            return Ok(false);
        }
        let is_seen = book.stamp.is_none() || self.saw(&book.path);
        let found = book.unnoticed(&book.history, now, "edit");
        if found.is_empty() {
            book.is_noticed.store(is_seen, Ordering::SeqCst);
            if book.stamp.is_none() {
                self.saw_it_go(&book.path);
            }
            return Ok(false);
        }
        // Who writes a file anew may take it away first, or empty it, or has written a part of it.
        let has_gone = |change: &FactChange| book.facts.get(&change.namespace, &change.key).is_none();
        let some_gone = found.iter().any(has_gone);
        let is_busy = some_gone && git_is_busy(self.root());
        if is_busy && found.iter().all(has_gone) {
            return Ok(true);
        }
        let stays_so = !some_gone || is_settled(self.root(), &book.path, now);
        let committed = committed_at(self.root(), &book.path);
        let waits = is_busy || some_gone && committed.is_none() && !stays_so;
        // What came with a commit is as old as that.
        let (learned, by) = committed.map_or((now, "edit"), |committed| (committed.min(now), "git"));
        self.append(files, scope, &book, Action::Edit.into(), |history| {
            let mut changes = book.unnoticed(history, learned, by);
            changes.retain(|change| !waits || !has_gone(change));
            changes
        })?;
        if !waits && book.stamp.is_none() {
            self.saw_it_go(&book.path);
        }
        Ok(waits)
    }

    /// Puts the changes that follow a history at its end. Where somebody else writes it meanwhile, they are those that follow what it says then.
    fn append(
        &self,
        files: &Files,
        scope: &MemoryScope,
        known: &Arc<FactsSnapshot>,
        act: Act<'_>,
        changes: impl Fn(&FactsHistory) -> Vec<FactChange>,
    ) -> Result<(), ItemError> {
        if !self.keeps_history {
            return Ok(());
        }
        let mut is_first = true;
        until_written(|| {
            let book = if std::mem::take(&mut is_first) { Arc::clone(known) } else { self.book(scope)? };
            let changes = changes(&book.history);
            if changes.is_empty() {
                return Ok(Ok(()));
            }
            crash::point("fact-noticed");
            let path = history_of(&book.path);
            let had = files.read(&path)?;
            let hash = had.as_ref().map(|(_, hash)| *hash);
            if book.history_hash != hash {
                return Ok(Err(WriteError::Changed(path)));
            }
            let mut bytes = had.map(|(bytes, _)| bytes).unwrap_or_default();
            // What in it is no text stays as it is.
            let after = lines_after(&String::from_utf8_lossy(&bytes), &changes);
            bytes.extend_from_slice(after.as_bytes());
            Ok(files.extend(&path, hash, &bytes, act).map(|_| crash::point("fact-noted")))
        })
    }

    /// Takes values out of a scope's file, which `then` does, and every trace of them out of its history, so that it cannot be undone.
    /// Nobody notes them anew meanwhile. Gives what `then` does, and why the history may have them still, if so.
    ///
    /// # Errors
    /// When `then` fails, before anything else is done.
    pub(crate) fn purge<T, E>(
        &self,
        files: &Files,
        facts: &VaultPath,
        is_meant: impl Fn(&FactChange, &str) -> bool,
        then: impl FnOnce() -> Result<T, E>,
    ) -> Result<(T, Option<ItemError>), E> {
        let _one = self.store.one_change();
        let done = then()?;
        crash::point("fact-purged");
        let left = self.rewrite_history(files, facts, |_| true, |text| without_changes(text, &is_meant)).err();
        self.store.forget(facts);
        if !self.is_there(facts) {
            self.saw_it_go(facts);
        }
        Ok((done, left))
    }

    /// Takes the places that are meant out of all histories, so that it cannot be undone: nothing names them any more. Gives what keeps a
    /// history from that: it cannot be read or written.
    pub(crate) fn hide_sources(&self, files: &Files, is_meant: impl Fn(&str) -> bool) -> Vec<ItemError> {
        let kept = match files.checkpoints() {
            Ok(kept) => kept.into_iter().map(|checkpoint| checkpoint.path).collect::<HashSet<_>>(),
            Err(error) => return vec![error.into()],
        };
        let hide = |facts: VaultPath| {
            let _one = self.store.one_change();
            self.rewrite_history(files, &facts, |path| kept.contains(path), |text| without_sources(text, &is_meant))
        };
        let facts = self.scopes().into_iter().filter_map(|scope| self.path(&scope).ok());
        facts.filter_map(|facts| hide(facts).err()).collect()
    }

    /// Writes what `without` makes of a history over it, and keeps nothing of what it was; nor where `is_kept` says that something of it may
    /// be there from before.
    fn rewrite_history(
        &self,
        files: &Files,
        facts: &VaultPath,
        is_kept: impl Fn(&VaultPath) -> bool,
        without: impl Fn(&str) -> String,
    ) -> Result<(), ItemError> {
        let rewrite = |path: &VaultPath| -> Result<(), ItemError> {
            let written = edit(files, path, Action::Forget.into(), |text| {
                let Some(text) = text else { return Ok(NoteEdit::Stays) };
                let without = without(text);
                Ok(if without == text { NoteEdit::Stays } else { NoteEdit::Text(without) })
            })?;
            if written.is_some() || is_kept(path) {
                files.purge(path)?;
            }
            Ok(())
        };
        let history = rewrite(&history_of(facts));
        // What a sync service has made a copy of says the same. Where one of them cannot be written the others are.
        let copies = copies_of_history(self.root(), facts);
        copies.iter().map(rewrite).fold(history, Result::and)
    }
}

/// Refuses where the value is another than the one who writes believes, who may have it in other words that read the same.
///
/// Where what the file says is still to begin, what is true until then is its value, too.
fn is_as_expected(
    book: &FactsSnapshot,
    namespace: &str,
    key: &str,
    expected: Option<Option<&str>>,
) -> Result<(), ItemError> {
    let Some(expected) = expected else { return Ok(()) };
    let now = value_of(book, namespace, key);
    let standing = book.facts.get(namespace, key);
    let standing = standing.and_then(|fact| book.history.standing(fact, Timestamp::now().as_millisecond()));
    let mut values = now.as_deref().into_iter().chain(standing.map(|window| window.text));
    let is_so = match expected {
        Some(text) => {
            values.any(|value| value == text || read_value(text).is_ok_and(|read| Ok(read) == read_value(value)))
        }
        None => values.next().is_none(),
    };
    if is_so {
        return Ok(());
    }
    let (path, now) = (book.path.clone(), now.map_or_else(|| "not there".to_owned(), |now| format!("`{now}`")));
    Err(ItemError::Other { path, key: key.to_owned(), now })
}

fn value_of(book: &FactsSnapshot, namespace: &str, key: &str) -> Option<String> {
    book.facts.get(namespace, key).map(|fact| fact.text.clone()).filter(|text| !text.is_empty())
}

fn noticed_by<'a>(writer: &FactWriter<'a>) -> NoticedBy<'a> {
    NoticedBy { learned: Timestamp::now().as_millisecond(), by: writer.by, source: writer.source }
}
