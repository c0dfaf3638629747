//! What the process of many vaults is asked on its socket, and answers: a line of JSON each.

use std::io::{BufRead as _, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

/// Maximum length of a line.
const MAX_LINE_BYTES: u64 = 64 * 1024;

/// What it is asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostRequest {
    /// To serve the vault in a folder, if it does not.
    Open(PathBuf),
    /// What it does.
    Status,
}

/// What it answers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HostAnswer {
    /// The vault is served, on the vault's own socket.
    Opened,
    /// It cannot be, for this reason.
    Refused(String),
    /// The process is about to end; another is to be started.
    Ending,
    /// What it does.
    Status(HostStatus),
}

/// What the process of many vaults does.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HostStatus {
    /// Its id.
    pub pid: u32,
    /// The folders of the vaults that it serves.
    pub vaults: Vec<PathBuf>,
    /// How often it has loaded a model.
    pub model_loads: u64,
}

/// Asks the process that listens on a socket; `None` where none does. The answer is waited for so long.
///
/// # Errors
/// When it does not answer in time, or not as it should.
pub(crate) fn ask_host(
    socket: &Path,
    request: &HostRequest,
    patience: Duration,
) -> std::io::Result<Option<HostAnswer>> {
    let stream = match UnixStream::connect(socket) {
        Ok(stream) => stream,
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => return Ok(None),
        Err(error) => return Err(error),
    };
    stream.set_write_timeout(Some(patience))?;
    stream.set_read_timeout(Some(patience))?;
    match write_line(&stream, request).and_then(|()| read_line(&stream)) {
        // It ended in the middle.
        Ok(None) => Ok(Some(HostAnswer::Ending)),
        Err(error) if matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::ConnectionReset) => {
            Ok(Some(HostAnswer::Ending))
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
            Err(std::io::Error::new(ErrorKind::TimedOut, format!("no answer within {patience:?}")))
        }
        answer => answer,
    }
}

/// Reads a line; `None` at the end.
///
/// # Errors
/// When it is too long, is no such thing, or does not come in the stream's time.
pub(super) fn read_line<T: DeserializeOwned>(stream: &UnixStream) -> std::io::Result<Option<T>> {
    let mut line = Vec::new();
    BufReader::new(stream.take(MAX_LINE_BYTES)).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(None);
    }
    serde_json::from_slice(&line).map(Some).map_err(std::io::Error::from)
}

/// Writes a line.
///
/// # Errors
/// When it does not go in the stream's time.
pub(super) fn write_line(mut stream: &UnixStream, said: &impl Serialize) -> std::io::Result<()> {
    let mut line = serde_json::to_vec(said)?;
    line.push(b'\n');
    stream.write_all(&line)
}
