//! Notes of other programs, by what they are called there, and bookmarks as all browsers export them: Netscape's HTML.

use super::clean::said;
use super::kinds::SourceKind;
use super::messages::moment;
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

/// Maximum distance at which the end of a title is looked for, in bytes.
const MAX_TITLE_BYTES: usize = 16 * 1024;

/// Maximum number of folders within one another that are said of a page.
const MAX_FOLDERS: usize = 64;
/// Maximum length of the name of a folder, in characters.
const MAX_FOLDER_CHARS: usize = 200;

/// What begins an entry or ends a folder.
const ENTRIES: [&str; 5] = ["<a", "<dt", "<dl", "</dl", "<h3"];

/// A page whose remark may follow.
struct BookmarkedPage {
    url: String,
    title: String,
    at_ms: Option<i64>,
}

/// Reads a file of bookmarks.
pub(super) fn bookmarks(html: &str, sink: &mut ImportSink<'_>) {
    let mut folders: Vec<String> = Vec::new();
    let mut folder: Option<String> = None;
    let mut deeper = 0_usize;
    let mut page: Option<BookmarkedPage> = None;
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        if sink.is_over() {
            return;
        }
        rest = &rest[at + 1..];
        let Some(end) = tag_end(rest) else { break };
        let (tag, after) = (&rest[..end], &rest[end + 1..]);
        let name = tag.split(|c: char| c.is_whitespace() || c == '>').next().unwrap_or_default().to_ascii_lowercase();
        rest = after;
        let text = |close: &str| unescaped(&without_tags(&after[..title_end(after, close)]));
        match name.as_str() {
            "dl" if folders.len() < MAX_FOLDERS => folders.push(folder.take().unwrap_or_default()),
            "dl" => deeper += 1,
            "/dl" => {
                give(page.take(), &folders, "", sink);
                match deeper.checked_sub(1) {
                    Some(less) => deeper = less,
                    None => drop(folders.pop()),
                }
            }
            "h3" => {
                give(page.take(), &folders, "", sink);
                folder = Some(text("</h3>").trim().chars().take(MAX_FOLDER_CHARS).collect());
            }
            "a" => {
                give(page.take(), &folders, "", sink);
                let url = attribute(tag, "href").unwrap_or_default();
                let at_ms = attribute(tag, "add_date").and_then(|at| moment(&at.into()));
                page = Some(BookmarkedPage { url, title: text("</a>"), at_ms });
            }
            "dd" => {
                let end = after.find('<').unwrap_or(after.len());
                let remark = unescaped(&after[..end]);
                give(page.take(), &folders, remark.trim(), sink);
            }
            _ => {}
        }
    }
    give(page, &folders, "", sink);
}

fn give(page: Option<BookmarkedPage>, folders: &[String], remark: &str, sink: &mut ImportSink<'_>) {
    let Some(page) = page else { return };
    let folders: Vec<&str> = folders.iter().map(String::as_str).filter(|folder| !folder.is_empty()).collect();
    let place = if folders.is_empty() { String::new() } else { format!("In {}", folders.join(" / ")) };
    let note = [remark, &place].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("\n\n");
    sink.bookmark(&page.url, &page.title, &note, page.at_ms);
}

/// Where a tag ends: at the first `>` that stands in no quotes.
fn tag_end(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    None
}

/// Where a title ends: at its closing tag, or where that is missing at the next entry. No entry is looked past, so that many of them cost no
/// more than other text.
fn title_end(text: &str, close: &str) -> usize {
    let near = &text[..text.floor_char_boundary(MAX_TITLE_BYTES)];
    let begins = |rest: &str, tag: &str| rest.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag));
    let is_entry = |rest: &str, tag: &str| {
        begins(rest, tag) && rest[tag.len()..].starts_with(|c: char| c == '>' || c.is_whitespace())
    };
    let ends = |rest: &str| begins(rest, close) || ENTRIES.iter().any(|tag| is_entry(rest, tag));
    let mut tags = near.match_indices('<').map(|(at, _)| at);
    tags.clone().find(|at| ends(&near[*at..])).or_else(|| tags.next()).unwrap_or(near.len())
}

fn find_ignoring_case(text: &str, what: &str) -> Option<usize> {
    text.as_bytes().windows(what.len()).position(|window| window.eq_ignore_ascii_case(what.as_bytes()))
}

/// The value of an attribute of a tag.
fn attribute(tag: &str, name: &str) -> Option<String> {
    let mut from = 0;
    loop {
        let at = from + find_ignoring_case(&tag[from..], name)?;
        from = at + name.len();
        let is_begun = tag[..at].ends_with(|c: char| c.is_whitespace());
        let Some(value) = tag[from..].trim_start().strip_prefix('=').filter(|_| is_begun) else { continue };
        let value = value.trim_start();
        let quoted = ['"', '\'']
            .into_iter()
            .find_map(|quote| Some(value.strip_prefix(quote)?.split(quote).next().unwrap_or_default()));
        return Some(unescaped(quoted.unwrap_or_else(|| value.split_whitespace().next().unwrap_or_default())));
    }
}

fn without_tags(text: &str) -> String {
    let (mut kept, mut rest) = (String::new(), text);
    while let Some(at) = rest.find('<') {
        kept.push_str(&rest[..at]);
        let Some(end) = rest[at..].find('>') else { return kept };
        rest = &rest[at + end + 1..];
    }
    kept + rest
}

/// A text with its characters for the names that HTML has for them.
fn unescaped(text: &str) -> String {
    let (mut plain, mut rest) = (String::with_capacity(text.len()), text);
    while let Some(at) = rest.find('&') {
        plain.push_str(&rest[..at]);
        rest = &rest[at..];
        let end = rest.bytes().skip(1).take(11).position(|byte| byte == b';');
        let name = end.map(|end| &rest[1..=end]);
        let character = name.and_then(|name| match name {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            "nbsp" => Some(' '),
            name => {
                let digits = name.strip_prefix('#')?;
                let hex = digits.strip_prefix(['x', 'X']).map(|digits| u32::from_str_radix(digits, 16));
                char::from_u32(hex.unwrap_or_else(|| digits.parse()).ok()?)
            }
        });
        match (name, character) {
            (Some(name), Some(character)) => {
                plain.push(character);
                rest = &rest[name.len() + 2..];
            }
            _ => {
                plain.push('&');
                rest = &rest[1..];
            }
        }
    }
    plain + rest
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
