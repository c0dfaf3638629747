//! The process that reads a document: its standard input is the file, its standard output the parts.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::Command;

use super::part::{DocumentPart, MAX_TEXT, OutputFull, Tell};
use super::text::DocumentText;
use super::{docx, html, jail, pdf};
use crate::base::path::AttachmentKind;

/// What such a process is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReaderJob {
    /// Read a PDF.
    Pdf,
    /// Read a Word document.
    Docx,
    /// Read a web page.
    Html,
    /// Try to do what it may not, in a folder, and say what came of it.
    Check(PathBuf),
}

/// Confines this process and does the job. Nothing else may have been done before.
///
/// # Errors
/// When this process cannot be confined, or what it tells is not taken.
pub(crate) fn run(job: &ReaderJob, mut input: impl Read, output: impl Write) -> io::Result<()> {
    let unconfined = jail::enter()?;
    let mut output = BufWriter::new(output);
    let mut failed = Ok(());
    let mut left = MAX_TEXT;
    let mut tell = |part: DocumentPart| {
        if let DocumentPart::Text(text) | DocumentPart::Heading(_, text) = &part {
            left = left.saturating_sub(text.len());
        }
        // Part by part, so that what was read is known if the rest is too much.
        failed = put(&mut output, &part).and_then(|()| output.flush());
        if failed.is_ok() && left == 0 {
            let rest = format!("its text is longer than {} MB; the rest is left out", MAX_TEXT / 1_000_000);
            failed = put(&mut output, &DocumentPart::Problem(rest));
            return Err(OutputFull);
        }
        if failed.is_ok() { Ok(()) } else { Err(OutputFull) }
    };
    let told = unconfined.map_or(Ok(()), |unconfined| tell(DocumentPart::Unconfined(unconfined)));
    let read = match (told, job) {
        (Err(enough), _) => Err(enough),
        (Ok(()), ReaderJob::Check(folder)) => check(folder, &mut tell),
        (Ok(()), _) => {
            let mut bytes = Vec::new();
            input.read_to_end(&mut bytes)?;
            read(job, &bytes, &mut tell)
        }
    };
    // Whoever wants no more has said so, or is gone.
    drop(read);
    failed?;
    put(&mut output, &DocumentPart::End)?;
    output.flush()
}

fn put(output: &mut impl Write, part: &DocumentPart) -> io::Result<()> {
    serde_json::to_writer(&mut *output, part)?;
    output.write_all(b"\n")
}

/// The text of a document that is in memory, or why there is none. Read in this process, without its limits: for those who try the readers.
///
/// # Errors
/// When there is no text in it that can be read.
pub fn read_in_memory(kind: AttachmentKind, bytes: &[u8]) -> Result<String, String> {
    let job = match kind {
        AttachmentKind::Pdf => ReaderJob::Pdf,
        AttachmentKind::Docx => ReaderJob::Docx,
        AttachmentKind::Html => ReaderJob::Html,
        AttachmentKind::Image => return Err("it is a picture".into()),
    };
    let (mut text, mut page, mut refused) = (DocumentText::default(), None, None);
    // Nobody wants no more.
    let _ = read(&job, bytes, &mut |part| {
        match part {
            DocumentPart::Refused(reason) => refused = Some(reason),
            part => text.add(part, &mut page),
        }
        Ok(())
    });
    match refused {
        Some(reason) if text.text.is_empty() => Err(reason),
        _ => Ok(text.text),
    }
}

/// Reads a document that is in memory.
fn read(job: &ReaderJob, bytes: &[u8], tell: Tell<'_>) -> Result<(), OutputFull> {
    if bytes.is_empty() {
        return tell(DocumentPart::Refused("it is empty".into()));
    }
    let by_kind = catch_unwind(AssertUnwindSafe(|| match job {
        ReaderJob::Pdf => pdf::read(bytes, tell),
        ReaderJob::Docx => docx::read(bytes, tell),
        ReaderJob::Html | ReaderJob::Check(_) => html::read(bytes, tell),
    }));
    match by_kind {
        Ok(read) => read,
        Err(_) => tell(DocumentPart::Problem("it cannot be read completely: its reader failed".into())),
    }
}

/// Tries in earnest what may not be done; each that is done is a problem.
fn check(folder: &Path, tell: Tell<'_>) -> Result<(), OutputFull> {
    let there = folder.join("there");
    let taken = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory.into());
    let attempts: [(&str, io::Result<()>); 13] = [
        ("take twice the memory that it may", taken(2 * jail::MEMORY as usize)),
        ("make a file", File::create(folder.join("made")).map(drop)),
        ("write to a file", File::options().write(true).open(&there).map(drop)),
        ("read a file", File::open(&there).map(drop)),
        ("remove a file", std::fs::remove_file(&there)),
        ("rename a file", std::fs::rename(&there, folder.join("renamed"))),
        ("make a folder", std::fs::create_dir(folder.join("folder"))),
        ("list a folder", std::fs::read_dir(folder).map(drop)),
        ("open a socket for datagrams", UdpSocket::bind("127.0.0.1:0").map(drop)),
        ("connect to an address", TcpStream::connect("127.0.0.1:9").map(drop)),
        ("connect to a socket", UnixStream::connect(folder.join("socket")).map(drop)),
        ("start a program", Command::new("/bin/true").spawn().map(drop)),
        ("start a thread", std::thread::Builder::new().spawn(|| {}).map(drop)),
    ];
    for (what, result) in attempts {
        tell(match result {
            Ok(()) => DocumentPart::Problem(what.into()),
            Err(error) => DocumentPart::Text(format!("{what}: {}", error.kind())),
        })?;
    }
    Ok(())
}
