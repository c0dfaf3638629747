//! A disk that hangs, for tests: reads of files wait for as long as they are told to, as those of a network's file system may.
//!
//! While the file that `VAULT_STALL` names is there, whoever reads a file whose path ends as one of its lines waits. Builds without debug
//! assertions have none of it.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::time::Duration;

static HELD: LazyLock<Option<PathBuf>> = LazyLock::new(|| std::env::var_os("VAULT_STALL").map(PathBuf::from));

const LOOK_AGAIN: Duration = Duration::from_millis(5);

/// Passes before a file is read. In a released program this does nothing.
#[inline]
pub(crate) fn point(file: &Path) {
    if cfg!(debug_assertions) {
        while is_held(file) {
            std::thread::sleep(LOOK_AGAIN);
        }
    }
}

fn is_held(file: &Path) -> bool {
    let held = HELD.as_ref().and_then(|held| std::fs::read_to_string(held).ok());
    held.is_some_and(|held| held.lines().any(|end| file.ends_with(end)))
}
