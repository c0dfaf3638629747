//! Asking as an agent would.

use crate::access::Principal;
use crate::request::{RequestError, Viewer};

/// Who asks as an agent: for the person any agent, for an agent itself.
///
/// # Errors
/// When the agent may not read the person's memory. Whether there is such an agent is not told.
pub(crate) fn as_agent(viewer: &Viewer, named: Option<&str>) -> Result<Viewer, RequestError> {
    let named = named.filter(|name| !name.is_empty());
    let caller = match (viewer.principal(), named) {
        (Principal::Owner, None) => {
            return Err(RequestError::forbidden("no agent is named; `agent_name` says which"));
        }
        (Principal::Owner, Some(name)) => viewer.workspace().agents.named(name),
        (Principal::Agent(caller), named) => {
            Some(caller.clone()).filter(|own| named.is_none_or(|name| name == own.slug))
        }
        (Principal::Capture(_), _) => None,
    };
    let caller = caller.filter(|caller| caller.policy.grant.is_some());
    viewer.as_agent(caller.ok_or_else(|| RequestError::forbidden("this agent may not read the user's memory"))?)
}
