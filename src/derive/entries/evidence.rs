//! Events of agents' traces as sources of entries: `traces/ada#e-17`.

use std::fmt::Write;

/// The folder of the traces.
const FOLDER: &str = "traces/";

/// The source that an event of an agent is.
pub(crate) fn trace_source(agent: &str, id: &str) -> String {
    let mut source = format!("{FOLDER}{agent}#");
    for byte in id.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b':' => source.push(char::from(byte)),
            byte => _ = write!(source, "%{byte:02X}"),
        }
    }
    source
}

/// The agent and the event that a source names, where it names one.
pub(crate) fn traced(source: &str) -> Option<(&str, String)> {
    let (agent, id) = source.strip_prefix(FOLDER)?.split_once('#')?;
    let (mut bytes, mut rest) = (Vec::new(), id);
    while let Some(first) = rest.chars().next() {
        let code = rest.get(1..3).filter(|_| first == '%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &rest[3..];
            }
            None => {
                bytes.extend_from_slice(&rest.as_bytes()[..first.len_utf8()]);
                rest = &rest[first.len_utf8()..];
            }
        }
    }
    (!agent.contains('/')).then(|| (agent, String::from_utf8_lossy(&bytes).into_owned()))
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
