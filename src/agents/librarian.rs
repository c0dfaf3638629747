//! The librarian of an agent, as the person has it work: written on the agent's page.

use serde_json::Map;

use super::{agents, no_agent, revise};
use crate::access::{LIBRARIAN_OFF, LIBRARIAN_TASKS};
use crate::request::{Owner, RequestError};
use crate::wire::LibrarianParams;

/// Changes how the librarian of an agent is to work, on its page; what is not named stays.
///
/// # Errors
/// When there is no such agent, or the disk refuses.
pub(crate) fn set_librarian(owner: &Owner, slug: &str, params: &LibrarianParams) -> Result<(), RequestError> {
    let policy = agents(owner).policies().of(slug).ok_or_else(|| no_agent(slug))?;
    let mut set = Map::new();
    if let Some(enabled) = params.enabled.filter(|enabled| *enabled != policy.librarian) {
        set.insert("librarian".to_owned(), enabled.into());
    }
    let mut off = policy.librarian_rules.off.clone();
    let known = params.tasks.iter().flatten().filter(|(task, _)| LIBRARIAN_TASKS.contains(&task.as_str()));
    for (task, does) in known {
        off.retain(|other| other != task);
        if !does {
            off.push(task.clone());
        }
    }
    if off != policy.librarian_rules.off {
        set.insert(LIBRARIAN_OFF.to_owned(), off.into());
    }
    if set.is_empty() { Ok(()) } else { revise(owner, slug, &set) }
}
