//! Where model files are for all vaults of a user, and how one is fetched from where the person says.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};
use tempfile::{Builder, NamedTempFile};

use crate::base::fs::{Context, FsError};

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

/// Maximum time that a server may say nothing; then it is not there any more.
const SILENCE: Duration = Duration::from_secs(30);
/// The bytes that are read at a time.
const PIECE: usize = 1 << 16;

/// Why there is no file.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DownloadError {
    /// A file could not be read or written.
    #[error(transparent)]
    Fs(#[from] FsError),
    /// What was written is no address, the server did not give it, or it is not what was wanted.
    #[error("{0}")]
    Failed(String),
}

/// Downloads `address` beside `target`, and gives the file, which is gone again unless it is kept, with its SHA-256 in hex. With `wanted`,
/// nothing else than that is taken. `show` is told how many bytes are there and how many are not, as far as that is known.
///
/// # Errors
/// When the server does not give it, it cannot be written, or is not what was wanted.
pub(crate) fn download(
    address: &str,
    target: &Path,
    wanted: Option<&str>,
    show: &mut dyn FnMut(u64, u64),
) -> Result<(NamedTempFile, String), DownloadError> {
    let encrypted = address.starts_with("https://");
    if !(encrypted || (wanted.is_some() && address.starts_with("http://"))) {
        let reason = "is not a download address: use https://, or http:// with --sha256";
        return Err(DownloadError::Failed(format!("{address:?} {reason}")));
    }
    let failed = |reason: String| DownloadError::Failed(format!("{address} cannot be downloaded: {reason}"));
    let agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(5)
        // What was begun encrypted is not ended in the open.
        .https_only(encrypted)
        .timeout_connect(Some(SILENCE))
        .timeout_recv_response(Some(SILENCE))
        .timeout_per_read(Some(SILENCE))
        .user_agent(concat!("memory-vault/", env!("CARGO_PKG_VERSION")))
        .build()
        .new_agent();
    let mut answer = agent.get(address).call().map_err(|error| failed(error.to_string()))?;
    if answer.status() != 200 {
        return Err(failed(format!("the server answered {}", answer.status().as_u16())));
    }
    let all = answer.body().content_length();
    let mut body = answer.body_mut().with_config().limit(u64::MAX).reader();
    // A known model is known by the beginning of its file's name.
    let (folder, name) = (target.parent().unwrap_or(target), target.file_name().unwrap_or_default());
    let file = Builder::new().prefix(name).suffix(".new").tempfile_in(folder);
    let mut file = file.on("write", folder)?;
    let (mut hasher, mut piece, mut here) = (Sha256::new(), vec![0; PIECE], 0);
    loop {
        let read = body.read(&mut piece).map_err(|error| failed(error.to_string()))?;
        if read == 0 {
            break;
        }
        file.write_all(&piece[..read]).on("write", file.path())?;
        hasher.update(&piece[..read]);
        here += read as u64;
        show(here, all.unwrap_or(here).saturating_sub(here));
    }
    if all.is_some_and(|all| here < all) {
        return Err(failed("it stopped midway; try again".into()));
    }
    let found: String = hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    if let Some(wanted) = wanted.filter(|wanted| !wanted.eq_ignore_ascii_case(&found)) {
        let found = format!("the download from {address} has the SHA-256 {found}, not {wanted}, and was deleted");
        return Err(DownloadError::Failed(found));
    }
    file.as_file().sync_all().on("write", file.path())?;
    Ok((file, found))
}
