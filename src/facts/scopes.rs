//! Which memory scopes are asked, and what of them who asks may see.

use std::sync::Arc;

use crate::config::MemoryScope;
use crate::ledger::FactsBook;
use crate::request::{ReadScope, RequestError, Viewer, gives_history, memory_scopes};
use crate::wire::FactsParams;

/// The scopes that a request asks, and whether the first that has a key hides the others.
pub(super) fn asked(viewer: &Viewer, params: &FactsParams) -> Result<(Vec<MemoryScope>, bool), RequestError> {
    match (params.scope.as_deref(), params.resolve.as_deref()) {
        _ if is_tag_of_all(params) => Ok((viewer.workspace().ledger().scopes(), false)),
        (Some("*"), None) => Ok((viewer.workspace().ledger().scopes(), false)),
        (Some(scopes), None) => Ok((parse("scope", scopes)?, false)),
        (_, Some(scopes)) => Ok((parse("resolve", scopes)?, true)),
        (None, None) => {
            let own = viewer.agent().map(|slug| MemoryScope::Agent(slug.to_owned()));
            Ok((own.into_iter().chain([MemoryScope::User]).collect(), false))
        }
    }
}

/// Whether facts are asked for by a tag, whatever scope they are of.
pub(super) fn is_tag_of_all(params: &FactsParams) -> bool {
    params.tag.is_some() && params.resolve.is_none() && matches!(params.scope.as_deref(), None | Some("*"))
}

fn parse(name: &str, text: &str) -> Result<Vec<MemoryScope>, RequestError> {
    Ok(memory_scopes(name, text)?.into_iter().map(|(scope, _)| scope).collect())
}

/// A scope by its name.
pub(super) fn one(text: &str) -> Result<MemoryScope, RequestError> {
    MemoryScope::parse(text).map_err(|error| RequestError::invalid(format!("`scope`: {error}")))
}

/// What of the vault who asks sees: the person's memory, and for an agent its own.
pub(super) struct Sight {
    given: ReadScope,
    own: Option<ReadScope>,
}

impl Sight {
    pub(super) fn of(viewer: &Viewer) -> Result<Self, RequestError> {
        let given = viewer.read_scope()?;
        let own = viewer.memory_of_its_own()?;
        Ok(Self { given, own })
    }

    /// The state of the person's memory that is asked.
    pub(super) fn given(&self) -> &ReadScope {
        &self.given
    }

    /// Whether a file is seen, as it is on disk now.
    pub(super) fn sees(&self, path: &str) -> bool {
        let seen = |scope: &ReadScope| scope.file(path).is_some_and(|file| scope.gives(file));
        seen(&self.given) || self.own.as_ref().is_some_and(seen)
    }

    /// The facts of a scope, as far as they are seen: an agent sees them as they are in the index, so that what it may not see is not told
    /// from what is not there.
    pub(super) fn book(&self, viewer: &Viewer, scope: &MemoryScope) -> Result<Option<Arc<FactsBook>>, RequestError> {
        let ledger = viewer.workspace().ledger();
        let path = match ledger.path(scope) {
            Ok(path) => path,
            Err(_) if self.given.is_agents() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        if self.given.is_agents() && !self.sees(path.as_str()) {
            return Ok(None);
        }
        if let Ok(files) = viewer.workspace().files()
            && let Err(error) = ledger.notice(files, scope)
        {
            tracing::warn!("the history of `{path}` does not follow: {error}");
        }
        let book = match ledger.book(scope) {
            Ok(book) => book,
            Err(_) if self.given.is_agents() => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        // What was read has to be what was seen.
        let stamps =
            [Some(&self.given), self.own.as_ref()].into_iter().flatten().filter_map(|scope| scope.file(path.as_str()));
        let is_seen = !self.given.is_agents() || stamps.into_iter().any(|file| Some(file.stamp) == book.stamp);
        let gives_history = || book.history_paths().all(|path| gives_history(viewer, &path));
        Ok(is_seen.then(|| if gives_history() { Arc::clone(&book) } else { Arc::new(book.without_history()) }))
    }
}
