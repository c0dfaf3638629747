//! One list item as a fact: `key: ~~was wrong~~ value (from 2026-03-09) #tag ^block`; and what items of other files have as well: when they
//! are true, their tags and their name.

use std::fmt;
use std::ops::Range;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use utoipa::ToSchema;

use crate::base::clock::{Edge, moment};
use crate::base::path::folded;
use crate::text::note::{BlockKind, Note};

/// A fact as it stands in its file.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Fact {
    /// The headings above it, but for the title, in lower case and joined by `/`; empty where there is none.
    pub(crate) namespace: String,
    /// Its key.
    pub(crate) key: String,
    /// Its value as it is written; empty where all that was said of it is struck out.
    pub(crate) text: String,
    /// The value, read: scalars are texts.
    pub(crate) value: Value,
    /// Values that were never true, as they were written.
    pub(crate) retracted: Vec<String>,
    /// From when and until when it says that it is true.
    pub(crate) window: Validity,
    /// Its own tags.
    pub(crate) tags: Vec<String>,
    /// 1-based line of its start.
    pub(crate) line: usize,
    /// 1-based line of its end.
    pub(crate) last_line: usize,
    /// The bytes of what is said of the key: value, window and what is struck out.
    pub(super) said: Range<usize>,
    /// The bytes of the whole item, its marker included.
    pub(super) span: Range<usize>,
    /// Whether a comment or a broken line stands in it, so that it is for a person alone to change.
    pub(super) is_mixed: bool,
}

impl Fact {
    /// Reads the text of an item, without its marker; where the fact stands is then not known yet, nor what its value means. With it comes why
    /// its window cannot be read, which is part of the value then. `None` for prose.
    pub(super) fn read(text: &str) -> Option<(Self, Option<String>)> {
        // The whole of it may be struck out: what comes after is prose.
        let struck = text.strip_prefix("~~").and_then(|rest| Some((rest, rest.find("~~")?)));
        if let Some((rest, end)) = struck {
            let (key, value) = key_of(&rest[..end])?;
            let retracted = vec![value.trim().to_owned()];
            return Some((Self { key: key.to_owned(), retracted, said: 0..text.len(), ..Self::default() }, None));
        }
        let (key, rest) = key_of(text)?;
        let begin = text.len() - rest.trim_start().len();
        let (said, tags, _) = without_tail(text[begin..].trim_end());
        let range = begin..begin + said.len();
        let (mut left, mut retracted) = (said, Vec::new());
        while let Some((was, after)) = left.strip_prefix("~~").and_then(|rest| rest.split_once("~~")) {
            retracted.push(was.trim().to_owned());
            left = after.trim_start();
        }
        let (value, window, problem) = match Validity::at_end(left) {
            Ok(Some((value, window))) => (value, window, None),
            Ok(None) => (left, Validity::default(), None),
            Err(problem) => (left, Validity::default(), Some(problem)),
        };
        if value.is_empty() && retracted.is_empty() {
            return None;
        }
        let (key, text) = (key.to_owned(), value.to_owned());
        Some((Self { key, text, retracted, window, tags, said: range, ..Self::default() }, problem))
    }

    /// Namespace and key.
    pub(crate) fn name(&self) -> (&str, &str) {
        (&self.namespace, &self.key)
    }

    /// Whether it says a value, or strikes it out.
    pub(crate) fn says(&self, value: &str) -> bool {
        self.retracted.iter().chain([&self.text]).any(|text| text == value)
    }

    /// Whether it is true at a moment, as far as it says so itself; `None` where it has no value.
    pub(crate) fn phase(&self, at: i64) -> Option<FactState> {
        (!self.text.is_empty()).then(|| self.window.phase(at))
    }
}

/// A key, and what comes after its colon.
fn key_of(text: &str) -> Option<(&str, &str)> {
    let (key, rest) = text.split_once(':')?;
    let is_apart = rest.is_empty() || rest.starts_with([' ', '\t']);
    (is_apart && is_key(key)).then_some((key, rest))
}

/// Whether a text is like an identifier: letters, digits, `_`, `-` and `.`, a letter or `_` first.
pub(crate) fn is_key(text: &str) -> bool {
    let is_first = |c: char| c.is_alphabetic() || c == '_';
    text.len() <= MAX_KEY_BYTES
        && text.starts_with(is_first)
        && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '-' | '.') || is_mark(c))
}

/// Maximum length of a key.
const MAX_KEY_BYTES: usize = 200;

/// Whether a character belongs to a letter, as the vowels of many scripts do.
fn is_mark(c: char) -> bool {
    unicode_normalization::char::is_combining_mark(c)
}

/// A text without the tags and the block's name at its end, those tags, and that name.
pub(crate) fn without_tail(text: &str) -> (&str, Vec<String>, Option<String>) {
    let (mut left, mut tags, mut id) = (text, Vec::new(), None);
    while let Some(at) = left.rfind(char::is_whitespace) {
        let word = left[at..].trim_start();
        if let Some(tag) = word.strip_prefix('#').filter(|tag| is_tag(tag)) {
            tags.push(tag.to_owned());
        } else if let Some(name) = word.strip_prefix('^').filter(|name| id.is_none() && is_block_id(name)) {
            id = Some(name.to_owned());
        } else {
            break;
        }
        left = left[..at].trim_end();
    }
    tags.reverse();
    (left, tags, id)
}

/// Whether a text can be a tag, without its `#`.
pub(crate) fn is_tag(text: &str) -> bool {
    let is_char = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '/') || is_mark(c);
    text.chars().all(is_char) && text.chars().any(|c| !c.is_numeric())
}

/// Whether one of the tags is the wanted one, or below it.
pub(crate) fn has_tag(tags: &[String], wanted: &str) -> bool {
    let wanted = folded(wanted.trim_start_matches('#'));
    tags.iter().any(|tag| {
        let tag = folded(tag);
        tag == wanted || tag.strip_prefix(&wanted).is_some_and(|below| below.starts_with('/'))
    })
}

/// Whether a text can be the name of a block.
pub(crate) fn is_block_id(text: &str) -> bool {
    !text.is_empty() && text.len() <= 64 && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// Whether a value can stand as it is, without its end being taken for a window, a tag or a block's name.
pub(super) fn has_no_tail(text: &str) -> bool {
    let (left, ..) = without_tail(text);
    // Alone it is a value; behind another word it would be none.
    let alone = text.split_whitespace().count() == 1 && (text.starts_with('#') || text.starts_with('^'));
    left.len() == text.len() && !alone && matches!(Validity::at_end(text), Ok(None))
}

/// The name.
pub(crate) fn full_name(namespace: &str, key: &str) -> String {
    if namespace.is_empty() { key.to_owned() } else { format!("{namespace}/{key}") }
}

/// Namespace and key.
pub(crate) fn split_name(name: &str) -> (&str, &str) {
    name.rsplit_once('/').unwrap_or(("", name))
}

/// A field of a note's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InlineField {
    /// Its key.
    pub(crate) key: String,
    /// Its value as it is written.
    pub(crate) text: String,
    /// 1-based line.
    pub(crate) line: usize,
}

/// The fields of a note, in the order of the text. Code and comments have none.
pub(crate) fn inline_fields(note: &Note, source: &str) -> Vec<InlineField> {
    let mut found = Vec::new();
    let prose = |kind: &BlockKind| {
        matches!(kind, BlockKind::Paragraph | BlockKind::ListItem | BlockKind::Quote | BlockKind::Callout)
    };
    for block in note.blocks.iter().filter(|block| prose(&block.kind)) {
        let mut at = block.span.start;
        for line in source[block.span.clone()].split_inclusive(['\n', '\r']) {
            let span = at..at + line.len();
            at = span.end;
            let number = note.lines.line_of(span.start);
            let visible = note.visible(source, span);
            let fields = whole_line(&visible).into_iter().chain(bracketed(&visible));
            found.extend(fields.map(|(key, text)| InlineField { key, text, line: number }));
        }
    }
    found
}

fn field(text: &str) -> Option<(String, String)> {
    let (key, value) = text.split_once("::")?;
    let (key, value) = (key.trim().trim_matches(['*', '_']), value.trim());
    // A path in a program has no blank there.
    let is_apart = text.split_once("::").is_some_and(|(_, value)| value.starts_with([' ', '\t']));
    (is_apart && is_key(key) && !value.is_empty()).then(|| (key.to_owned(), value.to_owned()))
}

fn whole_line(line: &str) -> Option<(String, String)> {
    let marked = line.trim_start_matches([' ', '\t', '>']);
    let text = ["- ", "* ", "+ "].iter().find_map(|marker| marked.strip_prefix(marker)).unwrap_or(marked);
    field(text)
}

/// Maximum number of brackets around a field that are looked into. A field within one has one or two: `[[note]]`.
const MAX_NESTED: usize = 8;

fn bracketed(line: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for (open, close) in [('[', ']'), ('(', ')')] {
        // Where those begin that are open; what is nested deeper is only counted.
        let (mut begins, mut deeper) = (Vec::new(), 0);
        for (at, character) in line.char_indices() {
            if character == open {
                match begins.len() < MAX_NESTED {
                    true => begins.push(at + 1),
                    false => deeper += 1,
                }
            } else if character == close {
                match deeper {
                    0 => found.extend(begins.pop().and_then(|begin| field(&line[begin..at]))),
                    _ => deeper -= 1,
                }
            }
        }
    }
    found
}

/// A moment as it was written, and what it means: a date is the beginning of that day in the local time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Moment {
    /// As it was written.
    pub(crate) text: String,
    /// Milliseconds since 1970; `None` for `0`, which is always or until further notice.
    pub(crate) ms: Option<i64>,
}

impl Moment {
    /// Reads a date, a time, or `0`; `None` when it is none of these.
    pub(crate) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let is_open = text == "0";
        // How long ago is no moment that stays.
        let is_written = text.len() >= "2026-01-05".len() && text.starts_with(|first: char| first.is_ascii_digit());
        let ms = is_written.then(|| moment(text, Edge::Start, Timestamp::UNIX_EPOCH)).flatten();
        (is_open || ms.is_some()).then(|| Self { text: text.to_owned(), ms })
    }

    /// Reads a month as its first day, beside what [`Moment::read`] reads.
    fn read_month(text: &str) -> Option<Self> {
        let is_month = text.len() == "2027-01".len();
        let day = is_month.then(|| Self::read(&format!("{text}-01"))).flatten();
        day.map(|day| Self { text: text.to_owned(), ..day }).or_else(|| Self::read(text))
    }
}

/// A twelfth of a year, in milliseconds.
const MONTH_MS: i64 = 2_629_800_000;

/// How many whole months lie between two moments, in milliseconds since 1970.
pub(crate) fn months_between(from: i64, until: i64) -> i64 {
    (until - from) / MONTH_MS
}

/// When something is true, a half-open span of time: from the first moment up to, and without, the second. And when it is to be asked, and
/// was said last, whether it still is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Validity {
    /// Not said is from when it was learned.
    pub(crate) from: Option<Moment>,
    /// Not said is until further notice.
    pub(crate) until: Option<Moment>,
    /// The day on which it is to be asked whether it is still true; `0` is never.
    pub(crate) check: Option<Moment>,
    /// When the person last said that it is.
    pub(crate) confirmed: Option<Moment>,
}

impl Validity {
    /// Its parts, in the order in which they are written.
    fn parts(&self) -> impl Iterator<Item = (&'static str, &Moment)> {
        let parts =
            [("from", &self.from), ("until", &self.until), ("check", &self.check), ("confirmed", &self.confirmed)];
        parts.into_iter().filter_map(|(name, moment)| Some((name, moment.as_ref()?)))
    }

    /// The parts as they are written: `from 2026-03-09`.
    pub(crate) fn written_parts(&self) -> impl Iterator<Item = String> {
        self.parts().map(|(name, moment)| format!("{name} {}", moment.text))
    }

    /// Reads what is said of a part, and takes it; gives what was said of it before. `None` where it is no such part, as "check the oven", and
    /// an error where the moment of `from` or `until` cannot be read.
    pub(crate) fn take(&mut self, name: &str, when: &str) -> Option<Result<Option<Moment>, ()>> {
        let (slot, moment) = match name {
            "from" => (&mut self.from, Moment::read(when)),
            "until" => (&mut self.until, Moment::read(when)),
            "check" => (&mut self.check, Some(Moment::read_month(when)?)),
            "confirmed" => (&mut self.confirmed, Some(Moment::read_month(when)?)),
            _ => return None,
        };
        Some(moment.map(|moment| slot.replace(moment)).ok_or(()))
    }

    /// Whether nothing is said.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts().next().is_none()
    }

    /// When it is true, without when that is to be asked.
    pub(crate) fn span(&self) -> Self {
        Self { check: None, confirmed: None, ..self.clone() }
    }

    /// When it is to be asked whether it is still true: on its day, unless it was confirmed since, else so many months after it was confirmed,
    /// came to be or was `learned`. With it the last of these. In milliseconds since 1970; `None` is never.
    pub(crate) fn due(&self, learned: Option<i64>, months: i64) -> Option<(i64, Option<i64>)> {
        let confirmed = self.confirmed.as_ref().and_then(|confirmed| confirmed.ms);
        let since = [confirmed, self.begin(), learned].into_iter().flatten().max();
        let day = self.check.as_ref().map(|check| check.ms);
        match day.filter(|day| day.is_none() || *day > confirmed) {
            Some(day) => Some((day?, since)),
            None => Some((since? + months * MONTH_MS, since)),
        }
    }

    /// The moment at which it begins, in milliseconds since 1970.
    pub(crate) fn begin(&self) -> Option<i64> {
        self.from.as_ref().and_then(|from| from.ms)
    }

    /// The moment at which it ends, in milliseconds since 1970.
    pub(crate) fn end(&self) -> Option<i64> {
        self.until.as_ref().and_then(|until| until.ms)
    }

    /// Whether it ends before it begins.
    pub(crate) fn is_empty_span(&self) -> bool {
        self.begin().zip(self.end()).is_some_and(|(from, until)| until <= from)
    }

    /// Where a moment lies: before it, in it, or after it. What is not said does not bound it.
    pub(crate) fn phase(&self, at: i64) -> FactState {
        if self.begin().is_some_and(|from| at < from) {
            FactState::Future
        } else if self.end().is_some_and(|until| at >= until) {
            FactState::Expired
        } else {
            FactState::Current
        }
    }

    /// Reads `(from 2026-03-09, until 2026-06-01)`, either part of it, at the end of a text; gives what is before it. `None` where there
    /// is nothing of the kind.
    ///
    /// # Errors
    /// When it names dates that cannot be read.
    pub(crate) fn at_end(text: &str) -> Result<Option<(&str, Self)>, String> {
        let Some(open) = text.rfind('(').filter(|_| text.ends_with(')')) else { return Ok(None) };
        if open > 0 && !text[..open].ends_with(char::is_whitespace) {
            return Ok(None);
        }
        let (mut window, inner) = (Self::default(), &text[open + 1..text.len() - 1]);
        for part in inner.split(',') {
            let mut words = part.split_whitespace();
            let (name, when) = (words.next().unwrap_or_default(), words.collect::<Vec<_>>().join(" "));
            // "(from Jonas)" is a remark.
            let is_date = when.starts_with(|first: char| first.is_ascii_digit());
            match window.take(name, &when).filter(|_| is_date) {
                None => return Ok(None),
                Some(Err(())) => return Err(format!("`{when}` is neither a date (2026-03-09) nor a time")),
                Some(Ok(Some(_))) => return Err(format!("`{name}` occurs twice")),
                Some(Ok(None)) => {}
            }
        }
        if window.is_empty_span() {
            return Err("it ends before it begins".to_owned());
        }
        Ok(Some((text[..open].trim_end(), window)))
    }
}

/// As it is written at the end of a fact; nothing where nothing is said.
impl fmt::Display for Validity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.written_parts().collect();
        if parts.is_empty() { Ok(()) } else { write!(f, "({})", parts.join(", ")) }
    }
}

/// The state of a fact at a time.
#[derive(Debug, Clone, Default, Copy, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FactState {
    /// True.
    #[default]
    Current,
    /// No longer true.
    Expired,
    /// Not yet true.
    Future,
    /// Never true.
    Retracted,
    /// It has no value now.
    Unset,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_says_what_it_says() {
        let (item, _) = Fact::read("deploy_branch: ~~main~~ release (from 2026-03-09) #deploy #ops/ci ^b-1").unwrap();
        assert_eq!((item.key.as_str(), item.text.as_str()), ("deploy_branch", "release"));
        assert_eq!(
            (item.retracted.as_slice(), item.tags.as_slice()),
            (&["main".to_owned()][..], &["deploy".into(), "ops/ci".into()][..])
        );
        assert_eq!(item.window.to_string(), "(from 2026-03-09)");
        assert_eq!(
            &"deploy_branch: ~~main~~ release (from 2026-03-09) #deploy"[item.said],
            "~~main~~ release (from 2026-03-09)"
        );
        let (item, _) = Fact::read("test: cargo test -- a:b #1").unwrap();
        assert_eq!((item.text.as_str(), item.tags.len()), ("cargo test -- a:b #1", 0));
        let (item, _) = Fact::read("~~test: make check~~ Not true since spring.").unwrap();
        assert_eq!((item.text.as_str(), item.retracted), ("", vec!["make check".to_owned()]));
        let (item, problem) = Fact::read("x: y (from 2026-99-01)").unwrap();
        assert_eq!((item.text.as_str(), problem.is_some()), ("y (from 2026-99-01)", true));
        assert_eq!(Fact::read("größe:\t3 µm").unwrap().0.text, "3 µm");
        assert_eq!(Fact::read("ที่อยู่: กรุงเทพ").unwrap().0.text, "กรุงเทพ");
    }

    #[test]
    fn it_is_asked_on_its_day_or_so_long_after_it_was_known() {
        let of = |text: &str| Validity::at_end(text).unwrap().unwrap().1;
        let ms = |text: &str| Moment::read(text).unwrap().ms.unwrap();
        let window = of("x (from 2025-03-01, check 2027-01)");
        assert_eq!(window.to_string(), "(from 2025-03-01, check 2027-01)");
        assert_eq!(window.due(None, 12), Some((ms("2027-01-01"), Some(ms("2025-03-01")))));
        assert_eq!(window.span().to_string(), "(from 2025-03-01)");
        let (begun, confirmed) = (of("x (from 2025-03-01)"), of("x (from 2025-03-01, confirmed 2026-02-03)"));
        let months = |window: &Validity, learned| {
            window.due(learned, 12).map(|(due, since)| months_between(since.unwrap(), due))
        };
        assert_eq!(months(&begun, None), Some(12));
        assert_eq!(confirmed.due(Some(ms("2025-09-09")), 12).unwrap().1, Some(ms("2026-02-03")));
        assert_eq!(begun.due(Some(ms("2025-09-09")), 12).unwrap().1, Some(ms("2025-09-09")));
        assert_eq!(of("x (from 2020-01-01, check 0)").due(None, 12), None);
        assert_eq!(Validity::default().due(None, 12), None);
        let answered = of("x (check 2020-01, confirmed 2026-02-03)");
        assert_eq!(answered.due(None, 12), of("x (confirmed 2026-02-03)").due(None, 12));
        for remark in ["x (check the oven)", "x (check 3 things)", "x (confirmed 5 times)", "x (check 2027-13)"] {
            assert!(Validity::at_end(remark).unwrap().is_none(), "{remark}");
        }
        assert!(Validity::at_end("x (from 2027-01)").is_err());
    }

    #[test]
    fn prose_is_no_fact() {
        for prose in [
            "", "key", "key:", "key:value", "two words: x", "a/b: c", "🎉: x", "http://x", "1st: x", "[ ] a: b", ": x",
            "key:  ",
        ] {
            assert_eq!(Fact::read(prose), None, "{prose}");
        }
    }
}

#[cfg(test)]
mod tests_of_inline {
    use super::*;

    #[test]
    fn fields_stand_on_lines_and_in_brackets() {
        let source = "---\na:: no\n---\nmanages:: [[Alice]]\n\n- **status**:: done\n> due:: 2026-03-09\n\nText with [mood:: fine] and (wind:: west), [led:: [[Ann]]].\n\n\
            ```\ncode:: no\n```\n%%hidden:: no%%\nstd::vec is none, nor is a b:: c\n";
        let note = Note::parse(source, "");
        let found = inline_fields(&note, source);
        let shown: Vec<String> =
            found.iter().map(|field| format!("{}={} @{}", field.key, field.text, field.line)).collect();
        assert_eq!(
            shown,
            [
                "manages=[[Alice]] @4", "status=done @6", "due=2026-03-09 @7", "mood=fine @9", "led=[[Ann]] @9",
                "wind=west @9"
            ]
        );
    }
}

#[cfg(test)]
mod tests_of_windows {
    use super::*;

    #[test]
    fn a_window_is_read_from_the_end_and_written_as_it_was() {
        let read =
            |text: &str| Validity::at_end(text).map(|found| found.map(|(rest, window)| (rest.to_owned(), window)));
        for said in
            ["(from 2026-03-09, until 2026-06-01)", "(until 2026-06-01)", "(from 0)", "(from 2026-03-09T10:00:00Z)"]
        {
            let (rest, window) = read(&format!("release {said}")).unwrap().unwrap();
            assert_eq!((rest.as_str(), window.to_string().as_str()), ("release", said));
        }
        assert_eq!(read("(from  2026-03-09 )").unwrap().unwrap().1.to_string(), "(from 2026-03-09)");
        for prose in
            ["release", "tea (from Jonas)", "a(from 2026-03-09)", "a (since 2026-03-09)", "f()", "a (until then)"]
        {
            assert_eq!(read(prose), Ok(None), "{prose}");
        }
        for bad in [
            "a (from 2026-13-09)", "a (from 2026-01-01, from 2026-01-02)", "a (from 2026-06-01, until 2026-03-09)",
            "a (until 5)",
        ] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_window_is_half_open() {
        let (_, window) =
            Validity::at_end("x (from 2026-03-09T00:00:00Z, until 2026-06-01T00:00:00Z)").unwrap().unwrap();
        let at = |text: &str| window.phase(text.parse::<Timestamp>().unwrap().as_millisecond());
        assert_eq!(at("2026-03-08T23:59:59Z"), FactState::Future);
        assert_eq!(at("2026-03-09T00:00:00Z"), FactState::Current);
        assert_eq!(at("2026-05-31T23:59:59Z"), FactState::Current);
        assert_eq!(at("2026-06-01T00:00:00Z"), FactState::Expired);
    }
}
