//! The librarian of an agent, as the person has it work: written on the agent's page.

use serde_json::{Map, Value};

use super::{agents, no_agent};
use crate::access::{LIBRARIAN_OFF, LIBRARIAN_TASKS, LibrarianRules};
use crate::policy::{agent_file, revised_page};
use crate::request::{Owner, RequestError};
use crate::vault::Action;
use crate::wire::LibrarianParams;

/// Changes how the librarian of an agent is to work, on its page; what is not named stays.
///
/// # Errors
/// When there is no such agent, or the disk refuses.
pub(crate) fn set_librarian(owner: &Owner, slug: &str, params: &LibrarianParams) -> Result<(), RequestError> {
    let policy = agents(owner).policies().of(slug).ok_or_else(|| no_agent(slug))?;
    let set = changed(params, policy.librarian, &policy.librarian_rules);
    if set.is_empty() {
        return Ok(());
    }
    let path = agent_file(slug).ok_or_else(|| no_agent(slug))?;
    let files = owner.workspace().files()?;
    let (bytes, hash) = files.read(&path)?.ok_or_else(|| no_agent(slug))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| RequestError::conflict(format!("`{path}` is not text; mend it by hand")))?;
    let revised = revised_page(&text, &set);
    if revised != text {
        files.replace(&path, hash, &revised, Action::Edit)?;
        agents(owner).look_at_page(slug);
        owner.workspace().settled_in_time(&path);
    }
    Ok(())
}

/// What of the page is to be another.
fn changed(params: &LibrarianParams, is_on: bool, rules: &LibrarianRules) -> Map<String, Value> {
    let mut set = Map::new();
    if let Some(enabled) = params.enabled.filter(|enabled| *enabled != is_on) {
        set.insert("librarian".to_owned(), enabled.into());
    }
    let mut off = rules.off.clone();
    let known = params.tasks.iter().flatten().filter(|(task, _)| LIBRARIAN_TASKS.contains(&task.as_str()));
    for (task, does) in known {
        off.retain(|other| other != task);
        if !does {
            off.push(task.clone());
        }
    }
    if off != rules.off {
        set.insert(LIBRARIAN_OFF.to_owned(), off.into());
    }
    set
}
