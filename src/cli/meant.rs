//! What a command line means that names no command: a group of commands by itself lists what there is, and of a command that does not exist
//! the one that is meant is named.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Command, Error};

use crate::search::nearest;

/// Names of one act, in this program and in others. Of each the one that is a command is meant.
const SYNONYMS: [&[&str]; 10] = [
    &["search", "find", "query", "grep", "ask"],
    &["forget", "remove", "delete", "rm", "del", "unset"],
    &["ls", "list", "dir"],
    &["save", "add", "new", "create", "write", "set"],
    &["get", "show", "cat", "read", "view", "print"],
    &["related", "similar", "near"],
    &["restore", "undo", "revert", "rollback"],
    &["serve", "start", "run", "daemon"],
    &["status", "info", "stats", "doctor"],
    &["log", "history"],
];

/// The command line with the listing that a group of commands by itself means, where parsing it failed for want of one.
pub(super) fn listing(error: &Error, args: &[OsString], root: &Command) -> Option<Vec<OsString>> {
    let wants = [
        ErrorKind::MissingSubcommand,
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand,
        // `vault agent --json`
        ErrorKind::UnknownArgument,
    ];
    let (group, end) = group(args, root);
    let is_group = end > 1 && group.is_subcommand_required_set() && wants.contains(&error.kind());
    let lists = if group.find_subcommand("list").is_some() { "list" } else { "status" };
    is_group.then(|| [&args[..end], &[lists.into()], &args[end..]].concat())
}

/// The error with the command that is meant in place of one that does not exist.
pub(super) fn suggested(mut error: Error, args: &[OsString], root: &Command) -> Error {
    let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidSubcommand) else { return error };
    let (group, _) = group(args, root);
    let there: Vec<&str> =
        group.get_subcommands().filter(|known| !known.is_hide_set()).map(Command::get_name).collect();
    let meant = SYNONYMS.iter().find(|names| names.contains(&typed.as_str())).copied().unwrap_or_default();
    let meant: Vec<String> = meant.iter().filter(|name| there.contains(name)).map(|name| (*name).to_owned()).collect();
    let meant = if meant.is_empty() { nearest(typed, &there).into_iter().collect() } else { meant };
    error.remove(ContextKind::SuggestedSubcommand);
    if !meant.is_empty() {
        error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(meant));
    }
    error
}

/// The command that a command line names as far as there is one, and where its name ends.
fn group<'c>(args: &[OsString], root: &'c Command) -> (&'c Command, usize) {
    let (mut group, mut end, mut at) = (root, 1, 1);
    while let Some(arg) = args.get(at).and_then(|arg| arg.to_str()) {
        match group.find_subcommand(arg) {
            Some(found) => (group, end) = (found, at + 1),
            None if arg == "--vault" => at += 1,
            None if arg.starts_with('-') => {}
            None => break,
        }
        at += 1;
    }
    (group, end)
}
