//! The person sees in which browsers the page is open, and ends that.

use jiff::Timestamp;

use crate::access::request::{Owner, RequestError, rfc3339};
use crate::base::state::{PageSession, PageSessionTable};
use crate::serve::wire::{EndSessionsParams, PageSessionView, PageSessionsView, SessionsEnded};

/// The open sessions, the one that was used last first.
///
/// # Errors
/// When the state cannot be read.
pub(crate) fn list(owner: &Owner) -> Result<PageSessionsView, RequestError> {
    let sessions = list_of(&PageSessionTable::new(&owner.workspace().state), |_| true)?;
    Ok(PageSessionsView { sessions })
}

/// Those of a table that are somebody's.
///
/// # Errors
/// As [`list`].
pub(crate) fn list_of(
    table: &PageSessionTable,
    theirs: impl Fn(&PageSession) -> bool,
) -> Result<Vec<PageSessionView>, RequestError> {
    let mut open = table.list()?;
    open.retain(|session| theirs(session) && session.is_open(Timestamp::now()));
    open.sort_by_key(|session| std::cmp::Reverse((session.used_at, session.made_at)));
    let view = |session: PageSession| PageSessionView {
        id: session.id,
        browser: session.browser,
        made_at: rfc3339(session.made_at.as_millisecond()),
        used_at: rfc3339(session.used_at.as_millisecond()),
    };
    Ok(open.into_iter().map(view).collect())
}

/// Ends one session, or all but one.
///
/// # Errors
/// When neither or both are named, there is no such session, or the state cannot be written.
pub(crate) fn end(owner: &Owner, params: &EndSessionsParams) -> Result<SessionsEnded, RequestError> {
    end_of(&PageSessionTable::new(&owner.workspace().state), params, |_| true)
}

/// Those of a table that are somebody's.
///
/// # Errors
/// As [`end`].
pub(crate) fn end_of(
    table: &PageSessionTable,
    params: &EndSessionsParams,
    theirs: impl Fn(&PageSession) -> bool,
) -> Result<SessionsEnded, RequestError> {
    let is_meant = |id: &str| match (&params.id, &params.all_but) {
        (Some(one), None) => Ok(one == id),
        (None, Some(one)) => Ok(one != id),
        _ => Err(RequestError::invalid("exactly one of `id` and `all_but` is required")),
    };
    let mut ended = 0;
    is_meant("")?;
    for session in table.list()? {
        if theirs(&session) && is_meant(&session.id)? && table.remove(&session.id)? {
            ended += 1;
        }
    }
    match &params.id {
        Some(id) if ended == 0 => Err(RequestError::not_found(format!("there is no session `{id}`"))),
        _ => Ok(SessionsEnded { ended }),
    }
}
