//! Notes of other programs: Markdown files, by what those are called there.

use super::kind::SourceKind;
use super::said::said;
use super::sink::ImportSink;

/// Whether a file is a note of a kind of source.
pub(super) fn is_note(kind: SourceKind, name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if !lower.ends_with(".md") && !lower.ends_with(".markdown") {
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

/// Hands a note over. `source` tells the folder that it is of from others.
pub(super) fn note(kind: SourceKind, source: &str, name: &str, bytes: &[u8], sink: &mut ImportSink<'_>) {
    let text = match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(_) => {
            sink.remark(format!("{name} is not UTF-8: what is none of it was replaced"));
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let is_memory = matches!(kind, SourceKind::MoltisMemory | SourceKind::OpenClawMemory);
    let text = if is_memory {
        let (left, rules) = said(&text);
        rules.iter().for_each(|rule| sink.leave_out(rule));
        if left.trim().is_empty() && !rules.is_empty() {
            return;
        }
        left
    } else {
        text
    };
    sink.note(&format!("{source}/{name}"), &title(kind, name), text);
}

/// What a note is called, by its file.
fn title(kind: SourceKind, name: &str) -> String {
    let file = name.rsplit('/').next().unwrap_or_default();
    let stem = file.rsplit_once('.').map_or(file, |(stem, _)| stem);
    match kind {
        SourceKind::Notion => without_digits(stem).to_owned(),
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

/// A name without the digits that Notion puts behind it.
fn without_digits(stem: &str) -> &str {
    let Some((title, digits)) = stem.rsplit_once(' ') else { return stem };
    let are_digits = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    if are_digits { title } else { stem }
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
