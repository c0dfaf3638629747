//! The librarian of an agent, as the person has it work: written on the agent's page.

use serde_json::{Map, Value};

use super::{agents, no_agent};
use crate::access::{
    FANOUT_LEVELS, LIBRARIAN_FANOUT, LIBRARIAN_FANOUT_AUTO_SCALE, LIBRARIAN_OFF, LIBRARIAN_TASKS, LibrarianRules,
};
use crate::policy::{agent_file, revised_page};
use crate::request::{Owner, RequestError};
use crate::vault::Action;
use crate::wire::LibrarianParams;

/// Changes how the librarian of an agent is to work, on its page; what is not named stays.
///
/// # Errors
/// When there is no such agent, a task or a level is none, or the disk refuses.
pub(crate) fn set_librarian(owner: &Owner, slug: &str, params: &LibrarianParams) -> Result<(), RequestError> {
    let policy = agents(owner).policies().of(slug).ok_or_else(|| no_agent(slug))?;
    let set = changed(params, policy.librarian, &policy.librarian_rules)?;
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
fn changed(params: &LibrarianParams, is_on: bool, rules: &LibrarianRules) -> Result<Map<String, Value>, RequestError> {
    let mut set = Map::new();
    if let Some(enabled) = params.enabled.filter(|enabled| *enabled != is_on) {
        set.insert("librarian".to_owned(), enabled.into());
    }
    let mut off = rules.off.clone();
    for (task, does) in params.tasks.iter().flatten() {
        if !LIBRARIAN_TASKS.contains(&task.as_str()) {
            let tasks = LIBRARIAN_TASKS.join(", ");
            return Err(RequestError::invalid(format!("`tasks` names `{task}`; tasks are {tasks}")));
        }
        off.retain(|other| other != task);
        if !does {
            off.push(task.clone());
        }
    }
    if off != rules.off {
        set.insert(LIBRARIAN_OFF.to_owned(), off.into());
    }
    if let Some(fanout) = &params.fanout
        && !FANOUT_LEVELS.contains(&fanout.as_str())
    {
        let levels = FANOUT_LEVELS.join(", ");
        return Err(RequestError::invalid(format!("`fanout` is {fanout:?}; it takes {levels}")));
    }
    if let Some(fanout) = params.fanout.as_ref().filter(|fanout| **fanout != rules.fanout) {
        set.insert(LIBRARIAN_FANOUT.to_owned(), fanout.as_str().into());
    }
    if let Some(auto_scale) = params.fanout_auto_scale.filter(|auto_scale| *auto_scale != rules.fanout_auto_scale) {
        set.insert(LIBRARIAN_FANOUT_AUTO_SCALE.to_owned(), auto_scale.into());
    }
    Ok(set)
}
