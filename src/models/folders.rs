//! Where model files are, for all vaults of a user.

use std::path::{Path, PathBuf};

/// The folder in which the bundled model is unpacked: what is in it can be made again.
#[cfg(feature = "gguf")]
pub(super) fn cache_folder() -> PathBuf {
    project().map_or_else(std::env::temp_dir, |dirs| dirs.cache_dir().to_owned())
}

/// The folder of models that were imported or downloaded.
pub(crate) fn models_folder() -> PathBuf {
    project().map_or_else(std::env::temp_dir, |dirs| dirs.data_dir().to_owned()).join("models")
}

fn project() -> Option<directories::ProjectDirs> {
    directories::ProjectDirs::from("", "", "memory-vault")
}

/// The file that `embed.model` means: a path from the vault's folder, or, where a bare name is none there, one of the models' folder.
/// So a `memory.toml` that is shared between machines names the same model on each.
pub(crate) fn model_file(named: &str, root: &Path) -> PathBuf {
    let here = root.join(named);
    if named.contains('/') || here.exists() {
        return here;
    }
    let shared = models_folder().join(named);
    if shared.exists() { shared } else { here }
}
