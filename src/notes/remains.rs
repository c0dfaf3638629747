//! Where a text that was purged may be found all the same: what is emptied of it, and what only the person can.

use std::time::Duration;

use super::annotations::annotations;
use super::retitle::title_says;
use crate::note::{Note, summary_of};
use crate::path::VaultPath;
use crate::request::{Owner, Workspace};
use crate::vault::Purged;

/// Maximum time that a purge waits for captured events to be in their files.
const PATIENCE: Duration = Duration::from_secs(1);

/// Leaves nothing of what was captured but in its files; gives what keeps it from that.
pub(super) fn clear_pending(workspace: &Workspace, tombstone: Option<i64>) -> impl Iterator<Item = String> {
    let aside = workspace.state().put_aside().map(|aside| {
        format!("{}, which could not be read, may have the text; remove it if you need nothing of it", aside.display())
    });
    let swept = workspace.sweep_pending(PATIENCE);
    let short = tombstone.is_none().then(|| "it is too short to be known again, should something bring it back".into());
    let queue = match swept {
        Ok(0) => None,
        Ok(waiting) => Some(waits(waiting, tombstone.is_some())),
        Err(error) => {
            Some(format!("the queue of captured events may have the text until the daemon can write it again: {error}"))
        }
    };
    queue.into_iter().chain(aside).chain(short)
}

/// What is to be known of events that are in no file yet.
fn waits(waiting: u64, known: bool) -> String {
    let wait = if waiting == 1 { "1 captured event waits".into() } else { format!("{waiting} captured events wait") };
    match known {
        true => format!("{wait} to be written; what they have of the text is on the disk until then, and left out"),
        false => format!("{wait} to be written; if one of them has the text, that comes back with it"),
    }
}

/// The title of a note that stays may have been made of what went.
pub(super) fn in_title(path: &VaultPath, left: Option<&str>, removed: &[String]) -> Option<String> {
    title_says(&Note::parse(left?, path.stem()), removed)
        .then(|| format!("the title of `{path}`, in its frontmatter, says some of it; change that yourself"))
}

/// A note's own summary was made of what it says.
pub(super) fn in_summary(path: &VaultPath, left: Option<&str>) -> Option<String> {
    summary_of(left?).map(|_| format!("the `summary` of `{path}` may say it; change that yourself"))
}

/// Where a text that was purged may be found all the same.
pub(super) fn remains(
    owner: &Owner,
    path: &VaultPath,
    whole: bool,
    commits: Option<usize>,
    other_names: u64,
) -> Vec<String> {
    let mut remains = Vec::new();
    if let Some(commits) = commits {
        let how = match whole {
            true => format!("`git filter-repo --invert-paths --path '{path}'`"),
            false => "`git filter-repo --replace-text FILE`, with the text in FILE,".into(),
        };
        let times = if commits == 1 { "1 commit".into() } else { format!("{commits} commits") };
        remains.push(format!(
            "git has the note in {times}. {how} writes them anew; every clone and remote keeps what it has"
        ));
    }
    if other_names > 0 {
        remains.push(format!("the file has {other_names} more names (hard links), and is as it was under those"));
    }
    if let Ok(files) = owner.workspace().files() {
        remains.extend(files.held_notes().iter().map(in_held));
    }
    // As it is now, without what went.
    let scope = owner.now();
    if let Ok(annotations) = scope.and_then(|scope| annotations(&scope, path.as_str())) {
        let quoting = annotations.iter().filter(|annotation| !annotation.found);
        remains.extend(quoting.map(|annotation| format!("`{}` quotes it", annotation.path)));
    }
    remains
}

/// A copy of the note that says something else, or said it when it was looked at.
pub(super) fn in_copy(copy: &VaultPath) -> String {
    format!("`{copy}` is a copy of the note that a sync service made, and may say it; `vault conflicts show {copy}`")
}

/// What a note had, which another program still has open for writing.
fn in_held(path: &VaultPath) -> String {
    format!(
        "another program has `{path}` open for writing; what it had before lies in `.vault/state/unfinished` until some time after it closes that, and may say it"
    )
}

/// What the trash has of a note's name that nobody knows to be of the note.
pub(super) fn in_trash(purged: &Purged) -> impl Iterator<Item = String> {
    purged.left.iter().map(|path| {
        format!(
            "`{path}` is not known to be a copy of the note, and stays; look into it, and remove it yourself if it is"
        )
    })
}

/// How many other names a file has.
pub(super) fn other_names(path: &std::path::Path) -> u64 {
    use std::os::unix::fs::MetadataExt;
    path.symlink_metadata().map_or(0, |meta| meta.nlink().saturating_sub(1))
}
