//! Writes a vault into an archive: one file, a tar archive compressed with Zstandard, that `tar --zstd` reads too. Its last entry is a
//! manifest with a hash over all the others, so that an archive that was cut short or changed is told from a whole one.

use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufWriter, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::OFlags;
use serde::Serialize;
use tar::{Builder, EntryType, Header};

use super::contents::{ArchiveContents, ArchiveError, FORMAT, Item, Manifest, PATH, Summed, Summing, is_gone};
use crate::base::fs::Context;

/// What was exported.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Exported {
    /// Files.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What could not be exported, and why.
    pub left_out: Vec<String>,
}

/// Files up to this size are read before they are written: what changes meanwhile is in the archive as it was.
const WHOLE: u64 = 32 << 20;

/// Maximum number of passes over the vault. What was moved while it was read is at a place that was listed before it
/// was there, so the vault is read until nothing is new.
const MAX_PASSES: usize = 10;

/// Maximum number of attempts to read a file that is written to meanwhile.
const MAX_READS: usize = 100;
/// Pause between two such attempts.
const PAUSE: Duration = Duration::from_millis(10);

/// What was written just now may have more to come. An editor that writes a file in place empties it first, and what it writes
/// comes within half a second.
const QUIET: Duration = Duration::from_millis(20);
const EMPTIED: Duration = Duration::from_millis(500);

/// A file that is made for the archive, and where it is in there.
pub(crate) type Made = (PathBuf, Vec<u8>);

/// Writes the vault at `root` to a new file, which is there when it is whole, with what was `made` for it and with `state` the program's state
/// too. `progress` is told the bytes done and in all.
///
/// # Errors
/// When the file is there already or would be in the vault, when something cannot be read, or the disk is full.
pub(crate) fn export(
    root: &Path,
    state: bool,
    made: &[Made],
    file: &Path,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Exported, ArchiveError> {
    let exists = || {
        let file = file.display();
        ArchiveError::Refused(format!("{file} already exists, and was not changed. Name another file, or remove it"))
    };
    if file.symlink_metadata().is_ok() {
        return Err(exists());
    }
    let parent = file.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = parent.canonicalize().on("open", parent)?;
    if folder.starts_with(root) {
        return Err(ArchiveError::Refused(format!(
            "{} is in the vault, so the archive would contain itself; name a place outside",
            file.display()
        )));
    }
    // It holds private notes: for its owner alone, as tempfile makes it.
    let mut beside = tempfile::Builder::new().prefix(".tmp-").tempfile_in(&folder).on("write", file)?;
    let exported = export_to(root, state, made, beside.as_file_mut(), progress)?;
    beside.as_file().sync_all().on("write", file)?;
    beside.persist_noclobber(file).map_err(|error| match error.error.kind() {
        io::ErrorKind::AlreadyExists => exists(),
        _ => ArchiveError::unwritten(error.error),
    })?;
    File::open(&folder).and_then(|folder| folder.sync_all()).on("write", file)?;
    Ok(exported)
}

/// Writes the vault at `root` to `out`, likewise.
///
/// # Errors
/// When something cannot be read, or `out` cannot be written to.
pub(crate) fn export_to(
    root: &Path,
    state: bool,
    made: &[Made],
    out: impl Write,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<Exported, ArchiveError> {
    let mut encoder = zstd::Encoder::new(BufWriter::new(out), 0).map_err(ArchiveError::unwritten)?;
    encoder.include_checksum(true).map_err(ArchiveError::unwritten)?;
    let mut archive = Archive { builder: Builder::new(encoder), summing: Summing::default() };
    let (mut seen, mut left_out, mut total) = (HashMap::new(), Vec::new(), 0);
    for (path, bytes) in made {
        let mut header = Header::new_gnu();
        header.set_mode(0o600);
        header.set_mtime(SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs()));
        archive.add_whole(path, header, bytes)?;
        seen.insert(path.clone(), false);
        total += bytes.len() as u64;
    }
    for look in 0..MAX_PASSES {
        let mut contents = ArchiveContents::of(root, state)?;
        // What is in the archive as a file cannot be a folder there, too.
        let is_file = |folder: &Path| seen.get(folder).is_some_and(|is_folder| !is_folder);
        contents.items.retain(|item| !seen.contains_key(&item.path) && !item.path.ancestors().any(is_file));
        left_out = contents.left_out;
        total += contents.items.iter().filter(|item| item.meta.is_file()).map(|item| item.meta.len()).sum::<u64>();
        let settled = look > 0 && contents.items.is_empty();
        for item in contents.items {
            if archive.add(root, &item)? {
                seen.insert(item.path, item.meta.is_dir());
            }
            progress(archive.summing.bytes, total);
        }
        if settled {
            break;
        }
    }
    let mode = root.metadata().on("look at", root)?.permissions().mode();
    let summing = archive.finish(mode)?;
    Ok(Exported { files: summing.files, bytes: summing.bytes, left_out })
}

struct Archive<W: Write> {
    builder: Builder<W>,
    summing: Summing,
}

impl<W: Write> Archive<zstd::Encoder<'_, BufWriter<W>>> {
    fn finish(mut self, mode: u32) -> Result<Summing, ArchiveError> {
        let version = env!("CARGO_PKG_VERSION").into();
        let manifest = Manifest { format: FORMAT, version, mode: mode & 0o777, sum: self.summing.sum() };
        let json = serde_json::to_vec(&manifest).map_err(ArchiveError::unwritten)?;
        let mut header = Header::new_gnu();
        header.set_mode(0o644);
        header.set_size(json.len() as u64);
        self.builder.append_data(&mut header, PATH, &json[..]).map_err(ArchiveError::unwritten)?;
        let encoder = self.builder.into_inner().map_err(ArchiveError::unwritten)?;
        encoder.finish().and_then(|mut out| out.flush()).map_err(ArchiveError::unwritten)?;
        Ok(self.summing)
    }
}

impl<W: Write> Archive<W> {
    /// Adds what is there; says no when it is there no more.
    fn add(&mut self, root: &Path, item: &Item) -> Result<bool, ArchiveError> {
        let (path, meta) = (&item.path, &item.meta);
        let mut header = Header::new_gnu();
        header.set_mode(meta.permissions().mode() & 0o777);
        header.set_mtime(meta.mtime().try_into().unwrap_or(0));
        if let Some(target) = &item.target {
            self.summing.entry(b'l', path, target.as_os_str().len() as u64);
            self.summing.content(target.as_os_str().as_encoded_bytes());
            header.set_entry_type(EntryType::Symlink);
            header.set_size(0);
            self.builder.append_link(&mut header, path, target).map_err(ArchiveError::unwritten)?;
            return Ok(true);
        }
        if meta.is_dir() {
            self.summing.entry(b'd', path, 0);
            header.set_entry_type(EntryType::Directory);
            header.set_size(0);
            self.time(meta)?;
            self.builder.append_data(&mut header, path, io::empty()).map_err(ArchiveError::unwritten)?;
            return Ok(true);
        }
        self.add_file(&root.join(path), path, header)
    }

    fn add_whole(&mut self, path: &Path, mut header: Header, bytes: &[u8]) -> Result<(), ArchiveError> {
        header.set_size(bytes.len() as u64);
        self.summing.entry(b'f', path, bytes.len() as u64);
        self.summing.content(bytes);
        self.builder.append_data(&mut header, path, bytes).map_err(ArchiveError::unwritten)
    }

    fn add_file(&mut self, full: &Path, path: &Path, mut header: Header) -> Result<bool, ArchiveError> {
        let Some((mut file, meta, whole)) = open(full)? else { return Ok(false) };
        header.set_mtime(meta.mtime().try_into().unwrap_or(0));
        self.time(&meta)?;
        if let Some(bytes) = whole {
            self.add_whole(path, header, &bytes)?;
            return Ok(true);
        }
        header.set_size(meta.len());
        self.summing.entry(b'f', path, meta.len());
        let mut summed = Summed { from: (&mut file).take(meta.len()), summing: &mut self.summing, failed: false };
        match self.builder.append_data(&mut header, path, &mut summed) {
            Err(error) if summed.failed => Err(error).on("read", full)?,
            Ok(()) if summed.from.limit() > 0 => Err(changed(path)),
            written => written.map(|()| true).map_err(ArchiveError::unwritten),
        }
    }

    /// tar's own times are whole seconds.
    fn time(&mut self, meta: &Metadata) -> Result<(), ArchiveError> {
        let time = format!("{}.{:09}", meta.mtime(), meta.mtime_nsec());
        self.builder.append_pax_extensions([("mtime", time.as_bytes())]).map_err(ArchiveError::unwritten)
    }
}

/// That a file became shorter, or is written to without end.
fn changed(path: &Path) -> ArchiveError {
    ArchiveError::Refused(format!("{} changed during the export; export again", path.display()))
}

/// A file, and its content where it was read whole.
type Opened = (File, Metadata, Option<Vec<u8>>);

/// Opens a file, and reads it whole unless it is large: as it was before somebody wrote to it, or after, and not in between.
/// `None` when it is gone, or something else.
fn open(full: &Path) -> Result<Option<Opened>, ArchiveError> {
    // What took the file's place since it was listed is neither followed nor waited for.
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    for left in (0..MAX_READS).rev() {
        let mut file = match File::options().read(true).custom_flags(flags).open(full) {
            Err(error) if is_gone(&error) => return Ok(None),
            // A link has come in its place.
            Err(error) if error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error()) => return Ok(None),
            file => file.on("read", full)?,
        };
        let meta = file.metadata().on("read", full)?;
        if !meta.is_file() {
            return Ok(None);
        }
        if meta.len() > WHOLE {
            return Ok(Some((file, meta, None)));
        }
        let mut bytes = Vec::with_capacity(meta.len() as usize + 1);
        (&mut file).take(WHOLE + 1).read_to_end(&mut bytes).on("read", full)?;
        let after = file.metadata().on("read", full)?;
        let stamp = |meta: &Metadata| (meta.len(), meta.mtime(), meta.mtime_nsec(), meta.ctime(), meta.ctime_nsec());
        let quiet = if bytes.is_empty() { EMPTIED } else { QUIET };
        let recent = || meta.modified().ok().and_then(|at| at.elapsed().ok()).is_some_and(|age| age < quiet);
        let whole = stamp(&meta) == stamp(&after) && bytes.len() as u64 == meta.len() && !recent();
        if whole || (left == 0 && bytes.len() as u64 <= WHOLE) {
            return Ok(Some((file, meta, Some(bytes))));
        }
        std::thread::sleep(PAUSE);
    }
    Err(changed(full))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::import;
    use super::*;

    #[test]
    fn a_note_that_is_moved_while_it_is_exported_is_in_the_archive() {
        let folder = tempfile::tempdir().unwrap();
        let (root, copy) = (folder.path().join("vault"), folder.path().join("copy"));
        fs::create_dir_all(root.join("b")).unwrap();
        for (name, text) in
            [("memory.toml", ""), ("aa", "# A"), ("b/x.md", "# X"), ("b/y.md", "# Y"), ("b/z.md", "# Z")]
        {
            fs::write(root.join(name), text).unwrap();
        }
        let (mut archive, mut moved) = (Vec::new(), false);
        export_to(&root, false, &[], &mut archive, &mut |_, _| {
            if !std::mem::replace(&mut moved, true) {
                // To a folder that was not there when the vault was listed.
                fs::create_dir(root.join("a")).unwrap();
                fs::rename(root.join("b/y.md"), root.join("a/y.md")).unwrap();
                fs::remove_file(root.join("b/z.md")).unwrap();
                // What was a file becomes a folder.
                fs::remove_file(root.join("aa")).unwrap();
                fs::create_dir(root.join("aa")).unwrap();
                fs::write(root.join("aa/c.md"), "# C").unwrap();
            }
        })
        .unwrap();
        import(&archive[..], &copy, None).unwrap();
        assert_eq!(fs::read_to_string(copy.join("a/y.md")).unwrap(), "# Y");
        assert!(copy.join("b/x.md").exists() && !copy.join("b/y.md").exists() && !copy.join("b/z.md").exists());
    }
}
