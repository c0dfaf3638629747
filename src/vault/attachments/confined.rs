//! The process that reads a document: its standard input is the file, its standard output the parts. What it may not do it sets by itself
//! before it looks at the first byte.
//!
//! Limits of the system bound its memory and time, and keep it from opening, writing and starting anything; they hold everywhere. On Linux a
//! filter of system calls leaves it those by which it computes, reads its standard input and writes its standard output. Neither can be
//! taken back.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, exit};

use rustix::process::{Resource, Rlimit, setrlimit};

use super::reader::{DocumentPart, DocumentText, MAX_TEXT, Tell};
use super::{docx, html, pdf};
use crate::base::path::AttachmentKind;

/// What such a process is started for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ReaderJob {
    /// Read a document of this kind.
    Read(AttachmentKind),
    /// Try to do what it may not, in a folder, and say what came of it.
    Check(PathBuf),
}

/// Confines this process and does the job. Nothing else may have been done before.
///
/// # Errors
/// When this process cannot be confined, or the document not read.
pub(crate) fn run(job: &ReaderJob, mut input: impl Read, output: impl Write) -> io::Result<()> {
    let unconfined = enter()?;
    let mut bytes = Vec::new();
    if matches!(job, ReaderJob::Read(_)) {
        input.read_to_end(&mut bytes)?;
    }
    let mut output = BufWriter::new(output);
    // Part by part, so that what was read is known if the rest is too much. Whoever wants no more is gone.
    let mut put = |part: &DocumentPart| {
        let line = serde_json::to_writer(&mut output, part).map_err(io::Error::from);
        let written = line.and_then(|()| output.write_all(b"\n")).and_then(|()| output.flush());
        if written.is_err() {
            exit(1);
        }
    };
    let mut left = MAX_TEXT;
    let mut tell = |part: DocumentPart| {
        if let DocumentPart::Text(text) | DocumentPart::Heading(_, text) = &part {
            left = left.saturating_sub(text.len());
        }
        put(&part);
        if left == 0 {
            let rest = format!("its text is longer than {} MB; the rest is left out", MAX_TEXT / 1_000_000);
            put(&DocumentPart::Problem(rest));
            put(&DocumentPart::End);
            exit(0);
        }
    };
    if let Some(unconfined) = unconfined {
        tell(DocumentPart::Unconfined(unconfined));
    }
    match job {
        ReaderJob::Check(folder) => check(folder, &mut tell),
        ReaderJob::Read(kind) => read(*kind, &bytes, &mut tell),
    }
    put(&DocumentPart::End);
    Ok(())
}

/// The text of a document that is in memory, or why there is none. Read in this process, without its limits: for those who try the readers.
///
/// # Errors
/// When there is no text in it that can be read.
pub fn read_in_memory(kind: AttachmentKind, bytes: &[u8]) -> Result<String, String> {
    let (mut text, mut page, mut refused) = (DocumentText::default(), None, None);
    read(kind, bytes, &mut |part| match part {
        DocumentPart::Refused(reason) => refused = Some(reason),
        part => text.add(part, &mut page),
    });
    match refused {
        Some(reason) if text.text.is_empty() => Err(reason),
        _ => Ok(text.text),
    }
}

/// Reads a document that is in memory.
fn read(kind: AttachmentKind, bytes: &[u8], tell: Tell<'_>) {
    if bytes.is_empty() {
        return tell(DocumentPart::Refused("it is empty".into()));
    }
    let read = catch_unwind(AssertUnwindSafe(|| match kind {
        AttachmentKind::Pdf => pdf::read(bytes, tell),
        AttachmentKind::Docx => docx::read(bytes, tell),
        AttachmentKind::Html => html::read(bytes, tell),
        AttachmentKind::Image => tell(DocumentPart::Refused("it is a picture".into())),
    }));
    if read.is_err() {
        tell(DocumentPart::Problem("it cannot be read completely: its reader failed".into()));
    }
}

/// Tries in earnest what may not be done; each that is done is a problem.
fn check(folder: &Path, tell: Tell<'_>) {
    let there = folder.join("there");
    let taken = |bytes| Vec::<u8>::new().try_reserve_exact(bytes).map_err(|_| io::ErrorKind::OutOfMemory.into());
    let attempts: [(&str, io::Result<()>); 13] = [
        ("take twice the memory that it may", taken(2 * MEMORY as usize)),
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
        });
    }
}

/// Bytes of memory that it may take beside what the program itself is mapped to.
pub(super) const MEMORY: u64 = 200 << 20;
/// Seconds of computing.
pub(super) const SECONDS: u64 = 10;

/// Confines this process for good; says what of it the system does not have.
///
/// # Errors
/// When a limit cannot be set: then nothing may be read.
pub(super) fn enter() -> io::Result<Option<String>> {
    let limits = [
        (Resource::Core, 0, 0),
        (Resource::Fsize, 0, 0),
        // Nothing can be opened: the three that are open stay so.
        (Resource::Nofile, 0, 0),
        (Resource::Nproc, 0, 0),
        // The first of them is told apart from other ends.
        (Resource::Cpu, SECONDS, SECONDS + 1),
        (Resource::As, mapped() + MEMORY, mapped() + MEMORY),
    ];
    // Nobody listens when who started it is gone.
    #[cfg(target_os = "linux")]
    let _ = rustix::process::set_parent_process_death_signal(Some(rustix::process::Signal::KILL));
    // Whoever else computes comes first.
    let _ = rustix::process::nice(10);
    for (resource, current, maximum) in limits {
        let limit = Rlimit { current: Some(current), maximum: Some(maximum) };
        match setrlimit(resource, limit) {
            Ok(()) => {}
            // macOS knows this limit, and does not take it below what is mapped.
            Err(_) if cfg!(target_os = "macos") && resource == Resource::As => {}
            Err(error) => return Err(error.into()),
        }
    }
    Ok(filter::apply().err())
}

/// Bytes of addresses that this process takes already: the program itself with its libraries.
fn mapped() -> u64 {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = pages.split(' ').next().and_then(|pages| pages.parse::<u64>().ok());
    // Without a number it is what the program is mapped to with a model inside, and room.
    pages.map_or(512 << 20, |pages| pages * rustix::param::page_size() as u64)
}

#[cfg(target_os = "linux")]
mod filter {
    use std::collections::BTreeMap;

    use seccompiler::{
        BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter, SeccompRule,
        TargetArch, apply_filter,
    };

    type Rules = BTreeMap<i64, Vec<SeccompRule>>;

    /// Has the system refuse all calls but those below.
    pub(super) fn apply() -> Result<(), String> {
        let failed = |error: &dyn std::fmt::Display| format!("system calls cannot be filtered: {error}");
        let arch: TargetArch = std::env::consts::ARCH.try_into().map_err(|error| failed(&error))?;
        let rules = rules().map_err(|error| failed(&error))?;
        let refused = SeccompAction::Errno(libc::EPERM as u32);
        let filter = SeccompFilter::new(rules, refused, SeccompAction::Allow, arch).map_err(|error| failed(&error))?;
        let program: BpfProgram = filter.try_into().map_err(|error| failed(&error))?;
        // Sets `no_new_privs`, too.
        apply_filter(&program).map_err(|error| failed(&error))
    }

    /// The calls that are left.
    fn rules() -> Result<Rules, seccompiler::BackendError> {
        let mut rules: Rules = [
            libc::SYS_brk,
            libc::SYS_clock_gettime,
            libc::SYS_exit,
            libc::SYS_exit_group,
            libc::SYS_fstat,
            libc::SYS_futex,
            libc::SYS_getpid,
            libc::SYS_getrandom,
            libc::SYS_gettid,
            libc::SYS_lseek,
            libc::SYS_madvise,
            libc::SYS_mremap,
            libc::SYS_munmap,
            libc::SYS_restart_syscall,
            libc::SYS_rt_sigaction,
            libc::SYS_rt_sigprocmask,
            libc::SYS_rt_sigreturn,
            libc::SYS_sched_yield,
            libc::SYS_sigaltstack,
        ]
        .into_iter()
        .map(|call| (call, Vec::new()))
        .collect();
        let is = |argument, value| SeccompCondition::new(argument, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, value);
        let only = |condition| SeccompRule::new(vec![condition]);
        rules.insert(libc::SYS_read, vec![only(is(0, 0)?)?]);
        let written = vec![only(is(0, 1)?)?, only(is(0, 2)?)?];
        rules.insert(libc::SYS_write, written);
        // Memory for data, never for code.
        let exec = libc::PROT_EXEC as u64;
        for call in [libc::SYS_mmap, libc::SYS_mprotect] {
            let data = SeccompCondition::new(2, SeccompCmpArgLen::Dword, SeccompCmpOp::MaskedEq(exec), 0)?;
            rules.insert(call, vec![only(data)?]);
        }
        // Its own end, where memory ran out.
        let own = is(0, std::process::id().into())?;
        rules.insert(libc::SYS_tgkill, vec![only(own)?]);
        Ok(rules)
    }
}

#[cfg(not(target_os = "linux"))]
mod filter {
    /// There is no such filter.
    pub(super) fn apply() -> Result<(), String> {
        Err("no filter of system calls is supported on this system".into())
    }
}
