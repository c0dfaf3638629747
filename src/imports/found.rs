//! The files that a source has, as they are found.

use std::io::Read;

use super::item::SourceKind;
use super::parts::BESIDE;
use super::sink::ImportSink;

/// A file that was found.
pub(super) struct FoundFile<'f> {
    /// What it is called, with the folders that it is in, below the source.
    pub(super) name: String,
    /// Where it is: the path of the file, or that of the archive with the name in it.
    pub(super) place: String,
    /// When it was changed, in milliseconds since 1970.
    pub(super) at_ms: Option<i64>,
    pub(super) from: &'f mut dyn Read,
}

impl FoundFile<'_> {
    /// Its name without folders and what follows the last dot.
    pub(super) fn stem(&self) -> &str {
        let name = self.name.rsplit('/').next().unwrap_or_default();
        name.rsplit_once('.').map_or(name, |(stem, _)| stem)
    }

    /// What a session is called by its file. Moltis has it in the folders around `history.jsonl`, in hexadecimal.
    pub(super) fn session_stem(&self, kind: SourceKind) -> String {
        let in_folders = || {
            let folders = self.name.strip_suffix("/history.jsonl")?;
            let folders: Vec<&str> = folders.split('/').collect();
            let at = folders.iter().rposition(|name| name.starts_with('k'))?;
            from_hex(&folders[at..].concat()[1..])
        };
        let in_folders = (kind == SourceKind::Moltis).then(in_folders).flatten();
        in_folders.unwrap_or_else(|| self.stem().to_owned())
    }
}

/// A text of its bytes in hexadecimal.
fn from_hex(digits: &str) -> Option<String> {
    if digits.is_empty() || !digits.len().is_multiple_of(2) || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let bytes = (0..digits.len()).step_by(2).map(|at| u8::from_str_radix(&digits[at..at + 2], 16).ok());
    String::from_utf8(bytes.collect::<Option<Vec<u8>>>()?).ok()
}

/// Why a file of a folder or an archive is not wanted, by its name; `None` where it is.
pub(super) type WhyNot<'w> = dyn Fn(&str) -> Option<&'static str> + 'w;

/// What is done with a file.
pub(super) type EachFile<'e, 's> = dyn FnMut(FoundFile<'_>, &mut ImportSink<'s>) + 'e;

/// What files a source has.
#[derive(Debug, Default)]
pub(super) struct SourceFiles {
    /// How many were wanted.
    pub(super) wanted: usize,
    /// How many were not.
    pub(super) unwanted: usize,
    /// One of those by which the source may be known.
    pub(super) other: Option<String>,
    /// Whether some lie beside sessions, and are none.
    pub(super) has_copies: bool,
    /// A folder of it that is a vault, by its name.
    pub(super) vault: Option<String>,
}

impl SourceFiles {
    /// Notes a file that was not wanted, and why.
    pub(super) fn note_unwanted(&mut self, name: &str, reason: &str) {
        self.unwanted += 1;
        self.has_copies |= reason == BESIDE;
        let file = name.rsplit('/').next().unwrap_or_default();
        let is_telling = [".json", ".jsonl", ".md", ".markdown"].iter().any(|end| file.ends_with(end));
        if self.other.is_none() && is_telling && reason != BESIDE {
            self.other = Some(file.to_owned());
        }
    }
}

/// Whether a file is in a folder, or has a name, that programs keep hidden: `.obsidian`, `.trash`, what macOS puts into archives.
pub(super) fn is_hidden(name: &str) -> bool {
    name.split('/').any(|part| part == "__MACOSX" || (part.starts_with('.') && !matches!(part, "." | "..")))
}

/// Why what is none of the files that are imported is left out.
pub(super) const NOT_IMPORTED: &str = "files that are none of what is imported";

/// Why a file is left out that is not wanted.
pub(super) fn unwanted(name: &str) -> &'static str {
    let media =
        ["png", "jpg", "jpeg", "gif", "webp", "svg", "heic", "pdf", "mp3", "mp4", "wav", "m4a", "webm", "mov", "dat"];
    let extension = name.rsplit_once('.').map(|(_, extension)| extension.to_ascii_lowercase()).unwrap_or_default();
    if media.contains(&extension.as_str()) { "images, sounds and other files" } else { NOT_IMPORTED }
}
