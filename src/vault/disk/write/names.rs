//! Names that notes and folders may have.

use std::path::Path;

use unicode_normalization::UnicodeNormalization;

use crate::base::path::VaultPath;

/// Maximum length of a name, in bytes; file systems take 255, and sync services add to it.
const MAX_SLUG_BYTES: usize = 80;

/// Maximum length of a name that gets a number, in bytes, so that file systems take it.
const MAX_NUMBERED_BYTES: usize = 230;

/// Names that Windows keeps for devices, whatever their extension.
const DEVICES: [&str; 6] = ["con", "prn", "aux", "nul", "com", "lpt"];

/// A file name without extension for a title: its letters and digits in lower case, in NFC, with `-` between words.
/// `note` where a title has neither letter nor digit.
pub(crate) fn slug(title: &str) -> String {
    let mut slug = String::new();
    for part in title.nfc().collect::<String>().split(|c: char| !c.is_alphanumeric()).filter(|part| !part.is_empty()) {
        let word: String = part.chars().flat_map(char::to_lowercase).collect();
        if slug.is_empty() {
            slug.push_str(&word[..word.floor_char_boundary(MAX_SLUG_BYTES)]);
        } else if slug.len() + 1 + word.len() <= MAX_SLUG_BYTES {
            slug = slug + "-" + &word;
        } else {
            break;
        }
    }
    if slug.is_empty() || is_device(&slug) {
        format!("note{}{slug}", if slug.is_empty() { "" } else { "-" })
    } else {
        slug
    }
}

/// Whether a name in lower case is one that Windows keeps for a device, with or without a digit behind it.
fn is_device(name: &str) -> bool {
    DEVICES.iter().any(|device| {
        name.strip_prefix(device)
            .is_some_and(|rest| rest.is_empty() || (rest.len() == 1 && rest.chars().all(|c| c.is_ascii_digit())))
    })
}

/// Whether a name can be a folder's on every file system, and is what it looks like: no separators and no characters that
/// Windows refuses or that cannot be seen, no blank or dot at either end, and no device.
pub(crate) fn is_folder_name(name: &str) -> bool {
    let unseen = |c: char| {
        matches!(c, '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
            || matches!(c, '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
    };
    let refused = |c: char| c.is_control() || unseen(c) || "<>:\"|?*/\\".contains(c);
    let ends = |c: char| c.is_whitespace() || c == '.';
    // Full-width and other likenesses of dots and slashes: they lead nowhere, and look as if they did.
    let plain: String = name.nfkc().collect();
    let is_likeness = plain.contains(['/', '\\', '\u{2044}', '\u{2215}', '\u{29f5}', '\u{29f8}', '\u{29f9}'])
        || (plain.starts_with('.') && !name.starts_with('.'));
    let device = name.split('.').next().unwrap_or(name).trim_end().to_lowercase();
    !name.is_empty()
        && !name.contains(refused)
        && !name.starts_with(ends)
        && !name.ends_with(ends)
        && !is_device(&device)
        && !is_likeness
}

/// The paths that a note of a title may have in `folder`, without end: its [`slug`], then with numbers behind it.
pub(crate) fn note_names(folder: &str, title: &str) -> impl Iterator<Item = VaultPath> + use<> {
    numbered(&format!("{folder}/{}.md", slug(title)), '-')
}

/// The paths that a file may have, without end: this one, then with numbers behind the name, as `a-2.md`.
pub(crate) fn numbered(path: &str, before: char) -> impl Iterator<Item = VaultPath> + use<> {
    let name = path.rfind('/').map_or(0, |at| at + 1);
    let (stem, extension) = path[name..].rsplit_once('.').unwrap_or((&path[name..], "md"));
    let base = format!("{}{}", &path[..name], &stem[..stem.floor_char_boundary(MAX_NUMBERED_BYTES)]);
    let extension = extension.to_owned();
    let numbers = (2..).map(move |at| format!("{base}{before}{at}.{extension}"));
    std::iter::once(path.to_owned()).chain(numbers).filter_map(|path| VaultPath::new(path).ok())
}

/// Whether a name is this one, or this one with a number behind it, as those of notes that would be called alike.
pub(crate) fn is_numbered(name: &str, base: &str) -> bool {
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let rest = name.strip_prefix(base);
    rest.is_some_and(|rest| rest.is_empty() || rest.strip_prefix('-').is_some_and(is_number))
}

/// The first of the [`note_names`] that no file has.
pub(crate) fn free_name(root: &Path, folder: &str, title: &str) -> VaultPath {
    let is_free = |path: &VaultPath| path.on_disk(root).symlink_metadata().is_err();
    note_names(folder, title).find(is_free).expect("numbers do not end")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_readable_and_safe() {
        for (title, expected) in [
            ("Find when words vanished (git)", "find-when-words-vanished-git"),
            ("  ../../etc/passwd\0 ", "etc-passwd"),
            ("Zürich, 東京 & co.", "zürich-東京-co"),
            ("...", "note"),
            ("CON", "note-con"),
            ("com1", "note-com1"),
            ("Console", "console"),
        ] {
            assert_eq!(slug(title), expected);
        }
        assert_eq!(slug(&"word ".repeat(100)).len(), 79);
        assert_eq!(slug(&"é".repeat(100)).len(), 80);
    }

    #[test]
    fn names_of_folders_are_what_they_look_like() {
        for good in ["notes", "Zürich 2026", "a.b", "東京", "console"] {
            assert!(is_folder_name(good), "{good:?}");
        }
        for bad in [
            "", "notes ", " notes", "notes.", ".git", "a|b*?", "a:b", "a/b", "a\\b", "con", "COM1", "nul.txt",
            "a\u{202e}b",
        ] {
            assert!(!is_folder_name(bad), "{bad:?}");
        }
    }

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("notes")).unwrap();
        assert_eq!(free_name(folder.path(), "notes", "A b").as_str(), "notes/a-b.md");
        std::fs::write(folder.path().join("notes/a-b.md"), "").unwrap();
        assert_eq!(free_name(folder.path(), "notes", "A b").as_str(), "notes/a-b-2.md");
    }
}
