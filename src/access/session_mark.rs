//! Marks of sessions: what the frontmatter of an exported session says of where it comes from decides which agents read it.
//!
//! A mark goes the way of tags that hide a note and show nowhere, so that every set of files, filter and check that knows those holds it too.

use serde_json::{Map, Value};

use crate::config::ChannelScope;
use crate::path::folded;

/// The property that says from what kind of channel a session is.
pub(crate) const SESSION_SCOPE: &str = "session_scope";
/// The property that says whose session it is, by the name of the agent's folder.
pub(crate) const SESSION_AGENT: &str = "session_agent";

/// What marks begin with; nothing that is written after a `#` does.
const BEGIN: &str = "@session/";

/// Where a session comes from, and whose it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SessionMark<'m> {
    pub(super) scope: ChannelScope,
    /// [`folded`]; empty for nobody's.
    pub(super) agent: &'m str,
}

impl<'m> SessionMark<'m> {
    /// Reads a mark; `None` for what is none.
    pub(super) fn read(mark: &'m str) -> Option<Self> {
        let (scope, agent) = mark.strip_prefix(BEGIN)?.split_once('/')?;
        // What says nothing that is known is for nobody else.
        Some(Self { scope: ChannelScope::of(scope).unwrap_or(ChannelScope::Direct), agent })
    }
}

/// The marks of a note's frontmatter: none, where it is no session. A key counts whatever its case. A scope that makes no sense is the
/// narrowest.
pub(crate) fn session_marks(metadata: &Map<String, Value>) -> Vec<String> {
    let of = |wanted: &'static str| {
        metadata.iter().filter(move |(key, _)| key.trim().eq_ignore_ascii_case(wanted)).map(|(_, value)| value)
    };
    let agents: Vec<&str> = of(SESSION_AGENT).map(|value| value.as_str().unwrap_or_default().trim()).collect();
    // Said twice it is nobody's.
    let agent = folded(if agents.len() == 1 { agents[0] } else { "" });
    let scope = |value: &Value| value.as_str().and_then(ChannelScope::of).unwrap_or(ChannelScope::Direct);
    of(SESSION_SCOPE).map(|value| session_mark(scope(value), &agent)).collect()
}

/// The mark of sessions of a channel and an agent, whose name is [`folded`].
pub(super) fn session_mark(scope: ChannelScope, agent: &str) -> String {
    format!("{BEGIN}{scope}/{agent}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_session_is_marked_by_its_scope_and_agent() {
        for (front, marks) in [
            (json!({}), &[][..]),
            (json!({ "session_agent": "ada" }), &[]),
            (json!({ "session_scope": "group" }), &["@session/group/"]),
            (json!({ "Session_Scope": "Channel", "session_agent": "Ada" }), &["@session/channel/ada"]),
            (json!({ "session_scope": "everybody", "session_agent": 5 }), &["@session/direct/"]),
            (json!({ "session_scope": null, "session_agent": "a", "SESSION_AGENT": "b" }), &["@session/direct/"]),
            (json!({ "session_scope": "group", "SESSION_SCOPE": "direct" }), &["@session/group/", "@session/direct/"]),
        ] {
            assert_eq!(session_marks(front.as_object().unwrap()), marks, "{front}");
        }
        let mark = SessionMark::read("@session/group/ada").unwrap();
        assert_eq!((mark.scope, mark.agent), (ChannelScope::Group, "ada"));
        assert_eq!(SessionMark::read("session/group/ada"), None);
    }
}
