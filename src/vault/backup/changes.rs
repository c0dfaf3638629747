//! What differs from the last commit, and how to put it into words.

use std::fmt::Write as _;

use serde::Serialize;

use crate::base::fs::UNFINISHED;

/// A file that differs from the last commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ChangedFile {
    /// Its path from the repository's top, as git spells it.
    pub(super) path: Vec<u8>,
    pub(super) kind: ChangeKind,
    /// Whether the index does not have it as it is on disk.
    pub(super) unstaged: bool,
    /// Whether the index has it no more, although it is on disk: taken out by the person.
    pub(super) untracked: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChangeKind {
    Changed,
    New,
    Removed,
}

/// What `git status` said of a vault.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Changes {
    pub(super) files: Vec<ChangedFile>,
    /// Files with conflicts in the index.
    pub(super) unmerged: Vec<String>,
    /// Folders that are repositories of their own.
    pub(super) repositories: Vec<String>,
}

/// How many files a commit changes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Counts {
    /// Files with other content.
    pub changed: usize,
    /// Files that were not there before.
    pub new: usize,
    /// Files that are there no more.
    pub removed: usize,
}

impl Changes {
    /// Reads `git status --porcelain=v2 -z --no-renames`. What is below `.vault` and `.trash` of the vault, whose folder is
    /// `prefix`, does not count.
    pub(super) fn parse(status: &[u8], prefix: &str) -> Self {
        let mut changes = Self::default();
        for entry in status.split(|byte| *byte == 0) {
            let fields = |count: usize| entry.splitn(count, |byte| *byte == b' ');
            let last = |count: usize| fields(count).nth(count - 1).unwrap_or_default();
            match entry.first() {
                Some(b'1') => changes.tracked(entry, last(9), prefix),
                Some(b'u') => changes.unmerged.push(String::from_utf8_lossy(last(11)).into_owned()),
                Some(b'?') => changes.untracked(last(2), prefix),
                _ => {}
            }
        }
        changes.files.sort_by(|one, two| one.path.cmp(&two.path));
        changes
    }

    fn tracked(&mut self, entry: &[u8], path: &[u8], prefix: &str) {
        let fields: Vec<&[u8]> = entry.splitn(9, |byte| *byte == b' ').collect();
        let [_, xy, _, head, index, disk, ..] = fields[..] else { return };
        let there = |mode: &[u8]| mode != b"000000";
        let kind = match (there(head), there(disk)) {
            _ if is_own(path, prefix) => return,
            (true, true) => ChangeKind::Changed,
            (false, true) => ChangeKind::New,
            (true, false) => ChangeKind::Removed,
            // Staged, and deleted since.
            (false, false) => ChangeKind::Removed,
        };
        let unstaged = xy.get(1) != Some(&b'.');
        let untracked = there(head) && !there(index) && kind == ChangeKind::Removed;
        self.files.push(ChangedFile { path: path.to_owned(), kind, unstaged, untracked });
    }

    fn untracked(&mut self, path: &[u8], prefix: &str) {
        if is_own(path, prefix) {
            return;
        }
        if path.ends_with(b"/") {
            return self.repositories.push(String::from_utf8_lossy(path).into_owned());
        }
        // Taken out of the index and not ignored: it goes in again.
        match self.files.iter_mut().find(|change| change.untracked && change.path == path) {
            Some(change) => {
                (change.kind, change.unstaged, change.untracked) = (ChangeKind::Changed, true, false);
            }
            None => self.files.push(ChangedFile {
                path: path.to_owned(),
                kind: ChangeKind::New,
                unstaged: true,
                untracked: false,
            }),
        }
    }
}

/// Whether a path is the program's own, finished or not, or in the bin, whatever `.gitignore` says.
fn is_own(path: &[u8], prefix: &str) -> bool {
    let below = path.strip_prefix(prefix.as_bytes()).unwrap_or(path);
    let top = below.split(|byte| *byte == b'/').next().unwrap_or_default();
    let name = below.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    top == b".vault" || top == b".trash" || name.starts_with(UNFINISHED.as_bytes())
}

impl Counts {
    pub(super) fn of(files: &[ChangedFile]) -> Self {
        let count = |kind| files.iter().filter(|change| change.kind == kind).count();
        Self { changed: count(ChangeKind::Changed), new: count(ChangeKind::New), removed: count(ChangeKind::Removed) }
    }
}

/// Maximum number of paths that the body of a message lists.
const LISTED: usize = 100;

/// The length up to which git's own lists show a subject whole.
const SUBJECT: usize = 72;

/// A message that says what a commit changes: the numbers and some names in the subject, the paths below it.
pub(super) fn message(files: &[ChangedFile], prefix: &str) -> String {
    let Counts { changed, new, removed } = Counts::of(files);
    let notes = files.iter().all(|change| change.path.ends_with(b".md") || change.path.ends_with(b".markdown"));
    let mut thing = Some(if notes { "note" } else { "file" });
    let mut parts = Vec::new();
    for (count, what) in [(changed, "changed"), (new, "new"), (removed, "removed")] {
        if count > 0 {
            let named = thing.take().map(|thing| format!("{thing}{} ", if count == 1 { "" } else { "s" }));
            parts.push(format!("{count} {}{what}", named.unwrap_or_default()));
        }
    }
    let name = |change: &ChangedFile| {
        let path = String::from_utf8_lossy(change.path.strip_prefix(prefix.as_bytes()).unwrap_or(&change.path));
        path.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect::<String>()
    };
    let mut message = format!("{}: ", parts.join(", "));
    for (at, change) in files.iter().enumerate() {
        let (name, comma) = (name(change), if at == 0 { "" } else { ", " });
        let left = if at + 1 < files.len() { ", …".len() } else { 0 };
        if at > 0 && message.chars().count() + name.chars().count() + comma.len() + left > SUBJECT {
            message.push_str(", …");
            break;
        }
        message.push_str(comma);
        message.push_str(&name);
    }
    if files.len() > 1 {
        message.push_str("\n\n");
        for change in files.iter().take(LISTED) {
            let sign = match change.kind {
                ChangeKind::Changed => '~',
                ChangeKind::New => '+',
                ChangeKind::Removed => '-',
            };
            let _ = writeln!(message, "{sign} {}", name(change));
        }
        if files.len() > LISTED {
            let _ = writeln!(message, "and {} more", files.len() - LISTED);
        }
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    const NONE: &str = "0000000000000000000000000000000000000000";

    fn entry(xy: &str, modes: [&str; 3], path: &str) -> String {
        format!("1 {xy} N... {} {} {} {NONE} {NONE} {path}\0", modes[0], modes[1], modes[2])
    }

    const FILE: &str = "100644";
    const GONE: &str = "000000";

    #[test]
    fn reads_what_git_says() {
        let status = [
            entry(".M", [FILE, FILE, FILE], "vault/a b.md"),
            entry("D.", [FILE, GONE, GONE], "vault/secret.md"),
            entry("D.", [FILE, GONE, GONE], "vault/back.md"),
            entry(".D", [FILE, FILE, GONE], "vault/gone.md"),
            entry(".M", [FILE, FILE, FILE], "vault/.trash/old.md"),
            format!("u UU N... {FILE} {FILE} {FILE} {FILE} {NONE} {NONE} {NONE} vault/torn.md\0"),
            "? vault/back.md\0? vault/new.md\0? vault/.vault/x\0? vault/.vault-tmp-1a2b\0? vault/a/.vault-tmp-1a2b\0? vault/nested/\0".into(),
        ];
        let changes = Changes::parse(status.concat().as_bytes(), "vault/");
        let told: Vec<_> = changes
            .files
            .iter()
            .map(|change| (std::str::from_utf8(&change.path).unwrap(), change.kind, change.unstaged, change.untracked))
            .collect();
        assert_eq!(
            told,
            [
                ("vault/a b.md", ChangeKind::Changed, true, false),
                ("vault/back.md", ChangeKind::Changed, true, false),
                ("vault/gone.md", ChangeKind::Removed, true, false),
                ("vault/new.md", ChangeKind::New, true, false),
                ("vault/secret.md", ChangeKind::Removed, false, true),
            ]
        );
        assert_eq!(
            (changes.unmerged, changes.repositories),
            (vec!["vault/torn.md".into()], vec!["vault/nested/".into()])
        );
    }

    #[test]
    fn a_message_says_what_happened_and_fits_a_line() {
        let change = |path: &str, kind| ChangedFile { path: path.into(), kind, unstaged: true, untracked: false };
        let one = [change("v/notes/a.md", ChangeKind::Changed)];
        assert_eq!(message(&one, "v/"), "1 note changed: notes/a.md");
        let three = [
            change("a.md", ChangeKind::Changed),
            change("b\nc.md", ChangeKind::New),
            change("d.png", ChangeKind::Removed),
        ];
        let told = message(&three, "");
        assert!(
            told.starts_with("1 file changed, 1 new, 1 removed: a.md, b\u{fffd}c.md, d.png\n\n~ a.md\n+ b"),
            "{told}"
        );
        let many: Vec<ChangedFile> = (0..300).map(|at| change(&format!("notes/{at}.md"), ChangeKind::New)).collect();
        let told = message(&many, "");
        let subject = told.lines().next().unwrap();
        assert!(subject.starts_with("300 notes new: notes/0.md, ") && subject.ends_with(", …"), "{subject}");
        assert!(subject.chars().count() <= SUBJECT, "{subject}");
        assert!(told.ends_with("and 200 more\n"), "{told}");
    }
}
