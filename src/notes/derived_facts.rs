//! The facts that were learned from a note, or from some lines of it, by their histories.

use super::derived::{GoingPlace, GonePlace, derived, is_of};
use super::gone::GoneForGood;
use super::purge_facts::{FactTarget, in_history};
use crate::derive::facts::{FactChange, full_name};
use crate::path::VaultPath;
use crate::request::{Owner, RequestError, Workspace};
use crate::wire::{DerivedNote, ForgetParams};

/// The facts whose value is from there; with `purge` those that ever had one from there. In the order of their files.
pub(super) fn learned_from(owner: &Owner, (path, lines): GoingPlace<'_>, purge: bool) -> Vec<DerivedNote> {
    let ledger = owner.workspace().ledger();
    let is_meant = |change: &FactChange| change.source.as_deref().is_some_and(|source| is_of(source, path, lines));
    let mut found = Vec::new();
    // What was edited by hand and is not noted yet is from nowhere.
    if let Ok(files) = owner.workspace().files() {
        for scope in ledger.scopes() {
            if let Err(error) = ledger.notice(files, &scope) {
                tracing::warn!("the history of the facts of `{scope}` does not follow: {error}");
            }
        }
    }
    // A file that cannot be read is none of which facts are known.
    for book in ledger.scopes().iter().filter_map(|scope| ledger.book(scope).ok()).filter(|book| book.path != *path) {
        for (namespace, key) in book.history.names() {
            let mut changes = book.history.of(namespace, key);
            let is_learned = match purge {
                true => changes.any(is_meant),
                false => {
                    let said = book.facts.get(namespace, key).is_some_and(|fact| !fact.text.is_empty());
                    said && changes.rfind(|change| change.kind.is_said()).is_some_and(is_meant)
                }
            };
            if is_learned {
                let fact = Some(full_name(namespace, key));
                found.push(DerivedNote { fact, ..derived(book.path.to_string()) });
            }
        }
    }
    found
}

/// What becomes of a fact that was learned from there: where its value is from there it goes, with `purge` with all that it ever was; where
/// an earlier one is, that goes out of the history.
pub(super) fn forget_learned(
    owner: &Owner,
    place: GoingPlace<'_>,
    fact: &DerivedNote,
    purge: bool,
    gone: &mut GoneForGood,
    forget: impl FnOnce(&ForgetParams, &mut GoneForGood) -> Result<Option<String>, RequestError>,
) -> Result<Option<String>, RequestError> {
    let ledger = owner.workspace().ledger();
    let scope = VaultPath::new(&fact.path).ok().and_then(|path| ledger.scope_of(&path)).map(|scope| scope.to_string());
    let params = ForgetParams { fact: fact.fact.clone(), scope, purge, ..ForgetParams::default() };
    let name = fact.fact.as_deref().unwrap_or_default();
    let target = FactTarget::of(owner, &params, name)?;
    match target
        .only_earlier(owner, |change| change.source.as_deref().is_some_and(|source| is_of(source, place.0, place.1)))?
    {
        Some(earlier) if purge => earlier.purge_history(owner, &params, gone).map(|_| None),
        // It has been set anew since, and what it was before stays known until it is purged.
        Some(_) => Err(RequestError::conflict(format!("`{name}` has another value by now"))),
        None => forget(&params, gone),
    }
}

/// Takes places out of all histories; gives what keeps them from that.
pub(super) fn hide_places(workspace: &Workspace, places: &[GonePlace]) -> Vec<String> {
    let ledger = workspace.ledger();
    let Ok(files) = workspace.files() else { return Vec::new() };
    let is_meant = |source: &str| places.iter().any(|(path, lines)| is_of(source, path, *lines));
    ledger.hide_sources(files, is_meant).iter().map(in_history).collect()
}
