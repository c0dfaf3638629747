//! The task that keeps a copy of the index on a database server. Nothing waits for it.

use std::sync::Arc;

use crate::access::request::Workspace;
use crate::base::fs::FsError;
use crate::base::tasks::Task;
use crate::serve::wire::RemoteState;

/// Pushes each state of the index that is published, until what this gives is dropped; `None` where `[remote]` names no server.
///
/// # Errors
/// When the thread cannot be started.
pub(crate) fn keep_pushed(workspace: &Arc<Workspace>) -> Result<Option<Task<RemoteState>>, FsError> {
    match workspace.config.remote.url.is_empty() {
        true => Ok(None),
        false => start(workspace).map(Some),
    }
}

#[cfg(not(feature = "postgres"))]
fn start(_: &Arc<Workspace>) -> Result<Task<RemoteState>, FsError> {
    let reason = "this program was built without the feature `postgres`";
    Task::start("push", crate::base::tasks::TaskSignal::default(), move |_, shown| {
        *shown.lock().unwrap_or_else(std::sync::PoisonError::into_inner) =
            RemoteState { reason: Some(reason.into()), ..RemoteState::default() };
        None
    })
}

#[cfg(feature = "postgres")]
use with_server::start;

#[cfg(feature = "postgres")]
mod with_server {
    use std::sync::PoisonError;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::access::people::Right;
    use crate::access::policy::session;
    use crate::access::rules::may_read;
    use crate::base::clock::{Clock, rfc3339};
    use crate::base::tasks::TaskSignal;
    use crate::index::local::keyword::FORMAT;
    use crate::index::postgres::{Address, Copied, Holder, PostgresError, PrincipalRow, PushOptions, Pusher};
    use crate::index::search::without_private;
    use crate::index::sync::Phase;
    use crate::text::note::{Note, compose};

    /// Interval at which the server hears that what it has is what is on disk.
    const HEARTBEAT: Duration = Duration::from_secs(60);
    /// The least between two pushes: many changes are pushed as one.
    const REST: Duration = Duration::from_millis(500);
    /// A push that failed is tried again after the first, later after twice as long each time, and after the last at most.
    const RETRY: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(300)];

    fn now() -> String {
        rfc3339(Clock::default().now().as_millisecond())
    }

    pub(super) fn start(workspace: &Arc<Workspace>) -> Result<Task<RemoteState>, FsError> {
        let (workspace, shared, signal) = (Arc::clone(workspace), Arc::clone(&workspace.shared), TaskSignal::default());
        shared.wakes(&signal);
        let options = options(&workspace);
        let call_off = options.as_ref().ok().map(|options| options.address.call_off());
        let name = options.as_ref().map(|options| options.name.clone()).unwrap_or_default();
        let mut pusher = options.map(Pusher::new);
        let (mut retry, mut not_before) = (RETRY[0], None::<Instant>);
        let task = Task::start("push", signal, move |signal, shown| {
            let show =
                |change: &dyn Fn(&mut RemoteState)| change(&mut shown.lock().unwrap_or_else(PoisonError::into_inner));
            show(&|state| state.vault.clone_from(&name));
            let pusher = match &mut pusher {
                Ok(pusher) => pusher,
                Err(error) => {
                    show(&|state| state.reason = Some(error.to_string()));
                    return None;
                }
            };
            if let Some(wait) = not_before.and_then(|at| at.checked_duration_since(Instant::now())) {
                return Some(wait);
            }
            // Before every note was compared with it, the index may be that of another day.
            let progress = shared.progress();
            let Some(reader) = shared.snapshot().filter(|_| progress.caught_up) else {
                return Some(HEARTBEAT);
            };
            let files = (!workspace.config.remote.push_private).then(|| without_private(reader.files()));
            // What the index does not know yet may have become private.
            let is_now = progress.failure.is_none() && progress.phase != Phase::Failing && workspace.lock.is_held();
            let pushed = principals(&workspace).and_then(|principals| {
                let (reader, files, principals) = (reader.as_ref(), files.as_ref(), &principals[..]);
                pusher.push(&Copied { reader, files, principals, is_now }, |behind, files| {
                    show(&|state| (state.files, state.behind) = (files, behind))
                })
            });
            match pushed {
                Ok(()) => {
                    (retry, not_before) = (RETRY[0], Some(Instant::now() + REST));
                    show(&|state| {
                        (state.failing_since, state.reason) = (None, None);
                        match is_now {
                            true => state.pushed_at = Some(now()),
                            false => {
                                state.reason = Some("the index does not follow the notes, so the copy does not".into())
                            }
                        }
                    });
                    Some(HEARTBEAT)
                }
                Err(PostgresError::CalledOff) if signal.is_stopped() => None,
                Err(error) => {
                    show(&|state| {
                        state.failing_since.get_or_insert_with(now);
                        state.reason = Some(error.to_string());
                    });
                    let refused = matches!(error, PostgresError::Refused(_));
                    let wait = if refused { RETRY[1] } else { retry };
                    (retry, not_before) = ((retry * 2).min(RETRY[1]), Some(Instant::now() + wait));
                    Some(wait)
                }
            }
        });
        Ok(match call_off {
            Some(call_off) => task?.at_stop(call_off),
            None => task?,
        })
    }

    /// The owner, the agents that may read in the session of their token (no session can be claimed elsewhere), and people of the server with a
    /// token of theirs.
    fn principals(workspace: &Workspace) -> Result<Vec<PrincipalRow>, PostgresError> {
        let failed = |error: &dyn std::fmt::Display| PostgresError::Failed(error.to_string());
        let folders = serde_json::to_string(&workspace.config.collections).map_err(|error| failed(&error))?;
        let row =
            |token: &blake3::Hash, holder| PrincipalRow { token: *token.as_bytes(), holder, folders: folders.clone() };
        let owner = workspace.home.owner_token().map_err(|error| failed(&error))?;
        let mut rows = vec![row(&owner.hash(), Holder::Owner)];
        for (known, page) in workspace.agents.holders().map_err(|error| failed(&error))? {
            let policy = workspace.agents.policy_on(&known.slug, &page);
            if policy.grant.is_some() && !policy.session_headers && may_read(&workspace.config.scope, &session(&known))
            {
                // What else is on it may be private.
                let rules = compose(&Note::parse(&page, "agent").metadata, "");
                rows.push(row(&known.hash, Holder::Agent(known.slug, rules)));
            }
        }
        if let Some((people, vault)) = workspace.people.get() {
            for (token, name, right) in people.holders(vault).map_err(|error| failed(&error))? {
                if Right::read(&right, &name).principal(&name.as_str().into()).is_some() {
                    rows.push(row(&token, Holder::Person(name, right.to_string())));
                }
            }
        }
        rows.sort();
        Ok(rows)
    }

    fn options(workspace: &Workspace) -> Result<PushOptions, PostgresError> {
        let (config, root) = (&workspace.config, workspace.home.root());
        let remote = &config.remote;
        let password = Some(&remote.password_env).filter(|name| !name.is_empty()).map(|name| {
            std::env::var(name)
                .map_err(|_| PostgresError::Refused(format!("the environment variable `{name}` is not set")))
        });
        let password = password.transpose()?;
        let authority = Some(root.join(&remote.ca)).filter(|_| !remote.ca.as_os_str().is_empty());
        let folder = root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(PushOptions {
            address: Address::new(&remote.url, password.as_deref(), authority.as_deref())?.with_more_patience(),
            name: if remote.vault.is_empty() { folder } else { remote.vault.clone() },
            writer: format!("{} ({})", root.display(), workspace.home.place()),
            search: config.search.clone(),
            words_format: FORMAT,
        })
    }
}
