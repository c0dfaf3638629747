//! Starts the confined process, listens to it, and ends it when it takes too long.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use super::jail;
use super::part::{DocumentPart, MAX_TEXT};
use super::text::DocumentText;
use crate::base::path::AttachmentKind;

/// The hidden command that reads a document.
pub(crate) const COMMAND: &str = "read-attachment";

/// Maximum time that a document is read, by the clock.
const PATIENCE: Duration = Duration::from_secs(jail::SECONDS);
/// Maximum bytes that are listened to: what JSON makes of the longest text.
const MAX_TOLD: u64 = 3 * MAX_TEXT as u64;
/// Parts that wait to be taken.
const WAITING: usize = 256;
/// Signals by their numbers, which Linux and macOS share.
const SIGXCPU: i32 = 24;
const SIGABRT: i32 = 6;
const SIGSEGV: i32 = 11;

/// What came of reading a document.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ReadOutcome {
    /// Its text, or why there is none.
    pub(super) text: Result<DocumentText, String>,
    /// Whether another try may come to something else: it was stopped by the clock, and others computed meanwhile; or from outside.
    pub(super) may_change: bool,
    /// What of the confinement this system does not have.
    pub(super) unconfined: Option<String>,
}

/// Reads a document that is open, at its beginning.
///
/// # Errors
/// When no process can be started.
pub(super) fn read(kind: AttachmentKind, file: impl Into<Stdio>) -> std::io::Result<ReadOutcome> {
    let started = Instant::now();
    let mut child = Command::new(program())
        .arg0("vault")
        .args([COMMAND, kind.as_str()])
        .env_clear()
        .current_dir("/")
        // What ends the daemon from its terminal is not meant for it.
        .process_group(0)
        .stdin(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let parts = listen(&mut child);
    let mut told = PartialDocument::new(started + PATIENCE);
    told.take(&parts);
    // It may have more to say, and nobody listens.
    let _ = child.kill();
    let status = child.wait()?;
    Ok(told.outcome(status))
}

/// Reads a document that is in memory.
///
/// # Errors
/// When no process can be started.
pub(super) fn read_bytes(kind: AttachmentKind, bytes: Vec<u8>) -> std::io::Result<ReadOutcome> {
    let (input, mut writer) = std::io::pipe()?;
    // It ends with the process, at the latest.
    let writing = std::thread::spawn(move || drop(writer.write_all(&bytes)));
    let outcome = read(kind, input);
    let _ = writing.join();
    outcome
}

/// This very program, also where its file was replaced since it was started.
fn program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or_else(|_| "vault".into()) }
}

/// Has a thread read what a process says, line by line, and no more than it may say.
fn listen(child: &mut Child) -> Receiver<DocumentPart> {
    let (sender, parts) = sync_channel(WAITING);
    if let Some(output) = child.stdout.take() {
        std::thread::spawn(move || {
            let mut output = BufReader::new(output.take(MAX_TOLD));
            let mut line = Vec::new();
            while output.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
                // What is no part was cut off.
                let Ok(part) = serde_json::from_slice(&line) else { break };
                if sender.send(part).is_err() {
                    break;
                }
                line.clear();
            }
        });
    }
    parts
}

/// What a process has told so far.
struct PartialDocument {
    deadline: Instant,
    text: DocumentText,
    page: Option<u32>,
    /// The page that was told of last.
    last_page: Option<u32>,
    refused: Option<String>,
    unconfined: Option<String>,
    ended: bool,
    late: bool,
}

impl PartialDocument {
    fn new(deadline: Instant) -> Self {
        Self {
            deadline,
            text: DocumentText::default(),
            page: None,
            last_page: None,
            refused: None,
            unconfined: None,
            ended: false,
            late: false,
        }
    }

    fn take(&mut self, parts: &Receiver<DocumentPart>) {
        loop {
            match parts.recv_timeout(self.deadline.saturating_duration_since(Instant::now())) {
                Ok(DocumentPart::End) => return self.ended = true,
                Ok(DocumentPart::Refused(reason)) => self.refused = Some(reason),
                Ok(DocumentPart::Unconfined(what)) => self.unconfined = Some(what),
                Ok(part) => {
                    if let DocumentPart::Page(number) = part {
                        self.last_page = Some(number);
                    }
                    self.text.add(part, &mut self.page);
                }
                Err(RecvTimeoutError::Timeout) => return self.late = true,
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn outcome(self, status: ExitStatus) -> ReadOutcome {
        let Self { mut text, refused, unconfined, ended, late, last_page, .. } = self;
        let stopped = (!ended).then(|| stopped(status, late));
        let nothing = text.text.is_empty();
        let text = match (refused, stopped) {
            (Some(reason), _) if nothing => Err(reason),
            (None, Some(reason)) if nothing => Err(reason),
            (None, None) if nothing => {
                Err(text.problems.into_iter().next().unwrap_or_else(|| "there is no text in it".into()))
            }
            (refused, stopped) => {
                let after = last_page.map(|page| format!(", after page {page}")).unwrap_or_default();
                let stopped = stopped.map(|reason| format!("only its beginning was read{after}: {reason}"));
                text.problems.extend(refused);
                text.problems.extend(stopped);
                Ok(text)
            }
        };
        let is_its_own = matches!(status.signal(), Some(SIGXCPU | SIGABRT | SIGSEGV));
        ReadOutcome { text, may_change: late || !(ended || is_its_own), unconfined }
    }
}

/// Why a process ended before it had told all.
fn stopped(status: ExitStatus, late: bool) -> String {
    match status.signal() {
        _ if late => format!("it takes more than {} seconds to read", PATIENCE.as_secs()),
        Some(SIGXCPU) => format!("it takes more than {} seconds to read", jail::SECONDS),
        Some(SIGABRT) => format!("it takes more than {} MB of memory to read", jail::MEMORY >> 20),
        Some(SIGSEGV) => "it is nested too deeply to be read".into(),
        Some(signal) => format!("its reader was ended by signal {signal}"),
        None => format!("its reader failed ({status})"),
    }
}
