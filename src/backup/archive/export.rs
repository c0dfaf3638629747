//! Writes a vault into an archive.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use serde::Serialize;
use tar::{Builder, EntryType, Header};

use super::contents::{Contents, Item};
use super::error::ArchiveError;
use super::manifest::{FORMAT, Manifest, PATH, Summing};
use crate::fs::Context;

/// What to export besides the person's files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Export {
    /// The program's state too: what can be undone, and what waits to be written.
    pub state: bool,
    /// The git repository too.
    pub git: bool,
}

/// What was exported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Exported {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What could not be exported, and why.
    pub left_out: Vec<String>,
}

/// Files up to this size are read before they are written: what changes meanwhile is in the archive as it was.
const WHOLE: u64 = 32 << 20;

/// Writes the vault at `root` to a new file, which is there when it is whole. `progress` is told the bytes done and in all.
///
/// # Errors
/// When the file is there already or would be in the vault, when something cannot be read, or the disk is full.
pub fn export(
    root: &Path,
    options: Export,
    file: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Exported, ArchiveError> {
    if file.symlink_metadata().is_ok() {
        return Err(ArchiveError::Exists(file.to_owned()));
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = parent.canonicalize().on("open", parent)?;
    if folder.starts_with(root) {
        return Err(ArchiveError::InsideVault(file.to_owned()));
    }
    // It holds private notes: for its owner alone, as tempfile makes it.
    let mut beside = tempfile::Builder::new().prefix(".tmp-").tempfile_in(&folder).on("write", file)?;
    let exported = export_to(root, options, beside.as_file_mut(), progress)?;
    beside.as_file().sync_all().on("write", file)?;
    beside.persist_noclobber(file).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => ArchiveError::Exists(file.to_owned()),
        _ => ArchiveError::Write(error.error),
    })?;
    File::open(&folder).and_then(|folder| folder.sync_all()).on("write", file)?;
    Ok(exported)
}

/// Writes the vault at `root` to `out`, likewise.
///
/// # Errors
/// When something cannot be read, or `out` cannot be written to.
pub fn export_to(
    root: &Path,
    options: Export,
    out: impl Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Exported, ArchiveError> {
    let contents = Contents::of(root, options.state, options.git)?;
    let total = contents.items.iter().filter(|item| item.meta.is_file()).map(|item| item.meta.len()).sum();
    let mut encoder = zstd::Encoder::new(BufWriter::new(out), 0).map_err(ArchiveError::Write)?;
    encoder.include_checksum(true).map_err(ArchiveError::Write)?;
    let mut archive = Archive { builder: Builder::new(encoder), summing: Summing::default() };
    for item in &contents.items {
        archive.add(root, item)?;
        progress(archive.summing.bytes, total);
    }
    let mode = root.metadata().on("look at", root)?.permissions().mode();
    let summing = archive.finish(mode)?;
    Ok(Exported { files: summing.files, bytes: summing.bytes, left_out: contents.left_out })
}

struct Archive<W: Write> {
    builder: Builder<W>,
    summing: Summing,
}

impl<W: Write> Archive<zstd::Encoder<'_, BufWriter<W>>> {
    fn finish(mut self, mode: u32) -> Result<Summing, ArchiveError> {
        let version = env!("CARGO_PKG_VERSION").into();
        let manifest = Manifest { format: FORMAT, version, mode: mode & 0o777, sum: self.summing.sum() };
        let json = serde_json::to_vec(&manifest).map_err(|error| ArchiveError::Write(error.into()))?;
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(json.len() as u64);
        self.builder.append_data(&mut header, PATH, &json[..]).map_err(ArchiveError::Write)?;
        let encoder = self.builder.into_inner().map_err(ArchiveError::Write)?;
        encoder.finish().and_then(|mut out| out.flush()).map_err(ArchiveError::Write)?;
        Ok(self.summing)
    }
}

impl<W: Write> Archive<W> {
    fn add(&mut self, root: &Path, item: &Item) -> Result<(), ArchiveError> {
        let (path, meta) = (&item.path, &item.meta);
        let mut header = Header::new_gnu();
        header.set_mode(meta.permissions().mode() & 0o777);
        header.set_mtime(meta.mtime().try_into().unwrap_or(0));
        if let Some(target) = &item.target {
            self.summing.entry(b'l', path, target.as_os_str().len() as u64);
            self.summing.content(target.as_os_str().as_encoded_bytes());
            header.set_entry_type(EntryType::Symlink);
            header.set_size(0);
            return self.builder.append_link(&mut header, path, target).map_err(ArchiveError::Write);
        }
        if meta.is_dir() {
            self.summing.entry(b'd', path, 0);
            header.set_entry_type(EntryType::Directory);
            header.set_size(0);
            self.time(meta)?;
            return self.builder.append_data(&mut header, path, io::empty()).map_err(ArchiveError::Write);
        }
        self.add_file(root.join(path), path, header)
    }

    fn add_file(&mut self, full: PathBuf, path: &Path, mut header: Header) -> Result<(), ArchiveError> {
        // What took the file's place since it was listed is neither followed nor waited for.
        let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
        let mut file = match File::options().read(true).custom_flags(flags).open(&full) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => file.on("read", &full)?,
        };
        let meta = file.metadata().on("read", &full)?;
        if !meta.is_file() {
            return Ok(());
        }
        header.set_mtime(meta.mtime().try_into().unwrap_or(0));
        self.time(&meta)?;
        if meta.len() <= WHOLE {
            let mut bytes = Vec::with_capacity(meta.len() as usize);
            file.take(WHOLE).read_to_end(&mut bytes).on("read", &full)?;
            header.set_size(bytes.len() as u64);
            self.summing.entry(b'f', path, bytes.len() as u64);
            self.summing.content(&bytes);
            return self.builder.append_data(&mut header, path, &bytes[..]).map_err(ArchiveError::Write);
        }
        header.set_size(meta.len());
        self.summing.entry(b'f', path, meta.len());
        let mut summed =
            Summed { from: (&mut file).take(meta.len()), summing: &mut self.summing, count: 0, failed: None };
        let written = self.builder.append_data(&mut header, path, &mut summed);
        if let Some(error) = summed.failed.take() {
            return Err(error).on("read", &full)?;
        }
        if summed.count < meta.len() {
            return Err(ArchiveError::Changed(path.display().to_string()));
        }
        written.map_err(ArchiveError::Write)
    }

    /// tar's own times are whole seconds.
    fn time(&mut self, meta: &std::fs::Metadata) -> Result<(), ArchiveError> {
        let time = format!("{}.{:09}", meta.mtime(), meta.mtime_nsec());
        self.builder.append_pax_extensions([("mtime", time.as_bytes())]).map_err(ArchiveError::Write)
    }
}

/// Sums up what is read through it, and tells failures to read from failures to write.
struct Summed<'a, R> {
    from: R,
    summing: &'a mut Summing,
    count: u64,
    failed: Option<io::Error>,
}

impl<R: Read> Read for Summed<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match self.from.read(buffer) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => {
                self.failed = Some(error);
                return Err(io::ErrorKind::Other.into());
            }
            read => read?,
        };
        self.summing.content(&buffer[..read]);
        self.count += read as u64;
        Ok(read)
    }
}
