//! Files, as tests write them and look into them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use walkdir::{DirEntry, WalkDir};

/// Where a vault's files are.
pub trait Folder: Sized {
    fn path(&self, path: &str) -> PathBuf;

    fn write(&mut self, path: &str, text: impl AsRef<[u8]>) -> &mut Self {
        write_file(self.path(path), text);
        self
    }

    fn with(mut self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(path, text);
        self
    }

    #[track_caller]
    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }
}

/// Writes a file, and makes the folders that it is in.
pub fn write_file(path: impl AsRef<Path>, text: impl AsRef<[u8]>) {
    fs::create_dir_all(path.as_ref().parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// Has a file be changed at a time.
pub fn set_time(path: impl AsRef<Path>, time: SystemTime) {
    fs::File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
}

/// All files below a folder with their bytes, by path. Of a daemon at work some go while they are looked at, and sockets are none.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    read(folder, |_| true)
}

/// The same of a vault, less what is the program's own.
pub fn notes_of(root: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    read(root, |entry| entry.depth() != 1 || entry.file_name() != ".vault")
}

fn read(folder: &Path, counts: impl FnMut(&DirEntry) -> bool) -> Vec<(PathBuf, Vec<u8>)> {
    let entries = WalkDir::new(folder).follow_links(true).into_iter().filter_entry(counts).flatten();
    let files = entries.filter(|entry| entry.file_type().is_file()).map(DirEntry::into_path);
    let mut found: Vec<_> = files.filter_map(|path| fs::read(&path).ok().map(|bytes| (path, bytes))).collect();
    found.sort();
    found
}

/// Whether bytes have a text in them.
pub fn has_text(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|part| part == text.as_bytes())
}

/// The files below a folder that have a text, by their paths in it.
pub fn files_with(folder: &Path, text: &str) -> Vec<String> {
    let found = contents(folder).into_iter().filter(|(_, bytes)| has_text(bytes, text));
    found.map(|(path, _)| path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned()).collect()
}
