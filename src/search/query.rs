//! What people type, read as words, `"phrases"` and `-exclusions`. Never an error.

use crate::derive::Label;
use crate::derive::words::plain_words;
use crate::engine::WordQuery;

/// A query, read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParsedQuery {
    /// For the words' side.
    pub keyword: WordQuery,
    /// For the meaning's side: the text without exclusions.
    pub semantic: String,
    /// As the name of a note, when it may be one.
    pub name: Option<Label>,
}

/// Maximum number of words. More say no more about what is wanted; a megabyte pasted as a query costs no more than this.
const MAX_WORDS: usize = 64;
/// What the model reads of a query.
const MAX_SEMANTIC_BYTES: usize = 4_000;
/// Maximum length of a word that the model reads, where it is of ASCII alone and so may be cut. Addresses are longer, and each of their
/// characters may be a token: six of them took 77 ms, of which a search by words had 2.
const MAX_READ_WORD: usize = 64;
/// Maximum length of a run of one mark that the model reads. Rules and borders are longer.
const MAX_READ_RUN: usize = 3;

impl ParsedQuery {
    /// The same with phrases taken as words; `None` where there are none of several words. One word in quotes has to be there as it is.
    pub fn relaxed(&self) -> Option<Self> {
        let mut relaxed = self.clone();
        let (one, several): (Vec<_>, Vec<_>) = relaxed.keyword.phrases.drain(..).partition(|phrase| phrase.len() == 1);
        relaxed.keyword.phrases = one;
        let has_several = !several.is_empty();
        relaxed.keyword.words.extend(several.into_iter().flatten());
        has_several.then_some(relaxed)
    }

    /// Whether there is nothing to look for.
    pub fn is_empty(&self) -> bool {
        self.has_nothing_wanted() && self.keyword.excluded.is_empty()
    }

    /// Whether it only says what is not wanted, so that what is left is listed.
    pub fn only_excludes(&self) -> bool {
        self.has_nothing_wanted() && !self.keyword.excluded.is_empty()
    }

    fn has_nothing_wanted(&self) -> bool {
        self.keyword.words.is_empty() && self.keyword.phrases.is_empty() && self.semantic.trim().is_empty()
    }

    /// Reads a query. A quote that is not closed is a word like any other.
    pub fn new(text: &str) -> Self {
        let mut keyword = WordQuery::default();
        let mut semantic = String::new();
        let mut room = MAX_WORDS;
        for part in parts(cut(text, 64 * MAX_WORDS)) {
            let mut words = plain_words(part.text, !(part.excluded || part.quoted));
            words.truncate(room);
            if part.excluded {
                room -= words.len();
                keyword.excluded.extend((!words.is_empty()).then_some(words));
                continue;
            }
            push_readable(&mut semantic, part.text);
            semantic.push(' ');
            room -= words.len();
            if part.quoted {
                keyword.phrases.extend((!words.is_empty()).then_some(words));
            } else {
                keyword.words.extend(words);
            }
        }
        let semantic = cut(semantic.trim(), MAX_SEMANTIC_BYTES).to_owned();
        let name = keyword.excluded.is_empty().then(|| name_of(text)).flatten();
        Self { keyword, semantic, name }
    }
}

/// A query as the name of a note; of a path the file's name counts.
fn name_of(text: &str) -> Option<Label> {
    let text = cut(text.trim(), MAX_SEMANTIC_BYTES);
    let file = text.len().checked_sub(".md".len()).and_then(|end| text.split_at_checked(end));
    let path = file.filter(|(_, extension)| extension.eq_ignore_ascii_case(".md")).map(|(path, _)| path);
    Label::of_name(path.map_or(text, |path| path.rsplit('/').next().unwrap_or(path)))
}

/// Adds what the model reads of a text: its long words cut, and its rules and borders short. The search by words has all of it.
fn push_readable(out: &mut String, text: &str) {
    for (at, word) in text.split(char::is_whitespace).enumerate() {
        if at > 0 {
            out.push(' ');
        }
        let (mut last, mut run, mut length) = ('\0', 0, 0);
        for character in word.chars() {
            run = if character == last { run + 1 } else { 1 };
            last = character;
            if character.is_ascii_punctuation() && run > MAX_READ_RUN {
                continue;
            }
            length += 1;
            if length > MAX_READ_WORD && word.is_ascii() {
                break;
            }
            out.push(character);
        }
    }
}

struct QueryPart<'a> {
    text: &'a str,
    quoted: bool,
    excluded: bool,
}

fn parts(text: &str) -> Vec<QueryPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let sign = rest
            .strip_prefix('-')
            .filter(|after| after.starts_with(|next: char| next == '"' || next.is_alphanumeric()));
        let (excluded, body) = (sign.is_some(), sign.unwrap_or(rest));
        let quoted = body.strip_prefix(['"', '\u{201c}']).and_then(|inner| {
            let end = inner.find(['"', '\u{201d}'])?;
            let after = inner[end..].chars().next().map_or(end, |quote| end + quote.len_utf8());
            Some((&inner[..end], &inner[after..]))
        });
        let (part, after) = match quoted {
            Some((inner, after)) => (QueryPart { text: inner, quoted: true, excluded }, after),
            None => {
                let end = body.find(char::is_whitespace).unwrap_or(body.len());
                (QueryPart { text: &body[..end], quoted: false, excluded }, &body[end..])
            }
        };
        parts.push(part);
        rest = after.trim_start();
    }
    parts
}

fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn words(text: &str) -> (String, String, String) {
        let WordQuery { words, phrases, excluded } = ParsedQuery::new(text).keyword;
        let runs = |runs: Vec<Vec<String>>| runs.iter().map(|run| run.join("+")).collect::<Vec<_>>().join(" ");
        (words.join(" "), runs(phrases), runs(excluded))
    }

    #[test]
    fn reads_words_phrases_and_exclusions() {
        let read = |text, words_: &str, phrases: &str, excluded: &str| {
            assert_eq!(words(text), (words_.into(), phrases.into(), excluded.into()), "{text:?}");
        };
        read("plain words", "plain words", "", "");
        read("\"exact phrase\" more", "more", "exact+phrase", "");
        read("\u{201c}curly quotes\u{201d}", "", "curly+quotes", "");
        read("cats -dogs -\"big birds\"", "cats", "", "dogs big+birds");
        read("\"unbalanced quote", "unbalanced quote", "", "");
        read("-only -\"two words\"", "", "", "only two+words");
        read("serde_json::Value", "serde_json serde json value", "", "");
        read("well-known a - b", "well known a b", "", "");
        read("\"one\"", "", "one", "");
        assert_eq!(ParsedQuery::new("\"one\" a").relaxed(), None, "one word in quotes is there or not");
        assert!(ParsedQuery::new("-only").only_excludes() && !ParsedQuery::new("-only a").only_excludes());
        read("!!! \"\" -", "", "", "");
        assert!(ParsedQuery::new("  ").is_empty());
        assert!(!ParsedQuery::new("?!").is_empty(), "the model may still make something of it");
    }

    #[test]
    fn what_was_typed_may_be_the_name_of_a_note() {
        let name = |text| ParsedQuery::new(text).name;
        let film = Label::of_name("Blade Runner");
        for text in ["blade runner", " \"Blade runner\"", "films/Blade Runner.md", "blade-runner.MD"] {
            assert_eq!(name(text), film, "{text}");
        }
        assert!(name("blade runner -noir").is_none() && name("blade").is_some_and(|name| Some(name) != film));
    }

    #[test]
    fn what_nobody_types_is_not_read_to_its_end() {
        let read = |text: &str| ParsedQuery::new(text).semantic;
        let address = format!("https://a.example/{}", "x/y-".repeat(40));
        assert_eq!(read(&format!("see {address} for more")), format!("see {} for more", &address[..64]));
        assert_eq!(read("a | ----------- | //////// b"), "a | --- | /// b");
        assert_eq!(read("\"say  no\nmore\" c++ naaaay"), "say  no more c++ naaaay");
        // Where no blanks part words, none is cut.
        let sentence = "語".repeat(100);
        assert_eq!(read(&sentence), sentence);
    }

    #[test]
    fn a_megabyte_costs_no_more_than_a_page() {
        let parsed = ParsedQuery::new(&"word ".repeat(200_000));
        assert_eq!(parsed.keyword.words.len(), MAX_WORDS);
        assert!(parsed.semantic.len() <= MAX_SEMANTIC_BYTES);
    }

    proptest! {
        #[test]
        fn never_panics(text in "\\PC{0,80}|[\"\\-a ]{0,40}") {
            let _ = ParsedQuery::new(&text);
        }
    }
}
