//! Moves old captured files to `.trash/`.

use std::path::Path;
use std::time::SystemTime;

use jiff::{SignedDuration, Timestamp};

use super::frontmatter::{head, is_captured};
use crate::config::RetentionConfig;
use crate::path::VaultPath;
use crate::vault::{Action, Files};

/// Moves what is older than `[retention]` says. What cannot be moved is said in the log, and tried again a day later.
pub(super) fn apply(root: &Path, files: &Files, config: &RetentionConfig) {
    for (folder, days) in config.days.iter().filter(|(_, days)| **days > 0) {
        let age = SignedDuration::from_hours(24 * i64::try_from(*days).unwrap_or(0));
        let Ok(before) = Timestamp::now().checked_sub(age) else { continue };
        for entry in std::fs::read_dir(root.join(folder)).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let Some(path) = name.to_str().and_then(|name| VaultPath::new(format!("{folder}/{name}")).ok()) else {
                continue;
            };
            let Ok(Some((bytes, hash))) = files.read(&path) else { continue };
            let Some(captured) = std::str::from_utf8(&bytes).ok().and_then(captured_at) else { continue };
            // It may have gone on since it began, or somebody has edited it.
            let Some(modified) = entry.metadata().ok().and_then(|meta| timestamp(meta.modified().ok()?)) else {
                continue;
            };
            if captured.max(modified) < before
                && let Err(error) = files.trash_as(&path, hash, Action::Trash.done_by("retention"))
            {
                tracing::warn!("`{path}` is older than {days} days and stays: {error}");
            }
        }
    }
}

/// When a file was captured, or last brought up to date; `None` when it is somebody else's.
fn captured_at(text: &str) -> Option<Timestamp> {
    let note = head(text);
    if !is_captured(text) {
        return None;
    }
    note.updated.max(note.created)
}

fn timestamp(time: SystemTime) -> Option<Timestamp> {
    Timestamp::try_from(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    use crate::vault::Outside;

    #[test]
    fn old_captured_files_go_to_the_trash_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let files = Files::new(root.to_owned(), &root.join(".vault/state"), Outside::default());
        let write = |path: &str, text: &str| {
            fs::create_dir_all(root.join(path).parent().unwrap()).unwrap();
            fs::write(root.join(path), text).unwrap();
        };
        let old = "---\ntitle: x\ncreated: 2020-01-05T10:00:00+01:00\nsource: capture\n---\n\n- 10:00 · x\n";
        let new = old.replace("2020-01-05T10:00:00+01:00", &Timestamp::now().to_string());
        write("searches/2020-01-05.md", old);
        write("searches/new.md", &new);
        write("searches/mine.md", &old.replace("source: capture", "source: me"));
        write("searches/plain.md", "# 2020\n");
        write("files/2020-01-05.md", old);
        write("searches/2020-01-06.md", old);
        write("conversations/2020-01-05-x.md", old);
        let long_ago = SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1_600_000_000);
        let age = |path: &str| {
            fs::File::options().write(true).open(root.join(path)).unwrap().set_modified(long_ago).unwrap();
        };
        for path in ["2020-01-05.md", "new.md", "mine.md", "plain.md"] {
            age(&format!("searches/{path}"));
        }
        age("files/2020-01-05.md");
        let days = ["searches", "conversations"].map(|folder| (folder.to_owned(), 90));
        let config = RetentionConfig { days: days.into() };
        apply(root, &files, &config);
        assert!(root.join(".trash/searches/2020-01-05.md").exists() && !root.join("searches/2020-01-05.md").exists());
        let kept = ["searches/new.md", "searches/mine.md", "searches/plain.md", "files/2020-01-05.md"];
        // What was edited or went on of late stays, too.
        let lately = ["searches/2020-01-06.md", "conversations/2020-01-05-x.md"];
        for kept in kept.into_iter().chain(lately) {
            assert!(root.join(kept).exists(), "{kept}");
        }
        lately.into_iter().for_each(age);
        apply(root, &files, &config);
        assert!(lately.iter().all(|path| !root.join(path).exists()));
    }
}
