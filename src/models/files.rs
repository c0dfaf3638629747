//! Where model files are for all vaults of a user, and how one is fetched from where the person says, by one process at a time.

use std::fs::{File, OpenOptions, TryLockError, metadata, remove_file};
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use sha2::{Digest, Sha256};

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

/// The right to write a model's file, and what is beside it until it is whole. It ends with the process, however that ends.
#[derive(Debug)]
pub(crate) struct ModelClaim {
    path: PathBuf,
    /// Locked for as long as it is open.
    _file: File,
}

impl ModelClaim {
    /// Claims the file `target`; `None` while another process has it.
    ///
    /// # Errors
    /// When the file beside it, by which that is told, cannot be made or locked.
    pub(crate) fn take(target: &Path) -> Result<Option<Self>, FsError> {
        let mut path = target.as_os_str().to_owned();
        path.push(".lock");
        let path = PathBuf::from(path);
        loop {
            let file = File::options().write(true).create(true).truncate(false).open(&path).on("open", &path)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error).on("lock", &path)?,
            }
            // Whoever had it may have removed it after it was opened here: then another one counts, or none.
            let here = file.metadata().on("look at", &path)?.ino();
            if metadata(&path).is_ok_and(|there| there.ino() == here) {
                return Ok(Some(Self { path, _file: file }));
            }
        }
    }
}

impl Drop for ModelClaim {
    fn drop(&mut self) {
        // While it is locked still, so that it is no other's.
        let _ = remove_file(&self.path);
    }
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

/// Downloads `address` to `target`, by way of a file beside it that a later call goes on with, and gives its SHA-256 in hex. With
/// `wanted`, nothing else than that is kept. `show` is told how many bytes are there and how many are not, as far as that is known.
/// Nobody else may be at it meanwhile.
///
/// What the server calls this state of the file is kept beside the part, so that halves of two are not joined. Where it has no name for
/// that, a call goes on only where `wanted` would tell.
///
/// # Errors
/// When the server does not give it, it cannot be written, or is not what was wanted.
pub(crate) fn download(
    address: &str,
    target: &Path,
    wanted: Option<&str>,
    show: &mut dyn FnMut(u64, u64),
) -> Result<String, DownloadError> {
    let encrypted = address.starts_with("https://");
    if !(encrypted || (wanted.is_some() && address.starts_with("http://"))) {
        let reason = "is not a download address: use https://, or http:// with --sha256";
        return Err(DownloadError::Failed(format!("{address:?} {reason}")));
    }
    let part = target.with_extension("part");
    let state = PartState(part.with_extension("state"));
    let mut file = OpenOptions::new().create(true).read(true).append(true).open(&part).on("write", &part)?;
    let before = state.read();
    if before.is_none() && wanted.is_none() {
        file.set_len(0).on("write", &part)?;
    }
    let mut hasher = Sha256::new();
    let mut here = hash_all(&mut file, &mut hasher).on("write", &part)?;
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
    let mut request = agent.get(address);
    if here > 0 {
        request = request.header("range", format!("bytes={here}-"));
        if let Some(before) = &before {
            request = request.header("if-range", before);
        }
    }
    let mut answer = request.call().map_err(|error| failed(error.to_string()))?;
    let mut is_whole = false;
    // Not every server heeds the question.
    let has_changed = before.is_some_and(|before| is_other(&answer, &before));
    let give_up_part = || {
        let _ = std::fs::remove_file(&part);
        state.remove();
    };
    match answer.status().as_u16() {
        206 if here > 0 && begins_at(&answer, here) && !has_changed => {}
        // It gives all of it again.
        200 => {
            file.set_len(0).on("write", &part)?;
            (here, hasher) = (0, Sha256::new());
            state.keep(&answer).on("write", &part)?;
        }
        // There is no more: the last call ended before it could say so.
        416 if here > 0 && ends_at(&answer, here) && !has_changed => is_whole = true,
        206 | 416 => {
            give_up_part();
            return Err(failed("the earlier part does not match; try again from the start".into()));
        }
        status => return Err(failed(format!("the server answered {status}"))),
    }
    let length = header(&answer, "content-length").and_then(|length| length.parse::<u64>().ok());
    let all = length.map(|length| here + length);
    let mut body = answer.body_mut().with_config().limit(u64::MAX).reader();
    let mut piece = vec![0; PIECE];
    if !is_whole {
        loop {
            let read = body
                .read(&mut piece)
                .map_err(|error| failed(format!("{error}; the next attempt continues from there")))?;
            if read == 0 {
                break;
            }
            file.write_all(&piece[..read]).on("write", &part)?;
            hasher.update(&piece[..read]);
            here += read as u64;
            show(here, all.unwrap_or(here).saturating_sub(here));
        }
    }
    if all.is_some_and(|all| here < all && !is_whole) {
        return Err(failed("it stopped midway; the next attempt continues from there".into()));
    }
    let found = hex(&hasher.finalize());
    if let Some(wanted) = wanted.filter(|wanted| !wanted.eq_ignore_ascii_case(&found)) {
        give_up_part();
        let found = format!("the download from {address} has the SHA-256 {found}, not {wanted}, and was deleted");
        return Err(DownloadError::Failed(found));
    }
    file.sync_all().on("write", &part)?;
    std::fs::rename(&part, target).on("write", target)?;
    state.remove();
    Ok(found)
}

/// The file that says which state of the server's file the part is of.
struct PartState(PathBuf);

impl PartState {
    fn read(&self) -> Option<String> {
        let state = std::fs::read_to_string(&self.0).ok()?;
        (!state.is_empty() && state.chars().all(|character| character == ' ' || character.is_ascii_graphic()))
            .then_some(state)
    }

    fn keep(&self, answer: &ureq::http::Response<ureq::Body>) -> std::io::Result<()> {
        // What is only much the same may not be joined.
        let tag = header(answer, "etag").filter(|tag| tag.starts_with('"'));
        match tag.or_else(|| header(answer, "last-modified")) {
            Some(state) => std::fs::write(&self.0, state),
            None => {
                self.remove();
                Ok(())
            }
        }
    }

    fn remove(&self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Whether an answer says that it is of another state than this.
fn is_other(answer: &ureq::http::Response<ureq::Body>, state: &str) -> bool {
    let name = if state.starts_with('"') { "etag" } else { "last-modified" };
    header(answer, name).is_some_and(|now| now != state)
}

fn header<'a>(answer: &'a ureq::http::Response<ureq::Body>, name: &str) -> Option<&'a str> {
    Some(answer.headers().get(name)?.to_str().ok()?.trim())
}

fn hash_all(file: &mut File, hasher: &mut Sha256) -> std::io::Result<u64> {
    let (mut piece, mut here) = (vec![0; PIECE], 0);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(here),
            read => {
                hasher.update(&piece[..read]);
                here += read as u64;
            }
        }
    }
}

fn content_range(answer: &ureq::http::Response<ureq::Body>) -> Option<&str> {
    header(answer, "content-range")?.strip_prefix("bytes ")
}

fn begins_at(answer: &ureq::http::Response<ureq::Body>, here: u64) -> bool {
    content_range(answer).is_some_and(|range| range.starts_with(&format!("{here}-")))
}

fn ends_at(answer: &ureq::http::Response<ureq::Body>, here: u64) -> bool {
    content_range(answer) == Some(format!("*/{here}").as_str())
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_claimed_once_and_free_again_after() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x.gguf");
        let first = ModelClaim::take(&target).unwrap();
        assert!(first.is_some() && ModelClaim::take(&target).unwrap().is_none());
        assert!(ModelClaim::take(&folder.path().join("y.gguf")).unwrap().is_some(), "another is free");
        drop(first);
        assert_eq!(folder.path().read_dir().unwrap().count(), 0, "nothing is left behind");
        // What a process that was killed left behind holds nobody up.
        std::fs::write(folder.path().join("x.gguf.lock"), "").unwrap();
        assert!(ModelClaim::take(&target).unwrap().is_some());
    }
}
