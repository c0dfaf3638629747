//! What may be at which place of an archive.
//!
//! The same word holds on the way out and on the way in: an archive may be forged, and so may be the folder that is exported.

use std::fs::FileType;
use std::path::{Path, PathBuf};

use crate::base::path::composed;

/// What lies at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    Link,
}

impl EntryKind {
    pub(super) fn of(kind: FileType) -> Option<Self> {
        match kind {
            kind if kind.is_file() => Some(Self::File),
            kind if kind.is_dir() => Some(Self::Folder),
            kind if kind.is_symlink() => Some(Self::Link),
            _ => None,
        }
    }
}

/// What becomes of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum PathOutcome {
    /// It belongs to the vault.
    Kept,
    /// It is not imported, and that is said, once for `what`. Of a repository (`git`) it is exported.
    Dropped { what: PathBuf, why: &'static str, git: bool },
    /// What programs leave while they work: neither exported nor imported, and nothing to speak of.
    Passing,
    /// No export writes it.
    Refused(&'static str),
}

/// What of the program's own goes along: checkpoints, and what is made for the archive of the state, with its key (the database of the state
/// holds hashes of tokens, too, and stays). Nothing else does, whatever it is called, and what comes to be kept there later has to be
/// named here.
fn is_state(names: &[&str], kind: EntryKind) -> bool {
    match (names, kind) {
        ([] | ["checkpoints"], EntryKind::Folder) => true,
        (["forgotten.key" | "export.db"], EntryKind::File) => true,
        (["checkpoints", name], EntryKind::File) => {
            let id = name.strip_suffix(".json").or_else(|| name.strip_suffix(".content"));
            id.is_some_and(|id| !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'))
        }
        _ => false,
    }
}

/// What of a repository cannot have git run a program: no hooks, no second configuration, nothing that leads to one elsewhere.
/// In place of `config` the import writes a plain one.
fn is_harmless_in_git(names: &[&str], kind: EntryKind) -> bool {
    match (names, kind) {
        (_, EntryKind::Link) => false,
        ([], kind) => kind == EntryKind::Folder,
        (["branches" | "hooks" | "info" | "lfs" | "logs" | "objects" | "refs" | "reftable" | "rr-cache"], kind) => {
            kind == EntryKind::Folder
        }
        (["objects" | "refs" | "logs" | "reftable" | "rr-cache", ..], _) => true,
        (["lfs", "objects", ..], _) => true,
        (["hooks", name], EntryKind::File) => name.ends_with(".sample"),
        (["info", "attributes" | "exclude" | "grafts" | "refs" | "sparse-checkout"], EntryKind::File) => true,
        ([name], EntryKind::File) => {
            let plain = [
                "AUTO_MERGE", "CHERRY_PICK_HEAD", "COMMIT_EDITMSG", "FETCH_HEAD", "HEAD", "MERGE_HEAD", "MERGE_MODE",
                "MERGE_MSG", "ORIG_HEAD", "REVERT_HEAD", "SQUASH_MSG", "config", "description", "index", "packed-refs",
                "shallow",
            ];
            plain.contains(name) || name.starts_with("sharedindex.")
        }
        _ => false,
    }
}

/// Whether a path is the configuration of a repository, in the vault or below it.
pub(super) fn is_git_config(path: &Path) -> bool {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    matches!(&names[..], [.., folder, name] if folder == ".git" && name == "config")
}

/// What becomes of what lies at a path of the vault.
pub(super) fn fate(path: &Path, kind: EntryKind) -> PathOutcome {
    let names: Vec<_> = path.iter().map(|name| name.to_string_lossy()).collect();
    let names: Vec<&str> = names.iter().map(|name| &**name).collect();
    let last = names.last().copied().unwrap_or_default();
    let up_to = |count: usize| names.iter().take(count).collect::<PathBuf>();
    let own = "one of the program's own files";
    for (at, name) in names.iter().enumerate() {
        let below = &names[at + 1..];
        match (&*folded(name), *name) {
            (".vault", ".vault") if at == 0 => {
                let Some(("state", state)) = below.split_first().map(|(first, rest)| (*first, rest)) else {
                    return PathOutcome::Refused(own);
                };
                return if is_state(state, kind) {
                    PathOutcome::Kept
                } else if is_passing(last) {
                    PathOutcome::Passing
                } else if kind == EntryKind::Link || names.iter().any(|name| folded(name).contains("token")) {
                    PathOutcome::Refused(own)
                } else {
                    let why = "it belongs to the program, and may give somebody access";
                    PathOutcome::Dropped { what: up_to(3), why, git: false }
                };
            }
            (".vault", _) if at == 0 => return PathOutcome::Refused(own),
            (".vault", _) => {
                let why = "it belongs to the program, for a vault inside this one";
                return PathOutcome::Dropped { what: up_to(at + 1), why, git: false };
            }
            (".git", ".git") => {
                // No ref has such a name, while one may be called `lock`.
                return if last.ends_with(".lock") || last.starts_with(".tmp-") {
                    PathOutcome::Passing
                } else if is_harmless_in_git(below, kind) {
                    PathOutcome::Kept
                } else {
                    let what = up_to(at + if below.first() == Some(&"hooks") { 3 } else { 2 });
                    PathOutcome::Dropped { what, why: "git might run a program because of it", git: true }
                };
            }
            (".git", _) => return PathOutcome::Refused("a name that some disks take for `.git`"),
            _ => {}
        }
    }
    if last.starts_with(".tmp-") { PathOutcome::Passing } else { PathOutcome::Kept }
}

/// What this program leaves while it works.
fn is_passing(name: &str) -> bool {
    name == "lock" || name.ends_with(".lock") || name.starts_with(".tmp-") || name.ends_with(".sock")
}

/// A name as the most lenient of disks compares it: without case, composed, and without what cannot be seen.
fn folded(name: &str) -> String {
    let unseen = |c: &char| matches!(c, '\u{200c}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{206a}'..='\u{206f}' | '\u{feff}');
    let seen: String = composed(name).chars().filter(|c| !unseen(c)).collect();
    // Up and down: so a long s, or the ligature of s and t, is what it stands for.
    let folded = seen.to_uppercase().to_lowercase();
    composed(&folded).trim_end_matches(['.', ' ']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn kept(path: &str) -> bool {
        matches!(fate(Path::new(path), EntryKind::File), PathOutcome::Kept)
    }

    #[test]
    fn of_its_own_the_program_exports_what_is_on_the_list_alone() {
        for exported in [
            "notes/a.md",
            ".vault/state/checkpoints/20260105T183000123-a1b2.json",
            ".vault/state/checkpoints/20260105T183000123-a1b2.content",
            ".vault/state/forgotten.key",
            ".vault/state/export.db",
            ".git/HEAD",
            ".git/config",
            ".git/hooks/pre-commit.sample",
            ".git/refs/heads/lock",
            ".git/refs/heads/a.sock",
            ".obsidian/app.json",
            "Cargo.lock",
            "lock",
            "notes/state/agents.json",
            "vault/state.md",
        ] {
            assert!(kept(exported), "{exported}");
        }
        for not in [
            ".vault", ".vault/index/catalog.db", ".vault/owner-token", ".vault/lock", ".vault/state",
            ".vault/state/state.db", ".vault/state/state.db-wal", ".vault/state/state.db.damaged",
            ".vault/state/tokens.json", ".vault/state/agents.json", ".vault/state/Agents.json",
            ".vault/state/agents/claude/log", ".vault/state/checkpoints/agents.txt",
            ".vault/state/checkpoints/a/b.json", ".vault/state/checkpoints/\u{e4}.json",
            ".vault/state/pending/x.events", ".vault/state/export.db-journal", ".vault/state/export.db-wal",
            ".vault/State/agents.json", ".vault/state.json", ".VAULT/state/agents.json",
            ".Vault/state/checkpoints/1.json", ".va\u{200c}ult/state/agents.json", ".vault./state/agents.json",
            "notes/.vault/owner-token", "notes/.vaul\u{feff}t/state/agents.json", ".git/index.lock",
            ".git/hooks/pre-commit", ".GIT/hooks/pre-commit", ".g\u{200d}it/config", "notes/.tmp-1a2b3c",
        ] {
            assert!(!kept(not), "{not}");
        }
        // A long s is an s to a disk that minds no case; nothing but the list is let through all the same.
        assert_eq!(folded(".vault/\u{17f}tate"), ".vault/state");
        for folder in [".vault/state", ".vault/state/checkpoints"] {
            assert_eq!(fate(Path::new(folder), EntryKind::Folder), PathOutcome::Kept, "{folder}");
            assert!(
                matches!(fate(Path::new(folder), EntryKind::Link), PathOutcome::Refused(_)),
                "{folder}: it could lead to notes"
            );
        }
    }

    #[test]
    fn of_a_repository_nothing_is_kept_that_could_run() {
        for gone in [
            ".git/hooks/pre-commit", ".git/Hooks/pre-commit", ".git/config.worktree", ".git/Config", ".git/commondir",
            ".git/gitdir", ".git/modules/x/config", ".git/modules/x/hooks/post-checkout",
            ".git/worktrees/x/config.worktree", ".git/rebase-merge/git-rebase-todo", ".git/remotes/origin",
            ".git/branches/origin", ".git/hooks/a/b.sample", ".git", "project/.git", "project/.git/hooks/pre-push",
        ] {
            assert!(matches!(fate(Path::new(gone), EntryKind::File), PathOutcome::Dropped { git: true, .. }), "{gone}");
        }
        for link in [".git", ".git/config", ".git/hooks", ".git/objects/aa", "project/.git"] {
            assert!(matches!(fate(Path::new(link), EntryKind::Link), PathOutcome::Dropped { git: true, .. }), "{link}");
        }
        assert!(kept("project/.git/objects/aa/bb") && is_git_config(Path::new("project/.git/config")));
    }
}
