//! A line: an event as JSON, whose last field is a checksum of all that is before it.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::Value;

const KEY: &[u8] = b",\"sum\":\"";
/// Hexadecimal digits of a checksum.
const DIGITS: usize = 16;

/// What of an event is looked at to find it.
#[derive(Debug, Deserialize)]
pub(super) struct TraceHead<'l> {
    #[serde(borrow)]
    pub(super) id: Cow<'l, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'l, str>,
    pub(super) created_at: f64,
    #[serde(borrow, default)]
    pub(super) channel_id: Option<Cow<'l, str>>,
    #[serde(borrow, default)]
    pub(super) trace_id: Option<Cow<'l, str>>,
}

impl<'l> TraceHead<'l> {
    /// That of a line; `None` when the line is damaged.
    pub(super) fn of(line: &'l [u8]) -> Option<Self> {
        is_whole(line).then(|| serde_json::from_slice(line).ok()).flatten()
    }
}

/// The line of an event, with its end. The event is an object that has no checksum yet.
pub(super) fn line_of(event: &Value) -> Vec<u8> {
    let mut line = event.to_string().into_bytes();
    let sum = sum(&line);
    line.pop();
    line.extend_from_slice(KEY);
    line.extend_from_slice(sum.as_bytes());
    line.extend_from_slice(b"\"}\n");
    line
}

/// The event of a line, without its checksum; `None` when the line is damaged.
pub(super) fn event_of(line: &[u8]) -> Option<Value> {
    if !is_whole(line) {
        return None;
    }
    let mut event: Value = serde_json::from_slice(line).ok()?;
    event.as_object_mut()?.shift_remove("sum");
    Some(event)
}

/// Whether a line is as it was written, with its end: without that it is cut off when the file is mended.
fn is_whole(line: &[u8]) -> bool {
    let Some(body) = line.strip_suffix(b"\"}\n") else { return false };
    let Some((body, digits)) = body.len().checked_sub(DIGITS).map(|at| body.split_at(at)) else { return false };
    let Some(body) = body.strip_suffix(KEY) else { return false };
    let mut hasher = blake3::Hasher::new();
    hasher.update(body).update(b"}");
    hasher.finalize().to_hex().as_bytes()[..DIGITS] == *digits
}

fn sum(event: &[u8]) -> String {
    blake3::hash(event).to_hex()[..DIGITS].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_byte_is_noticed() {
        let event = json!({ "id": "a\"b", "kind": "error", "created_at": 1.5, "payload": { "message": "x\ny" } });
        let line = line_of(&event);
        assert_eq!((event_of(&line), line.iter().filter(|byte| **byte == b'\n').count()), (Some(event), 1));
        let head = TraceHead::of(&line).unwrap();
        assert_eq!((&*head.id, &*head.kind, head.created_at, head.channel_id), ("a\"b", "error", 1.5, None));
        for at in 0..line.len() {
            let mut damaged = line.clone();
            damaged[at] ^= 1;
            assert!(event_of(&damaged).is_none(), "byte {at}");
            assert!(event_of(&line[..at]).is_none(), "cut at {at}");
        }
        assert!(event_of(b"{}").is_none() && event_of(b"").is_none());
    }
}
