//! Which files of an agent's folder are its memory, and which of them it may write.

use unicode_normalization::{UnicodeNormalization, is_nfc};

use crate::access::{WriteMode, own_file};
use crate::path::{VaultPath, folded};
use crate::request::RequestError;
use crate::vault::is_folder_name;

/// What goes into prompts.
const PROMPT_FILES: [&str; 2] = ["MEMORY.md", "memory.md"];
/// The folder of what is only searched.
const FOLDER: &str = "memory/";
/// Maximum length of a name, in bytes; file systems take 255, and sync services add to it.
const MAX_NAME_BYTES: usize = 100;
/// Who the agent is. No file that could be taken for it is ever named.
const AGENT: &str = "agent.md";

/// Why a file is none of an agent's memory, or may not be written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(super) enum TargetError {
    /// It is not on the list.
    #[error("the files of a memory are `MEMORY.md`, `memory.md` and `memory/<name>.md`")]
    NotMemory,
    /// Its name could be taken for another.
    #[error(
        "a name is letters, digits and the like in NFC, up to {MAX_NAME_BYTES} bytes: no separators nor what looks like \
         one, no `%`, nothing that cannot be seen, no dot or blank at either end, and not `agent.md`"
    )]
    Name,
    /// The person lets the agent write other files only.
    #[error("`write_mode` is `{}`: {}", name(*.0), allowed(*.0))]
    Mode(WriteMode),
}

fn name(mode: WriteMode) -> &'static str {
    match mode {
        WriteMode::Hybrid => "hybrid",
        WriteMode::PromptOnly => "prompt-only",
        WriteMode::SearchOnly => "search-only",
        WriteMode::Off => "off",
    }
}

fn allowed(mode: WriteMode) -> &'static str {
    match mode {
        WriteMode::Hybrid => "all files of the memory may be written",
        WriteMode::PromptOnly => "only `MEMORY.md` may be written",
        WriteMode::SearchOnly => "only `memory/<name>.md` may be written",
        WriteMode::Off => "nothing may be written",
    }
}

/// Where a text goes when nobody says.
pub(super) fn default_file(mode: WriteMode) -> &'static str {
    match mode {
        WriteMode::SearchOnly => "memory/notes.md",
        WriteMode::Hybrid | WriteMode::PromptOnly | WriteMode::Off => "MEMORY.md",
    }
}

/// The folder of an agent.
pub(super) fn folder(slug: &str) -> String {
    format!("agents/{slug}/")
}

/// A file of an agent's memory that may be written, by its name within the agent's folder.
pub(super) fn writable(slug: &str, mode: WriteMode, file: &str) -> Result<VaultPath, TargetError> {
    check(file)?;
    let is_prompt = PROMPT_FILES.contains(&file);
    match mode {
        WriteMode::Hybrid => {}
        WriteMode::PromptOnly if is_prompt => {}
        WriteMode::SearchOnly if !is_prompt => {}
        mode => return Err(TargetError::Mode(mode)),
    }
    VaultPath::new(folder(slug) + file).map_err(|_| TargetError::Name)
}

/// The name within an agent's folder of a file of its memory that may be written in some mode.
pub(super) fn own_name<'p>(slug: &str, path: &'p VaultPath) -> Option<&'p str> {
    own_file(slug, path.as_str()).filter(|file| check(file).is_ok())
}

fn check(file: &str) -> Result<(), TargetError> {
    if PROMPT_FILES.contains(&file) {
        return Ok(());
    }
    let name = file.strip_prefix(FOLDER).ok_or(TargetError::NotMemory)?;
    let stem = name.strip_suffix(".md").ok_or(TargetError::NotMemory)?;
    let plain = is_folder_name(stem)
        && is_nfc(name)
        && name.len() <= MAX_NAME_BYTES
        && !stem.chars().any(|c| c == '%' || looks_like_another(c))
        && folded(&name.nfkc().collect::<String>()) != AGENT;
    if plain { Ok(()) } else { Err(TargetError::Name) }
}

/// Whether a character looks like a separator, or becomes one, or a dot, where names are normalised.
fn looks_like_another(c: char) -> bool {
    let slashes = "\u{2044}\u{2215}\u{29f8}\u{2571}\u{27cb}\u{1735}\u{31d3}\u{3033}\u{338}\u{337}\u{2f03}";
    let backslashes = "\u{2216}\u{29f5}\u{29f9}\u{2572}\u{27cd}\u{31d4}\u{244a}";
    let becomes = std::iter::once(c).nfkc().any(|found| found != c && "/\\.%:".contains(found));
    becomes || slashes.contains(c) || backslashes.contains(c)
}

/// It may not, and what to do about it.
pub(super) fn forbidden(message: impl Into<String>, hint: &str) -> RequestError {
    RequestError { hint: Some(hint.into()), ..RequestError::forbidden(message) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_exactly_this() {
        for good in [
            "MEMORY.md", "memory.md", "memory/notes.md", "memory/2026-01-05.md", "memory/Zürich 東京.md",
            "memory/a.b.md",
        ] {
            let path = writable("coder", WriteMode::Hybrid, good).unwrap();
            assert_eq!(path.as_str(), format!("agents/coder/{good}"));
            assert_eq!(own_name("coder", &path), Some(good));
        }
        let long = format!("memory/{}.md", "a".repeat(MAX_NAME_BYTES));
        for bad in [
            "", "Memory.md", "MEMORY.MD", "facts.md", "agent.md", "AGENT.md", "memory", "memory/", "memory/.md",
            "memory/a", "memory/a.txt", "memory/a.MD", "memory/a/b.md", "memory/../agent.md", "memory/..md",
            "memory/./a.md", "memory//a.md", "../coder/MEMORY.md", "../other/MEMORY.md", "agents/coder/MEMORY.md",
            "/MEMORY.md", "/etc/passwd", "C:\\MEMORY.md", "./MEMORY.md", "memory\\a.md", "memory/a\\b.md",
            "memory/..\\..\\agent.md", "memory/%2e%2e%2fagent.md", "memory/a%00.md", "memory/a\0.md", "MEMORY.md\0",
            "memory/a\nb.md", "memory/.hidden.md", "memory/ a.md", "memory/a .md", "memory/agent.md",
            "memory/Agent.md", "memory/ａｇｅｎｔ.md", "memory/a\u{2215}b.md", "memory/a\u{2044}b.md",
            "memory/a\u{ff0f}b.md", "memory/a\u{ff3c}b.md", "memory/\u{2024}\u{2024}.md", "memory/\u{ff0e}\u{ff0e}.md",
            "memory/\u{2025}a.md", "memory/a\u{202e}b.md", "memory/a\u{200b}.md", "memory/cafe\u{301}.md",
            "memory/con.md", "memory/a:b.md", &long,
        ] {
            assert!(writable("coder", WriteMode::Hybrid, bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn modes_allow_what_they_say() {
        let allowed = |mode| ["MEMORY.md", "memory.md", "memory/a.md"].map(|file| writable("x", mode, file).is_ok());
        assert_eq!(allowed(WriteMode::Hybrid), [true; 3]);
        assert_eq!(allowed(WriteMode::PromptOnly), [true, true, false]);
        assert_eq!(allowed(WriteMode::SearchOnly), [false, false, true]);
        assert_eq!(allowed(WriteMode::Off), [false; 3]);
        for mode in [WriteMode::Hybrid, WriteMode::PromptOnly, WriteMode::SearchOnly] {
            assert!(writable("x", mode, default_file(mode)).is_ok());
        }
        let said = writable("x", WriteMode::SearchOnly, "MEMORY.md").unwrap_err().to_string();
        assert_eq!(said, "`write_mode` is `search-only`: only `memory/<name>.md` may be written");
    }

    #[test]
    fn names_are_within_the_folder_of_one() {
        let path = VaultPath::new("agents/a/memory/n.md").unwrap();
        assert_eq!(own_name("a", &path), Some("memory/n.md"));
        assert_eq!(own_name("b", &path), None);
        assert_eq!(own_name("a", &VaultPath::new("agents/a/facts.md").unwrap()), None);
        assert_eq!(own_name("a", &VaultPath::new("agents/a/memory/agent.md").unwrap()), None);
    }
}
