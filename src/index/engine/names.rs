//! The folded names of all files in one text, the newest first, so that one key typed costs one pass over memory and not a visit to every file.

use std::ops::Range;
use std::sync::Arc;

use super::file::FileEntry;
use crate::text::derive::words::fold;

/// The names of the files of one state.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    text: String,
    places: Vec<(u32, Range<usize>, usize)>,
}

/// The folded names of a file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Name<'n> {
    /// The file's row id.
    pub(crate) file: u32,
    /// All of it: title, a zero and the path.
    pub(crate) all: &'n str,
    /// The title.
    pub(crate) title: &'n str,
    /// The path.
    pub(crate) path: &'n str,
}

impl<'n> Name<'n> {
    /// The path without its extension.
    pub(crate) fn place(&self) -> &'n str {
        self.path.rsplit_once('.').map_or(self.path, |(place, _)| place)
    }

    /// The file's name without its extension.
    pub(crate) fn stem(&self) -> &'n str {
        self.place().rsplit_once('/').map_or(self.place(), |(_, stem)| stem)
    }
}

impl Names {
    pub(super) fn of<'f>(files: impl Iterator<Item = &'f Arc<FileEntry>>) -> Self {
        let mut files: Vec<&Arc<FileEntry>> = files.collect();
        files.sort_unstable_by(|one, two| two.updated_ms.cmp(&one.updated_ms).then_with(|| one.path.cmp(&two.path)));
        let mut names = Self::default();
        for file in files {
            let start = names.text.len();
            names.text += &fold(&file.title);
            let title_end = names.text.len();
            names.text.push('\0');
            names.text += &fold(file.path.as_str());
            names.places.push((file.id, start..names.text.len(), title_end));
        }
        names
    }

    /// All of them, the newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Name<'_>> {
        self.places.iter().map(|(file, all, title_end)| Name {
            file: *file,
            all: &self.text[all.clone()],
            title: &self.text[all.start..*title_end],
            path: &self.text[title_end + 1..all.end],
        })
    }
}
