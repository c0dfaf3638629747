//! Notes of other programs, by what they are called there, and bookmarks as all browsers export them: Netscape's HTML.

use std::collections::BTreeMap;

use html5gum::{Token, Tokenizer};
use jiff::civil::Date;

use super::clean::said;
use super::conversations::moment;
use super::kinds::SourceKind;
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
            sink.remark(format!("{name} is not UTF-8: invalid bytes were replaced"));
            String::from_utf8_lossy(bytes).into_owned()
        }
    };
    let is_memory = matches!(kind, SourceKind::MoltisMemory | SourceKind::OpenClawMemory);
    let text = if is_memory {
        let (left, rules) = said(Some(kind), "assistant", &text);
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
            let day = stem.replace('_', "-");
            if day.parse::<Date>().is_ok() { day } else { stem.replace("___", "/").replace("%2F", "/") }
        }
        SourceKind::MoltisMemory => format!("Moltis memory {stem}"),
        SourceKind::OpenClawMemory => format!("OpenClaw memory {stem}"),
        _ => stem.to_owned(),
    }
}

/// A name without its folders and what follows the last dot.
pub(super) fn stem(name: &str) -> &str {
    let file = name.rsplit('/').next().unwrap_or_default();
    file.rsplit_once('.').map_or(file, |(stem, _)| stem)
}

/// A name, and the digits that Notion puts behind it.
fn digits(stem: &str) -> Option<(&str, &str)> {
    let (title, digits) = stem.rsplit_once(' ')?;
    let are_digits = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    are_digits.then_some((title, digits))
}

/// Maximum number of folders within one another that are said of a page.
const MAX_FOLDERS: usize = 64;
/// Maximum length of the name of a folder, in characters.
const MAX_FOLDER_CHARS: usize = 200;
/// The tags, in lower case, that end a title: its own, and those that begin an entry or end a folder where its own is missing.
const ENTRIES: [&str; 8] = ["a", "/a", "dd", "dl", "/dl", "dt", "h3", "/h3"];

/// A page whose remark may follow.
struct BookmarkedPage {
    url: String,
    title: String,
    at_ms: Option<i64>,
}

/// Of what the text is that is being read.
#[derive(Clone, Copy, PartialEq, Eq)]
enum TextOf {
    Nothing,
    Folder,
    Title,
    Remark,
}

/// Reads a file of bookmarks.
pub(super) fn bookmarks(html: &str, sink: &mut ImportSink<'_>) {
    let (mut folders, mut folder, mut deeper) = (Vec::<String>::new(), None::<String>, 0_usize);
    let mut page: Option<BookmarkedPage> = None;
    let (mut of, mut text) = (TextOf::Nothing, String::new());
    let tokens = Tokenizer::new(html).map(|token| match token {
        Ok(token) => Some(token),
    });
    // The end of the file ends what was not closed.
    for token in tokens.chain(std::iter::once(None)) {
        let (name, attributes) = match token {
            Some(Token::String(more)) if of != TextOf::Nothing => {
                text.push_str(&String::from_utf8_lossy(&more));
                continue;
            }
            Some(Token::StartTag(tag)) => (lossy(&tag.name), tag.attributes),
            Some(Token::EndTag(tag)) => (format!("/{}", lossy(&tag.name)), BTreeMap::default()),
            Some(_) => continue,
            None => ("/dl".into(), BTreeMap::default()),
        };
        if sink.is_over() {
            return;
        }
        if of == TextOf::Remark || ENTRIES.contains(&&*name) {
            let text = std::mem::take(&mut text);
            match (of, &mut page) {
                (TextOf::Folder, _) => folder = Some(text.trim().chars().take(MAX_FOLDER_CHARS).collect()),
                (TextOf::Title, Some(page)) => page.title = text,
                (TextOf::Remark, _) => give(page.take(), &folders, text.trim(), sink),
                _ => {}
            }
            of = TextOf::Nothing;
        }
        if matches!(&*name, "a" | "h3" | "/dl") {
            give(page.take(), &folders, "", sink);
        }
        match &*name {
            "dl" if folders.len() < MAX_FOLDERS => folders.push(folder.take().unwrap_or_default()),
            "dl" => deeper += 1,
            "/dl" => match deeper.checked_sub(1) {
                Some(less) => deeper = less,
                None => drop(folders.pop()),
            },
            "h3" => of = TextOf::Folder,
            "dd" => of = TextOf::Remark,
            "a" => {
                let attribute = |name: &[u8]| attributes.get(name).map(|value| lossy(value));
                let at_ms = attribute(b"add_date").and_then(|at| moment(&at.into()));
                page =
                    Some(BookmarkedPage { url: attribute(b"href").unwrap_or_default(), title: String::new(), at_ms });
                of = TextOf::Title;
            }
            _ => {}
        }
    }
}

fn lossy(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn give(page: Option<BookmarkedPage>, folders: &[String], remark: &str, sink: &mut ImportSink<'_>) {
    let Some(page) = page else { return };
    let folders: Vec<&str> = folders.iter().map(String::as_str).filter(|folder| !folder.is_empty()).collect();
    let place = if folders.is_empty() { String::new() } else { format!("In {}", folders.join(" / ")) };
    let note = [remark, &place].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    sink.bookmark(&page.url, &page.title, &note, page.at_ms);
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
