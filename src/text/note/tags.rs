//! Tags as Obsidian has them.

use std::collections::HashSet;
use std::ops::Range;

/// Maximum number of tags of a note. Memory keeps all tags of all notes: 20 MB of them took 1.2 GB, and ten minutes.
const MAX_TAGS: usize = 10_000;

/// Tags in the order first seen, each once whatever its case.
#[derive(Debug, Default)]
pub(super) struct TagSet {
    pub(super) tags: Vec<String>,
    seen: HashSet<String>,
    /// Whether there are more than are kept.
    pub(super) has_more: bool,
}

impl TagSet {
    pub(super) fn add(&mut self, tag: &str) {
        // The exact spelling is nearly always seen before, and looking it up costs no allocation.
        if tag.is_empty() || self.seen.contains(tag) {
            return;
        }
        if self.tags.len() == MAX_TAGS {
            self.has_more |= !self.seen.contains(&tag.to_lowercase());
        } else if self.seen.insert(tag.to_lowercase()) {
            self.tags.push(tag.to_owned());
        }
    }

    pub(super) fn has(&self, tag: &str) -> bool {
        self.seen.contains(tag) || self.seen.contains(&tag.to_lowercase())
    }
}

/// Finds the inline tags of a run of plain text, looking one character back: each without `#`, with the place of its `#` in the text, and whether it
/// is certain. It is not after a character that Obsidian would not start a tag after (`x.#y`): good only to see `#private`. Linear in the run.
///
/// A tag is `#` and then letters and digits of any script, emoji, `_`, `-`, `/`; something in it must be neither digit nor
/// `_`, `-`, `/`, or digits must be parted (`2024/05`). It starts the text or follows a blank or opening punctuation, and
/// is never part of a URL.
pub(super) fn scan(text: &str, run: Range<usize>, mut found: impl FnMut(&str, usize, bool)) {
    let mut at = run.start;
    let mut in_url = false;
    while let Some(hash) = text[at..run.end].find('#').map(|offset| at + offset) {
        let between = &text[at..hash];
        in_url = match between.rfind(char::is_whitespace) {
            Some(blank) => between[blank..].contains("://"),
            None => in_url || between.contains("://"),
        };
        at = hash + 1;
        let before = text[..hash].chars().next_back();
        let Some(certain) = may_start_after(before, hash == run.start) else {
            continue;
        };
        if in_url {
            continue;
        }
        let body = &text[at..run.end];
        let body = &body[..body.find(|c| !is_tag_char(c)).unwrap_or(body.len())];
        at += body.len();
        let name = body.trim_end_matches('/');
        if !name.starts_with('/') && is_tag_name(name) {
            found(name, hash, certain);
        }
    }
}

/// Whether a tag is `private` or below it. A frontmatter tag with blanks or commas in it is looked at piece by piece.
pub(super) fn is_private(tag: &str) -> bool {
    pieces(tag).any(|piece| piece.split('/').next().unwrap_or_default().eq_ignore_ascii_case("private"))
}

/// What a text may name that stands where tags do: its words, without what is put around tags.
pub(super) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let pieces = text.split([',', ';', ' ', '\t', '\n']);
    pieces.map(|piece| piece.trim().trim_start_matches('#').trim_end_matches('/')).filter(|piece| !piece.is_empty())
}

/// The words after `#` in a text that is no Markdown, with the offset of each `#`. A key that was commented out (`#name: true`)
/// is none.
pub(super) fn words(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.match_indices('#').filter_map(|(at, _)| {
        let before = text[..at].chars().next_back();
        if before.is_some_and(|c| c.is_alphanumeric() || matches!(c, '_' | '/' | '#')) {
            return None;
        }
        let rest = &text[at + 1..];
        let name = &rest[..rest.find(|c| !is_tag_char(c)).unwrap_or(rest.len())];
        let is_key = rest[name.len()..].trim_start_matches([' ', '\t']).starts_with([':', '=']);
        let name = name.trim_end_matches('/');
        (!name.is_empty() && !is_key).then_some((at, name))
    })
}

/// `None`: no tag starts here. `Some(false)`: not by the letter.
fn may_start_after(before: Option<char>, first_of_run: bool) -> Option<bool> {
    match before {
        None => Some(true),
        // Markup before the run, such as `_#tag_`; within it, a part of a word.
        Some('_') => first_of_run.then_some(true),
        Some('/' | '#' | '&' | '\\') => None,
        Some(c) if c.is_alphanumeric() => None,
        Some(':' | '.' | '-' | '@' | '+') => Some(false),
        Some(_) => Some(true),
    }
}

fn is_tag_name(name: &str) -> bool {
    let separator = |c: char| matches!(c, '_' | '-' | '/');
    let mut digits_only = true;
    let mut separators_only = true;
    for c in name.chars() {
        digits_only &= c.is_numeric();
        separators_only &= separator(c);
    }
    !digits_only && !separators_only
}

/// Everything but blanks, controls and punctuation, which is how Obsidian defines it: so that combining marks, emoji and
/// their joiners stay in.
fn is_tag_char(c: char) -> bool {
    match c {
        '_' | '-' | '/' => true,
        _ if c.is_ascii() => c.is_ascii_alphanumeric(),
        // The joiners of emoji sequences and of Persian and Indic words.
        '\u{200c}' | '\u{200d}' => true,
        '\u{ab}' | '\u{bb}' | '\u{a1}' | '\u{a7}' | '\u{b6}' | '\u{b7}' | '\u{bf}' => false,
        '\u{2000}'..='\u{206f}' | '\u{2e00}'..='\u{2e7f}' => false,
        // CJK and full-width punctuation; the iteration marks 々〆〇 are letters.
        '\u{3000}'..='\u{3004}' | '\u{3008}'..='\u{3020}' | '\u{3030}' | '\u{30fb}' => false,
        '\u{fe10}'..='\u{fe1f}' | '\u{fe30}'..='\u{fe6f}' => false,
        '\u{ff01}'..='\u{ff0f}' | '\u{ff1a}'..='\u{ff20}' | '\u{ff3b}'..='\u{ff3e}' => false,
        '\u{ff5b}'..='\u{ff65}' | '\u{feff}' => false,
        _ => !c.is_whitespace() && !c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        let mut names = Vec::new();
        scan(text, 0..text.len(), |name, _, is_certain| {
            if is_certain {
                names.push(name.to_owned());
            }
        });
        names
    }

    #[test]
    fn tags_in_any_script() {
        for (text, tags) in [
            ("#a", vec!["a"]),
            ("x #a/b-c_d, (#e) \"#f\" “#g”", vec!["a/b-c_d", "e", "f", "g"]),
            ("#東京 #привет #naïve #हिन्दी #می‌خواهم", vec!["東京", "привет", "naïve", "हिन्दी", "می‌خواهم"]),
            ("#東京、#大阪。", vec!["東京", "大阪"]),
            ("#🎉 #👩‍💻 #❤️/x", vec!["🎉", "👩‍💻", "❤️/x"]),
            ("#2024/05 #y1984 #1984y", vec!["2024/05", "y1984", "1984y"]),
            ("#a/ #b.", vec!["a", "b"]),
            ("*#a*", vec!["a"]),
        ] {
            assert_eq!(names(text), tags, "{text}");
        }
    }

    #[test]
    fn what_is_no_tag() {
        for text in [
            "#", "# a", "##a", "a#b", "C# x", "#1984", "#-", "#_/", "#/components/x", "&#x41;", "\\#a", "a_#b", "#!a",
            "#[a]", "https://x.org/y#z", "https://x.org/?q=(#z)", "http://x/#a:#b", "v.#x", "color:#fff",
        ] {
            assert!(names(text).is_empty(), "{text}: {:?}", names(text));
        }
    }

    #[test]
    fn a_url_ends_at_a_blank() {
        assert_eq!(names("https://x.org/#a #b https://y #c"), ["b", "c"]);
    }

    #[test]
    fn private_and_what_is_below_it() {
        for tag in ["private", "Private", "PRIVATE/x", "private/a/b", "#private", "work, private", "a #private"] {
            assert!(is_private(tag), "{tag}");
        }
        for tag in ["privately", "private-x", "x/private", "", "work"] {
            assert!(!is_private(tag), "{tag}");
        }
    }

    #[test]
    fn a_million_tags_are_not_kept() {
        let mut set = TagSet::default();
        (0..MAX_TAGS).for_each(|at| set.add(&format!("t{at}")));
        set.add("T5");
        assert!(!set.has_more);
        set.add("more");
        assert!(set.has_more && set.tags.len() == MAX_TAGS);
    }

    #[test]
    fn tags_are_kept_once_whatever_their_case() {
        let mut set = TagSet::default();
        for tag in ["Work", "work", "a", "WORK", "a", ""] {
            set.add(tag);
        }
        assert_eq!(set.tags, ["Work", "a"]);
    }
}
