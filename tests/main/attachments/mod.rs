//! Documents beside the notes: what is read of them, by whom, and what they cannot do.

mod documents;
mod hostile;
mod purged;
mod read;
mod searched;

use std::io::{Seek, Write};
use std::process::Output;

pub use self::documents::archive;
use crate::support::prelude::*;

/// What the process that reads documents comes to for a document.
pub fn process(kind: &str, document: &[u8]) -> Output {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(document).unwrap();
    file.rewind().unwrap();
    vault_command().args(["read-attachment", kind]).stdin(Stdio::from(file)).output().unwrap()
}

/// What it tells, each part as JSON.
#[track_caller]
pub fn parts(kind: &str, document: &[u8]) -> Vec<Value> {
    let output = process(kind, document);
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut parts: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(parts.pop().unwrap(), "end");
    parts
}

/// Why a document is not read.
#[track_caller]
pub fn refused(kind: &str, document: &[u8]) -> String {
    let parts = parts(kind, document);
    let reason = parts.iter().find_map(|part| part["refused"].as_str());
    reason.unwrap_or_else(|| panic!("it was read: {parts:?}")).to_owned()
}

/// The texts that are told, a heading as its level and text.
#[track_caller]
pub fn texts(kind: &str, document: &[u8]) -> Vec<String> {
    let told = |part: Value| match (part["heading"].as_array(), part["page"].as_u64()) {
        (Some(heading), _) => Some(format!("{} {}", heading[0], heading[1].as_str().unwrap())),
        (_, Some(page)) => Some(format!("page {page}")),
        _ => part["text"].as_str().map(str::to_owned),
    };
    parts(kind, document).into_iter().filter_map(told).collect()
}
