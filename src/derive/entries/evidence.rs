//! Events of agents' traces as sources of entries: `traces/ada#e-17`.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

/// The folder of the traces.
const FOLDER: &str = "traces/";
/// What of an event's id would be taken for a part of the list of sources, or of a link.
const ENCODED: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b':');

/// The source that an event of an agent is.
pub(crate) fn trace_source(agent: &str, id: &str) -> String {
    format!("{FOLDER}{agent}#{}", utf8_percent_encode(id, &ENCODED))
}

/// The agent and the event that a source names, where it names one.
pub(crate) fn traced(source: &str) -> Option<(&str, String)> {
    let (agent, id) = source.strip_prefix(FOLDER)?.split_once('#')?;
    (!agent.contains('/')).then(|| (agent, percent_decode_str(id).decode_utf8_lossy().into_owned()))
}

/// The traces of an agent as the source of a note, as frontmatter is read.
pub(crate) fn traces_of(agent: &str) -> String {
    format!("{FOLDER}{agent}.md")
}

/// Whether a source is among the traces of an agent.
pub(crate) fn is_trace_of(source: &str, agent: &str) -> bool {
    let path = super::source_path(source);
    path.strip_prefix(FOLDER) == Some(agent)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_named_whatever_its_id_holds() {
        for id in ["e1", "run 7, (a)", "ü#^%2F/..", "100%", ""] {
            let source = trace_source("ada", id);
            assert_eq!(traced(&source), Some(("ada", id.to_owned())), "{source}");
            let listed = serde_json::json!({ "sources": [super::super::source_path(&source)] });
            assert_eq!(crate::note::sources(listed.as_object().unwrap()), [traces_of("ada")]);
            assert!(is_trace_of(&source, "ada") && !is_trace_of(&source, "ad"));
        }
        assert_eq!(trace_source("ada", "a b"), "traces/ada#a%20b");
        for other in ["conversations/a.md#L3", "traces/ada", "traces/a/b#c"] {
            assert_eq!(traced(other), None);
        }
    }
}
