//! Notes of other programs: Markdown files, by what those are called there.

use super::item::SourceKind;
use super::said::said;
use super::sink::ImportSink;

/// Whether a file is a note of a kind of source.
pub(super) fn is_note(kind: SourceKind, name: &str) -> bool {
    if !is_markdown(name) {
        return false;
    }
    let folders: Vec<&str> = name.split('/').rev().skip(1).collect();
    match kind {
        SourceKind::Logseq => {
            folders.iter().any(|folder| matches!(*folder, "pages" | "journals")) && !folders.contains(&"bak")
        }
        SourceKind::MoltisMemory | SourceKind::OpenClawMemory => {
            let file = name.rsplit('/').next().unwrap_or_default();
            file.eq_ignore_ascii_case("memory.md") || folders.contains(&"memory")
        }
        _ => true,
    }
}

/// Whether a file is one of Markdown, wherever it is.
pub(super) fn is_markdown(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    lower.ends_with(".md") || lower.ends_with(".markdown")
}

/// Hands a note over. `place` tells it from all others: where it is.
pub(super) fn note(kind: SourceKind, place: &str, name: &str, bytes: &[u8], sink: &mut ImportSink<'_>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            sink.remark(format!("{name} is not UTF-8: what is none of it was replaced"));
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let is_memory = matches!(kind, SourceKind::MoltisMemory | SourceKind::OpenClawMemory);
    let text = if is_memory {
        let (left, rules) = said(kind, "assistant", &text);
        rules.iter().for_each(|rule| sink.leave_out(rule));
        if left.trim().is_empty() && !rules.is_empty() {
            return;
        }
        left
    } else {
        text
    };
    // Each download of Notion's is called otherwise; a page keeps its digits, wherever it is, and whatever its title.
    let page = (kind == SourceKind::Notion).then(|| digits(stem(name))).flatten();
    let id = page.map_or_else(|| place.to_owned(), |(_, digits)| format!("notion:{}", digits.to_ascii_lowercase()));
    sink.note(&id, &title(kind, name), text);
}

/// What a note is called, by its file.
fn title(kind: SourceKind, name: &str) -> String {
    let stem = stem(name);
    match kind {
        SourceKind::Notion => digits(stem).map_or(stem, |(title, _)| title).to_owned(),
        SourceKind::Logseq => {
            let is_day = stem.len() == 10
                && stem
                    .bytes()
                    .enumerate()
                    .all(|(at, byte)| if matches!(at, 4 | 7) { byte == b'_' } else { byte.is_ascii_digit() });
            if is_day { stem.replace('_', "-") } else { stem.replace("___", "/").replace("%2F", "/") }
        }
        SourceKind::MoltisMemory => format!("Moltis memory {stem}"),
        SourceKind::OpenClawMemory => format!("OpenClaw memory {stem}"),
        _ => stem.to_owned(),
    }
}

/// A name without its folders and what follows the last dot.
fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// A name, and the digits that Notion puts behind it.
fn digits(stem: &str) -> Option<(&str, &str)> {
    let (title, digits) = stem.rsplit_once(' ')?;
    let are_digits = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then_some((title, digits))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_are_called_as_they_were_there() {
        for (kind, name, expected) in [
            (SourceKind::Notion, "a/My Page 0123456789abcdef0123456789abcdef.md", "My Page"),
            (SourceKind::Notion, "My Page 2.md", "My Page 2"),
            (SourceKind::Logseq, "journals/2026_01_05.md", "2026-01-05"),
            (SourceKind::Logseq, "pages/a___b.md", "a/b"),
            (SourceKind::Obsidian, "x/Über uns.md", "Über uns"),
            (SourceKind::OpenClawMemory, "memory/2026-01-05.md", "OpenClaw memory 2026-01-05"),
        ] {
            assert_eq!(title(kind, name), expected);
            assert!(is_note(kind, name));
        }
        assert!(
            !is_note(SourceKind::Logseq, "logseq/bak/pages/a.md") && !is_note(SourceKind::OpenClawMemory, "AGENTS.md")
        );
        assert!(!is_note(SourceKind::Folder, "a.png"));
    }
}
