//! Which memory scopes a request asks for, and what it may see of their facts.

use std::sync::Arc;

use crate::config::MemoryScope;
use crate::items::FactsBook;
use crate::request::{RequestError, Viewer, Visibility, memory_scopes};
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

/// The facts of a scope, as far as they are seen: an agent sees them as they are in the index, and learns nothing of what it may not see.
pub(super) fn book(visibility: &Visibility, scope: &MemoryScope) -> Result<Option<Arc<FactsBook>>, RequestError> {
    let (workspace, is_agents) = (visibility.viewer().workspace(), visibility.is_agents());
    let ledger = workspace.ledger();
    let path = match ledger.path(scope) {
        Ok(path) => path,
        Err(_) if is_agents => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let file = visibility.file(path.as_str()).map(|(_, file)| file);
    if is_agents && file.is_none() {
        return Ok(None);
    }
    if let Ok(files) = workspace.files()
        && let Err(error) = ledger.notice(files, scope)
    {
        tracing::warn!("the history of `{path}` does not follow: {error}");
    }
    let book = match ledger.book(scope) {
        Ok(book) => book,
        Err(_) if is_agents => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    // What was read has to be what was seen.
    let is_seen = !is_agents || file.map(|file| file.stamp) == book.stamp;
    let sees_history = || book.history_paths().all(|path| visibility.sees_history(&path));
    Ok(is_seen.then(|| if sees_history() { Arc::clone(&book) } else { Arc::new(book.without_history()) }))
}
