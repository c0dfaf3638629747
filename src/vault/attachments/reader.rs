//! From a document to its text, which is what is indexed, cited and shown: reads attachments, one at a time, each once, in a confined process
//! that tells the parts of one, and ends when it takes too long.

use std::collections::HashSet;
use std::fs;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Mutex, Once, PoisonError};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde::{Deserialize, Serialize};

use super::confined::{MEMORY, SECONDS};
use crate::base::fs::{Context, FsError, create_private_dir, remove_file, remove_unfinished, write_atomically};
use crate::base::path::{AttachmentKind, VaultPath};
use crate::text::note::plain_heading;
use crate::vault::disk::{FileBytes, ReadError, Source};

/// How the heading of a page begins.
const PAGE: &str = "Page ";

/// The text of a document.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct DocumentText {
    /// Headings as `## …` at the start of a line, paragraphs between blank lines.
    pub(super) text: String,
    /// What of it could not be read.
    pub(super) problems: Vec<String>,
}

/// Maximum problems that are told of one document.
const MAX_PROBLEMS: usize = 20;

impl DocumentText {
    /// Takes the next part. A page without a text leaves nothing.
    pub(super) fn add(&mut self, part: DocumentPart, page: &mut Option<u32>) {
        match part {
            DocumentPart::Page(number) => *page = Some(number),
            DocumentPart::Heading(level, text) => {
                let text = one_line(&text);
                if !text.is_empty() {
                    self.section(&format!("{} {text}", "#".repeat(level.clamp(1, 6).into())));
                }
            }
            DocumentPart::Text(text) => {
                let text = paragraph(&text);
                if !text.is_empty() {
                    if let Some(number) = page.take() {
                        self.section(&format!("## {PAGE}{number}"));
                    }
                    self.section(&text);
                }
            }
            DocumentPart::Problem(reason) if self.problems.len() < MAX_PROBLEMS => {
                self.problems.push(one_line(&reason))
            }
            _ => {}
        }
    }

    fn section(&mut self, text: &str) {
        if self.text.len() + text.len() > MAX_TEXT {
            return;
        }
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
        self.text.push('\n');
    }
}

/// A text without control characters and what is not shown.
fn clean(text: &str) -> String {
    text.chars().map(|c| if is_blank(c) { ' ' } else { c }).filter(|c| is_shown(*c)).collect()
}

/// The same, its blank space made single.
fn one_line(text: &str) -> String {
    clean(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// A paragraph whose lines are no headings, without blank lines.
fn paragraph(text: &str) -> String {
    let mut lines = Vec::new();
    for line in text.split(['\n', '\r', '\u{b}', '\u{c}', '\u{2028}', '\u{2029}']) {
        let line = clean(line);
        let line = line.trim_end();
        if line.trim().is_empty() {
            continue;
        }
        // A blank before it keeps it from being one of ours.
        lines.push(if plain_heading(line).is_some() { format!(" {line}") } else { line.to_owned() });
    }
    lines.join("\n")
}

fn is_blank(c: char) -> bool {
    c.is_control() || matches!(c, '\u{a0}' | '\u{2028}' | '\u{2029}')
}

/// Soft hyphens and what has no width part words that are one.
fn is_shown(c: char) -> bool {
    !matches!(c, '\u{ad}' | '\u{200b}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}')
}

/// The page that a passage of an attachment stands on, by the headings above it; `None` where there are no pages.
pub fn page_of(path: &str, heading_path: &[String]) -> Option<u32> {
    if AttachmentKind::of(path) != Some(AttachmentKind::Pdf) {
        return None;
    }
    heading_path.first()?.strip_prefix(PAGE)?.parse().ok()
}

/// The first and the last line of a page of a PDF's text, from 1.
pub(crate) fn page_lines(text: &str, page: u32) -> Option<(usize, usize)> {
    let wanted = format!("## {PAGE}{page}");
    let mut lines = (1..).zip(text.lines()).skip_while(|(_, line)| *line != wanted);
    let (first, _) = lines.next()?;
    let rest = lines.take_while(|(_, line)| !line.starts_with("## "));
    let last = rest.filter(|(_, line)| !line.is_empty()).last().map_or(first, |(last, _)| last);
    Some((first, last))
}

/// A part of a document, in the order in which it is read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum DocumentPart {
    /// What follows is on this page, from 1.
    Page(u32),
    /// A heading with its level, 1 to 6.
    Heading(u8, String),
    /// A paragraph; it may have several lines.
    Text(String),
    /// Something that was not read, and why. What follows is read all the same.
    Problem(String),
    /// Nothing more can be read, and why.
    Refused(String),
    /// What of the confinement this system does not have.
    Unconfined(String),
    /// All of it was told.
    End,
}

/// Takes the parts of a document. It ends the process that reads where nobody wants more.
pub(super) type Tell<'a> = &'a mut dyn FnMut(DocumentPart);

/// Maximum length of a paragraph, in bytes; a longer one is told in pieces.
pub(super) const MAX_PARAGRAPH: usize = 64 * 1024;

/// Maximum bytes of a document's text that are told.
pub(super) const MAX_TEXT: usize = 16_000_000;

/// What a document said, or why it has no text that can be read.
type Said = Result<DocumentText, String>;

/// Reads attachments.
#[derive(Debug, Default)]
pub struct AttachmentReader {
    /// Where what is read is kept, if it is.
    folder: Option<PathBuf>,
    /// Held while a process reads: one at a time, so that what all of them take together is bounded.
    one: Mutex<()>,
}

impl AttachmentReader {
    /// One that keeps what it has read in a folder of the derived stores, which is no other's.
    pub fn keeping(index_dir: &Path) -> Self {
        let folder = index_dir.join("attachments");
        remove_unfinished(&folder, Duration::ZERO);
        Self { folder: Some(folder), ..Self::default() }
    }

    /// Reads the document at a path, which has these bytes. Gives its text, with the stamp and the hash of its file, and what of it could not be
    /// read.
    ///
    /// # Errors
    /// When it has no text that can be read, changes meanwhile, or no process can be started.
    pub(crate) fn read(&self, path: &VaultPath, mut file: FileBytes) -> Result<(Source, Vec<String>), ReadError> {
        let bytes = std::mem::take(&mut file.bytes);
        let (said, is_new) = self.said(path, &file.hash, bytes)?;
        if is_new
            && file.is_as_read()
            && let Err(error) = self.keep(path, &file.hash, &said)
        {
            tracing::warn!("the text of {path} is not kept: {error}");
        }
        // Whoever purges it meanwhile found nothing to remove.
        if !file.is_as_read() {
            self.forget(path);
            return Err(ReadError::Changing);
        }
        let DocumentText { text, problems } = said.map_err(ReadError::Unfit)?;
        Ok((Source { text, stamp: file.stamp, hash: file.hash }, problems))
    }

    /// What a document said that had these bytes, be its file there or not; empty where it has no text that can be read. Nothing of it is kept.
    pub(crate) fn text_of(&self, path: &VaultPath, bytes: Vec<u8>) -> String {
        let said = self.said(path, &blake3::hash(&bytes), bytes);
        let said = said.inspect_err(|error| tracing::warn!("{path}: {error}"));
        said.ok().and_then(|(said, _)| said.ok()).map(|said| said.text).unwrap_or_default()
    }

    /// What a document says that has these bytes, as it is kept or as a process reads it now, and whether that is new and worth keeping.
    fn said(&self, path: &VaultPath, hash: &blake3::Hash, bytes: Vec<u8>) -> Result<(Said, bool), ReadError> {
        let Some(kind) = path.attachment().filter(|kind| kind.is_document()) else {
            return Err(ReadError::Unfit("it is not a document".into()));
        };
        if let Some(kept) = self.kept(path, hash) {
            return Ok((kept, false));
        }
        let _one = self.one.lock().unwrap_or_else(PoisonError::into_inner);
        // Another may have read it meanwhile.
        match self.kept(path, hash) {
            Some(kept) => Ok((kept, false)),
            None => read_document(kind, bytes).map_err(|error| ReadError::Unfit(format!("cannot be read: {error}"))),
        }
    }

    /// The file that keeps the text of the document at a path.
    fn file(&self, path: &VaultPath) -> Option<PathBuf> {
        Some(self.folder.as_ref()?.join(name(path)))
    }

    /// What is kept of the document at a path, where it is the one with this hash.
    fn kept(&self, path: &VaultPath, document: &blake3::Hash) -> Option<Said> {
        let bytes = fs::read(self.file(path)?).ok()?;
        // A bit that has turned on the disk is no word of the document.
        let (sum, json) = bytes.split_at_checked(64)?;
        if blake3::hash(json).to_hex().as_bytes() != sum {
            return None;
        }
        let kept: CachedText = serde_json::from_slice(json).ok()?;
        let is_of_it = kept.version == VERSION && kept.document == document.to_hex().as_str();
        is_of_it.then_some(kept.said)
    }

    fn keep(&self, path: &VaultPath, document: &blake3::Hash, said: &Said) -> Result<(), FsError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        let kept = CachedText { version: VERSION, document: document.to_hex().to_string(), said: said.clone() };
        let json = serde_json::to_vec(&kept).map_err(io::Error::from).on("write", folder)?;
        let bytes = [blake3::hash(&json).to_hex().as_bytes(), &json].concat();
        create_private_dir(folder)?;
        write_atomically(&folder.join(name(path)), &bytes, 0o600)
    }

    /// Keeps nothing of a path any more, and says why it could not.
    pub(crate) fn forget(&self, path: &VaultPath) -> Option<String> {
        let file = self.file(path)?;
        remove_file(&file).err().map(|error| format!("the index still has the text of `{path}`: {error}"))
    }

    /// Keeps nothing of paths that are not among these.
    pub(crate) fn retain<'p>(&self, paths: impl Iterator<Item = &'p VaultPath>) {
        let kept: HashSet<String> = paths.map(name).collect();
        let entries = self.folder.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
        for entry in entries {
            let name = entry.file_name();
            let is_ours = name.to_str().filter(|name| name.ends_with(END));
            if is_ours.is_some_and(|name| !kept.contains(name))
                && let Err(error) = remove_file(&entry.path())
            {
                tracing::warn!("the text of an attachment that is gone is kept still: {error}");
            }
        }
    }
}

/// Counts up whenever a reader tells something else of the same file.
const VERSION: u32 = 2;

#[derive(Debug, Serialize, Deserialize)]
struct CachedText {
    version: u32,
    /// BLAKE3 of the document.
    document: String,
    said: Said,
}

const END: &str = ".text";

/// A path's file has no name that tells it: folders are listed by who may not read the vault.
fn name(path: &VaultPath) -> String {
    format!("{}{END}", &blake3::hash(path.as_str().as_bytes()).to_hex()[..32])
}

/// The hidden command that reads a document.
pub(crate) const COMMAND: &str = "read-attachment";

/// How long a reader is listened to; it computes for [`SECONDS`] of that at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Maximum bytes that are listened to: what JSON makes of the longest text.
const MAX_TOLD: u64 = 3 * MAX_TEXT as u64;

/// Reads a document in a process. Says, too, whether another try would come to the same: it was not stopped from outside.
///
/// # Errors
/// When no process can be started.
fn read_document(kind: AttachmentKind, bytes: Vec<u8>) -> io::Result<(Said, bool)> {
    let mut child = Command::new(program())
        .arg0("vault")
        .args([COMMAND, kind.as_str()])
        .env_clear()
        .current_dir("/")
        // What ends the daemon from its terminal is not meant for it.
        .process_group(0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdin = child.stdin.take();
    // It ends with the process, at the latest.
    let writing = std::thread::spawn(move || stdin.map(|mut stdin| stdin.write_all(&bytes)));
    let (reader, (done, told)) = (Pid::from_child(&child), channel::<()>());
    let watchdog = std::thread::spawn(move || {
        if told.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout) {
            let _ = kill_process(reader, Signal::KILL);
        }
    });
    let (mut text, mut page, mut last_page) = (DocumentText::default(), None, None);
    let (mut refused, mut ended) = (None, false);
    let output = child.stdout.take().map(|output| BufReader::new(output.take(MAX_TOLD)));
    // What is no part was cut off.
    let parts = output.into_iter().flat_map(|output| output.split(b'\n'));
    for part in parts.map_while(|line| serde_json::from_slice(&line.ok()?).ok()) {
        match part {
            DocumentPart::End => {
                ended = true;
                break;
            }
            DocumentPart::Refused(reason) => refused = Some(reason),
            DocumentPart::Unconfined(what) => {
                static SAID: Once = Once::new();
                SAID.call_once(|| tracing::warn!("attachments are read within limits alone: {what}"));
            }
            part => {
                if let DocumentPart::Page(number) = part {
                    last_page = Some(number);
                }
                text.add(part, &mut page);
            }
        }
    }
    // It may have more to say, and nobody listens.
    let _ = child.kill();
    // The process still has its number, as nobody has waited for it.
    drop(done);
    let _ = (watchdog.join(), writing.join());
    let status = child.wait()?;
    let stopped = (!ended).then(|| stopped(status));
    let text = match (refused, stopped) {
        (refused, stopped) if !text.text.is_empty() => {
            let after = last_page.map(|page| format!(", after page {page}")).unwrap_or_default();
            text.problems.extend(refused);
            text.problems.extend(stopped.map(|reason| format!("only its beginning was read{after}: {reason}")));
            Ok(text)
        }
        (Some(reason), _) | (None, Some(reason)) => Err(reason),
        (None, None) => Err(text.problems.into_iter().next().unwrap_or_else(|| "there is no text in it".into())),
    };
    let is_its_own = matches!(status.signal(), Some(libc::SIGXCPU | libc::SIGABRT | libc::SIGSEGV));
    Ok((text, ended || is_its_own))
}

/// This very program, also where its file was replaced since it was started.
fn program() -> PathBuf {
    let own = PathBuf::from("/proc/self/exe");
    if own.exists() { own } else { std::env::current_exe().unwrap_or_else(|_| "vault".into()) }
}

/// Why a process ended before it had told all.
fn stopped(status: ExitStatus) -> String {
    match status.signal() {
        Some(libc::SIGXCPU) => format!("it takes more than {} seconds to read", SECONDS),
        Some(libc::SIGABRT) => format!("it takes more than {} MB of memory to read", MEMORY >> 20),
        Some(libc::SIGSEGV) => "it is nested too deeply to be read".into(),
        Some(signal) => format!("its reader was ended by signal {signal}"),
        None => format!("its reader failed ({status})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text_of(parts: Vec<DocumentPart>) -> String {
        let (mut text, mut page) = (DocumentText::default(), None);
        parts.into_iter().for_each(|part| text.add(part, &mut page));
        text.text
    }

    #[test]
    fn parts_become_sections_and_pages_without_a_text_leave_nothing() {
        let parts = vec![
            DocumentPart::Page(1),
            DocumentPart::Text("one\n\n# two\r\nthr\u{ad}ee\u{0}".into()),
            DocumentPart::Text("four".into()),
            DocumentPart::Page(2),
            DocumentPart::Text(" \n ".into()),
            DocumentPart::Page(3),
            DocumentPart::Text("five".into()),
        ];
        let text = text_of(parts);
        assert_eq!(text, "## Page 1\n\none\n # two\nthree\n\nfour\n\n## Page 3\n\nfive\n");
        assert_eq!(page_lines(&text, 1), Some((1, 7)));
        assert_eq!(page_lines(&text, 3), Some((9, 11)));
        assert_eq!(page_lines(&text, 2), None);
    }

    #[test]
    fn a_heading_is_one_line() {
        assert_eq!(text_of(vec![DocumentPart::Heading(9, " a\n b\tc ".into())]), "###### a b c\n");
        assert_eq!(text_of(vec![DocumentPart::Heading(1, "\n".into())]), "");
    }

    #[test]
    fn only_a_pdf_has_pages() {
        let heading = ["Page 3".to_owned()];
        assert_eq!(page_of("a/b.PDF", &heading), Some(3));
        assert_eq!(page_of("a/b.docx", &heading), None);
        assert_eq!(page_of("a/b.pdf", &["Pages".to_owned()]), None);
    }
}

#[cfg(test)]
mod tests_of_reader {
    use super::*;

    #[test]
    fn a_text_is_kept_for_its_path_and_its_bytes() {
        let folder = tempfile::tempdir().unwrap();
        let reader = AttachmentReader::keeping(folder.path());
        let (a, b) = (VaultPath::new("a.pdf").unwrap(), VaultPath::new("b.pdf").unwrap());
        let (one, two) = (blake3::hash(b"1"), blake3::hash(b"2"));
        reader.retain([&a].into_iter());
        assert_eq!(reader.kept(&a, &one), None);
        let said = Ok(DocumentText { text: "tea".into(), problems: vec!["page 2".into()] });
        reader.keep(&a, &one, &said).unwrap();
        reader.keep(&b, &two, &Err("it is not a PDF".into())).unwrap();
        assert_eq!((reader.kept(&a, &one), reader.kept(&a, &two)), (Some(said), None));
        assert_eq!(reader.kept(&b, &two), Some(Err("it is not a PDF".into())));
        reader.retain([&b].into_iter());
        assert_eq!((reader.kept(&a, &one), reader.kept(&b, &two).is_some()), (None, true));
        let file = reader.file(&b).unwrap();
        let mut bytes = fs::read(&file).unwrap();
        *bytes.last_mut().unwrap() ^= 1;
        fs::write(&file, bytes).unwrap();
        assert_eq!(reader.kept(&b, &two), None, "damaged");
        assert_eq!((reader.forget(&b), reader.forget(&b)), (None, None));
    }
}
