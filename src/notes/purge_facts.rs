//! What goes with facts that are purged: the history beside them says nothing of them either, and they stay forgotten.

use std::collections::BTreeSet;

use super::gone::GoneForGood;
use super::purge::Purge;
use super::remains::{clear_pending, in_trash, other_names, remains};
use crate::config::MemoryScope;
use crate::derive::facts::{Fact, FactChange, FactsFile, FactsHistory, full_name, split_name};
use crate::ledger::{FactsBook, LedgerError};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError};
use crate::vault::{Purged, commits_of};
use crate::wire::{ForgetParams, Forgotten, PurgedView};

/// Values that go for good, of one memory scope.
pub(super) struct GoneFacts {
    scope: MemoryScope,
    path: VaultPath,
    /// Namespace, key and value as written.
    values: BTreeSet<(String, String, String)>,
}

impl GoneFacts {
    /// Those that a file of facts loses: with the last line of a fact goes all that it ever was, and with the file all that was ever in it.
    /// `None` where it is none, or loses none.
    pub(super) fn of(owner: &Owner, path: &VaultPath, before: &str, after: Option<&str>) -> Option<Self> {
        let ledger = owner.workspace().ledger();
        let scope = ledger.scope_of(path)?;
        let known = ledger.book(&scope).ok();
        let left = after.map(FactsFile::read).unwrap_or_default();
        let had = FactsFile::read(before);
        let mut values = BTreeSet::new();
        let mut add = |namespace: &str, key: &str, texts: &mut dyn Iterator<Item = String>| {
            values.extend(texts.map(|text| (namespace.to_owned(), key.to_owned(), text)));
        };
        for fact in had.facts() {
            match (left.get(&fact.namespace, &fact.key), &known) {
                (Some(left), _) => add(
                    &fact.namespace,
                    &fact.key,
                    &mut said(fact).filter(|text| left.text != *text && !left.retracted.contains(text)),
                ),
                (None, Some(book)) => {
                    add(&fact.namespace, &fact.key, &mut said(fact).chain(ever(book, &fact.namespace, &fact.key)));
                }
                (None, None) => add(&fact.namespace, &fact.key, &mut said(fact)),
            }
        }
        for book in known.iter().filter(|_| after.is_none()) {
            for (namespace, key) in book.history.names() {
                add(namespace, key, &mut ever(book, namespace, key));
            }
        }
        (!values.is_empty()).then(|| Self { scope, path: path.clone(), values })
    }

    /// Whether a value that a line of the history names is one of them.
    pub(super) fn means(&self, change: &FactChange, text: &str) -> bool {
        self.values.contains(&(change.namespace.clone(), change.key.clone(), text.to_owned()))
    }

    /// The values, as written.
    pub(super) fn values(&self) -> Vec<String> {
        self.values.iter().map(|(_, _, value)| value.clone()).collect()
    }

    /// Their memory scope, and each with its name.
    pub(super) fn named(&self) -> (String, Vec<(String, &str)>) {
        let named = self.values.iter();
        let named = named.map(|(namespace, key, value)| (full_name(namespace, key), value.as_str()));
        (self.scope.to_string(), named.collect())
    }
}

/// Refuses to purge `lines` of a history: other lines have the same values, and what is there next names them.
///
/// # Errors
/// When one of the lines is of a fact.
pub(super) fn check_history(owner: &Owner, path: &VaultPath, lines: &[String]) -> Result<(), RequestError> {
    let ledger = owner.workspace().ledger();
    let Some(facts) = ledger.facts_of_history(path) else { return Ok(()) };
    let history = FactsHistory::read(&lines.join("\n"));
    let Some(name) = history.names().map(|(namespace, key)| full_name(namespace, key)).next() else { return Ok(()) };
    let scope = ledger.scope_of(&facts).filter(|scope| *scope != MemoryScope::User);
    let scope = scope.map(|scope| format!(" --scope {scope}")).unwrap_or_default();
    let message = format!("`{path}` has what `{name}` was on other lines, too; a line of it cannot be purged");
    let hint = format!("forget the fact, and all that it ever was: `vault forget fact:{name}{scope} --purge`");
    Err(RequestError { hint: Some(hint), ..RequestError::invalid(message) })
}

/// What a line says of a fact, as it is written: its value, and those that are struck out.
fn said(fact: &Fact) -> impl Iterator<Item = String> {
    fact.retracted.iter().chain([&fact.text]).filter(|text| !text.is_empty()).cloned()
}

/// What a fact ever was, by its history.
fn ever(book: &FactsBook, namespace: &str, key: &str) -> impl Iterator<Item = String> {
    let changes = book.history.of(namespace, key);
    changes
        .flat_map(|change| change.old.clone().into_iter().chain(change.kind.value().map(|(text, _)| text.to_owned())))
}

/// A fact by its name: where it stands, and with `purge` what else is known of it.
pub(super) struct FactTarget {
    pub(super) path: VaultPath,
    /// The lines of the fact; `None` where it has no value any more.
    pub(super) lines: Option<(usize, usize)>,
    pub(super) gone: GoneFacts,
}

impl FactTarget {
    /// The one that is asked for.
    ///
    /// # Errors
    /// When nothing is known of such a fact.
    pub(super) fn of(owner: &Owner, params: &ForgetParams, name: &str) -> Result<Self, RequestError> {
        let scope = params.scope.as_deref().unwrap_or("user");
        let scope = MemoryScope::parse(scope).map_err(|error| RequestError::invalid(format!("`scope`: {error}")))?;
        let (namespace, key) = split_name(name);
        let namespace = namespace.to_lowercase();
        let book = owner.workspace().ledger().book(&scope)?;
        let fact = book.facts.get(&namespace, key);
        let texts = fact.into_iter().flat_map(said).chain(ever(&book, &namespace, key));
        let values = texts.map(|text| (namespace.clone(), key.to_owned(), text)).collect();
        let gone = GoneFacts { scope, path: book.path.clone(), values };
        if book.facts.times(&namespace, key) > 1 {
            let message = format!("`{name}` stands more than once in {}; remove the other lines first", gone.path);
            return Err(RequestError::conflict(message));
        }
        if fact.is_none() && (gone.values.is_empty() || !params.purge) {
            return Err(RequestError::not_found(format!("there is no fact `{name}`")));
        }
        let lines = fact.map(|fact| (fact.line, fact.last_line));
        Ok(Self { path: gone.path.clone(), lines, gone })
    }

    /// What is left of it where no more than earlier values are meant; `None` where the one of now is.
    pub(super) fn only_earlier(
        mut self,
        owner: &Owner,
        is_meant: impl Fn(&FactChange) -> bool,
    ) -> Result<Option<Self>, RequestError> {
        let book = owner.workspace().ledger().book(&self.gone.scope)?;
        let Some((namespace, key, _)) = self.gone.values.first().cloned() else { return Ok(None) };
        let now = book.facts.get(&namespace, &key).map(|fact| fact.text.as_str()).filter(|text| !text.is_empty());
        let meant = book.history.of(&namespace, &key).filter(|change| is_meant(change));
        let meant: BTreeSet<&str> = meant.filter_map(|change| change.kind.value()).map(|(text, _)| text).collect();
        if now.is_some_and(|now| meant.contains(now)) {
            return Ok(None);
        }
        self.gone.values.retain(|(_, _, value)| meant.contains(value.as_str()));
        self.lines = None;
        Ok(Some(self))
    }

    /// Purges a fact of which nothing is left but its history; what went is put into `gone`, and goes out of traces with that.
    pub(super) fn purge_history(
        &self,
        owner: &Owner,
        params: &ForgetParams,
        gone: &mut GoneForGood,
    ) -> Result<Forgotten, RequestError> {
        let values: Vec<&str> = self.gone.values.iter().map(|(_, _, value)| value.as_str()).collect();
        let mut forgotten = Forgotten {
            ok: true,
            path: self.path.to_string(),
            checkpoint_id: None,
            whole: false,
            content: if params.dry_run { values.join("\n") } else { String::new() },
            seen: String::new(),
            searchable: true,
            purged: None,
            derived: Vec::new(),
        };
        if params.dry_run {
            return Ok(forgotten);
        }
        let values = gone.staying.leave_out_of(self.gone.values());
        let purge = Purge::begin(owner, (&self.path, None), "", values, Some(self.gone.named()), false, "[]")?;
        let files = owner.workspace().files()?;
        let elsewhere = purge.drop_elsewhere(files);
        let root = owner.workspace().home().root();
        let others = other_names(&self.path.on_disk(root));
        // The file as it was may have the values that it has no more.
        let remove = || files.purge(&self.path).map_err(RequestError::from);
        let (purged, left) = owner.workspace().ledger().purge(
            files,
            &self.path,
            |change, text| self.gone.means(change, text),
            remove,
        )?;
        let commits = commits_of(root, &self.path).filter(|commits| *commits > 0);
        let remains = in_trash(&purged)
            .chain(left.iter().map(in_history))
            .chain(purge.clear_logs(files))
            .chain(clear_pending(owner.workspace(), purge.tombstone))
            .chain(remains(owner, &self.path, false, commits, others))
            .collect();
        gone.add(None, &purge);
        let tombstone = purge.tombstone;
        let Purged { checkpoints, trashed, .. } = purged;
        forgotten.purged = Some(PurgedView {
            checkpoints: checkpoints + elsewhere,
            trashed,
            embeddings: 0,
            traces: 0,
            commits,
            tombstone,
            remains,
        });
        Ok(forgotten)
    }
}

/// That a history could not be rid of what was purged.
pub(super) fn in_history(error: &LedgerError) -> String {
    format!("the history beside the file may name it; purge it again: {error}")
}
