//! What people type, read as words, `"phrases"`, `+words` that must be there, `-exclusions`, conditions like `tag:travel` or `[rating:>3]`, and
//! lines for one side like `vec: …`. What cannot be read so is words.

use std::cmp::Ordering;

use jiff::Timestamp;

use crate::base::clock::{Edge, moment};
use crate::base::config::{MemoryLayer, Mode};
use crate::index::engine::{Condition, Predicate, WordQuery};
use crate::text::derive::words::plain_words;
use crate::text::derive::{CONVERSATIONS, Label, speaker_term, without_links};

/// Each way of asking, as whoever asks is told of it: by `vault search --help`, the page, the description of the API and MCP.
pub const OPERATORS: &[&str] = &[
    "phrase\"", "+word", "-word", "begin*", "tag:", "in:", "path:", "title:", "before:", "after:", "has:", "role:",
    "conversation:", "layer:", "type:", "status:done", "[rating:>3]", "lex:", "vec:", "hyde:", "intent:",
];

/// The conditions that are no properties, by each of their names.
const CONDITIONS: [&str; 12] =
    ["tag", "tags", "in", "collection", "path", "title", "before", "after", "has", "role", "conversation", "layer"];

/// Those of conversations. Where there is nothing of the kind they are keys like any other.
const OF_TURNS: [&str; 2] = ["role", "conversation"];

/// Whether a key is that of a condition, whatever the properties are called and whatever notes there are.
pub(super) fn is_condition(key: &str) -> bool {
    let key = key.to_lowercase();
    CONDITIONS.contains(&key.as_str()) && !OF_TURNS.contains(&key.as_str())
}

/// What decides how an operator is read.
pub(super) struct Surroundings<'a> {
    /// Now, for `after:7d`.
    pub(super) at: Timestamp,
    /// Whether a note that is seen has a property.
    pub(super) has_property: &'a dyn Fn(&str) -> bool,
    /// Whether a note that is seen is so.
    pub(super) is_there: &'a dyn Fn(&Predicate) -> bool,
}

/// What `key:value` asks for; `None` when it asks for nothing, and is words.
pub(super) fn condition(key: &str, value: &str, negated: bool, around: &Surroundings<'_>) -> Option<Condition> {
    let value = value.trim();
    let name = key.to_lowercase();
    let wanted = match name.as_str() {
        _ if value.is_empty() => return None,
        "tag" | "tags" => Predicate::Tag(value.to_owned()),
        "in" | "collection" => Predicate::Collection(value.trim_end_matches('/').to_owned()),
        "role" => of_turns(Predicate::Speaker(value.to_owned()), (key, value), around)?,
        "conversation" => of_turns(Predicate::Conversation(value.to_owned()), (key, value), around)?,
        // Whatever other layers there are, they are of a property.
        "layer" => match MemoryLayer::named(value) {
            Some(layer) => Predicate::Layer(layer),
            None => (around.has_property)(key).then(|| property(key, value))?,
        },
        "path" => Predicate::Path(value.to_owned()),
        "title" => Predicate::Title(value.to_owned()),
        "before" => Predicate::Updated(i64::MIN, moment(value, Edge::Start, around.at)?),
        "after" => Predicate::Updated(moment(value, Edge::Start, around.at)?, i64::MAX),
        "has" => Predicate::Labelled(Label::of_content(value.to_lowercase().trim_end_matches('s'))?),
        _ if (around.has_property)(key) => property(key, value),
        _ => return None,
    };
    Some(Condition { wanted, negated })
}

/// What `role:` or `conversation:` asks for: a speaker or a conversation that there is; else a property that a note has; else, among
/// conversations, one that there is not, of which whoever asks is told. `None` where there are none.
fn of_turns(wanted: Predicate, (key, value): (&str, &str), around: &Surroundings<'_>) -> Option<Predicate> {
    if (around.is_there)(&wanted) {
        return Some(wanted);
    }
    if (around.has_property)(key) {
        return Some(property(key, value));
    }
    (around.is_there)(&Predicate::Collection(CONVERSATIONS.to_owned())).then_some(wanted)
}

/// What `[key]` or `[key:value]` asks for.
pub(super) fn bracketed(inner: &str, negated: bool, around: &Surroundings<'_>) -> Option<Condition> {
    match inner.split_once(':') {
        Some((key, value)) => {
            let value = value.trim().trim_matches(['"', '\u{201c}', '\u{201d}']);
            let asks = !value.is_empty() && (around.has_property)(key.trim());
            asks.then(|| Condition { wanted: property(key.trim(), value), negated })
        }
        None => (around.has_property)(inner.trim())
            .then(|| Condition { wanted: Predicate::Labelled(Label::of_property(inner, None)), negated }),
    }
}

fn property(key: &str, value: &str) -> Predicate {
    let value = &*without_links(value);
    let signs: [(&str, &[Ordering]); 4] = [
        (">=", &[Ordering::Greater, Ordering::Equal]),
        ("<=", &[Ordering::Less, Ordering::Equal]),
        (">", &[Ordering::Greater]),
        ("<", &[Ordering::Less]),
    ];
    let compared = signs.iter().find_map(|(sign, ordering)| Some((value.strip_prefix(sign)?.trim(), ordering)));
    match compared.filter(|(with, _)| !with.is_empty()) {
        Some((with, ordering)) => {
            Predicate::Compared { key: key.to_owned(), ordering: ordering.to_vec(), with: with.to_owned() }
        }
        None => Predicate::Labelled(Label::of_property(key, Some(value))),
    }
}

/// Which side a line is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    /// The words and the meaning: a line that does not say.
    Both,
    /// The words: `lex: …`.
    Words,
    /// The meaning: `vec: …` is a question, `hyde: …` what an answer might say.
    Meaning,
    /// What it is about, where something is looked for besides: `intent: …`.
    Intent,
}

const NAMES: [(&str, LineKind); 4] = [
    ("lex:", LineKind::Words),
    ("vec:", LineKind::Meaning),
    ("hyde:", LineKind::Meaning),
    ("intent:", LineKind::Intent),
];

/// The lines of a query, without their names. Where a line begins with such a name, further ones may stand in it, each between blanks. An
/// `intent:` without anything to look for is words.
pub(super) fn lines(text: &str) -> Vec<(LineKind, &str)> {
    let mut found = Vec::new();
    for line in text.lines() {
        match name(line.trim_start()) {
            None => found.push((LineKind::Both, line)),
            Some(_) => split(line.trim_start(), &mut found),
        }
    }
    if found.iter().all(|(kind, line)| *kind == LineKind::Intent || line.trim().is_empty()) {
        return vec![(LineKind::Both, text)];
    }
    // What names no side is one text, whatever lines it is written in.
    if found.iter().all(|(kind, _)| *kind == LineKind::Both) {
        return vec![(LineKind::Both, text)];
    }
    found
}

/// The name that a text begins with, and what follows.
fn name(text: &str) -> Option<(LineKind, &str)> {
    NAMES.iter().find_map(|(name, kind)| {
        let (start, rest) = text.split_at_checked(name.len())?;
        start.eq_ignore_ascii_case(name).then_some((*kind, rest))
    })
}

fn split<'a>(line: &'a str, found: &mut Vec<(LineKind, &'a str)>) {
    let Some((kind, rest)) = name(line) else { return };
    let next = rest.match_indices(char::is_whitespace).map(|(at, blank)| at + blank.len()).find(|at| {
        let follows = name(&rest[*at..]).map(|(_, after)| after);
        follows.is_some_and(|after| after.starts_with(char::is_whitespace))
    });
    found.push((kind, rest[..next.unwrap_or(rest.len())].trim()));
    if let Some(next) = next {
        split(&rest[next..], found);
    }
}

/// A query, read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ParsedQuery {
    /// For the words' side.
    pub keyword: WordQuery,
    /// For the meaning's side: the text without exclusions.
    pub semantic: String,
    /// As the name of a note, when it may be one.
    pub name: Option<Label>,
    /// What a note is to be.
    pub conditions: Vec<Condition>,
    /// The word at the end that may still be being typed.
    pub open: Option<String>,
    /// Words that end in `*`: what they go on to is looked for, too.
    pub prefixes: Vec<String>,
    /// The side that is asked, where lines like `lex: …` say that it is one alone.
    pub asks: Option<Mode>,
    /// What looks like a condition, and is words.
    pub no_conditions: Vec<NoCondition>,
}

/// `key:value` that asks for nothing, as no note has such a property, or the value makes no sense.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NoCondition {
    /// The key.
    pub key: String,
    /// The value.
    pub value: String,
    /// It was in brackets, `[key:value]`, which nothing else looks like.
    pub bracketed: bool,
}

/// Maximum number of words. More say no more about what is wanted; a megabyte pasted as a query costs no more than this.
const MAX_WORDS: usize = 64;
/// Maximum number of conditions; more are words.
const MAX_CONDITIONS: usize = 32;
/// Maximum number of what may be meant as conditions and is said to be none.
const MAX_NO_CONDITIONS: usize = 3;
/// Maximum length of what the model reads of a query, in bytes.
const MAX_SEMANTIC_BYTES: usize = 4_000;
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
        self.has_nothing_wanted() && !self.only_narrows()
    }

    /// Whether it only says which notes, or what is not wanted, so that what is left is listed.
    pub fn only_narrows(&self) -> bool {
        self.has_nothing_wanted() && !(self.keyword.excluded.is_empty() && self.conditions.is_empty())
    }

    fn has_nothing_wanted(&self) -> bool {
        self.keyword.words.is_empty() && self.keyword.phrases.is_empty() && self.semantic.trim().is_empty()
    }

    /// Reads a query for its words, whatever vault it is for: properties are not known.
    pub fn new(text: &str) -> Self {
        Self::read(text, &Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &|_| false, is_there: &|_| true })
    }

    /// Reads a query. A quote that is not closed is a word like any other.
    pub(super) fn read(text: &str, around: &Surroundings<'_>) -> Self {
        let query = Self::default();
        let mut reading = QueryReading { around, query, rest: String::new(), room: MAX_WORDS };
        let text = cut(text, 64 * MAX_WORDS);
        let lines = lines(text);
        let mut intent = String::new();
        for (kind, line) in &lines {
            match kind {
                LineKind::Both => reading.words(line, true),
                LineKind::Words => reading.words(line, false),
                LineKind::Meaning => {
                    reading.query.open = None;
                    reading.query.add_meaning(line);
                }
                LineKind::Intent => {
                    intent.push_str(line);
                    intent.push(' ');
                }
            }
        }
        let QueryReading { mut query, rest, .. } = reading;
        if !query.semantic.trim().is_empty() {
            query.semantic.push_str(&intent);
        }
        query.semantic = cut(query.semantic.trim(), MAX_SEMANTIC_BYTES).to_owned();
        let has_lines = lines.iter().any(|(kind, _)| *kind != LineKind::Both);
        query.open = query.open.filter(|_| !text.ends_with(char::is_whitespace));
        query.name = query.keyword.excluded.is_empty().then(|| name_of(&rest)).flatten();
        let has_words = !(query.keyword.words.is_empty() && query.keyword.phrases.is_empty());
        query.asks = match (has_words, query.semantic.is_empty()) {
            (false, false) if has_lines => Some(Mode::Semantic),
            (true, true) if has_lines => Some(Mode::Keyword),
            _ => None,
        };
        query
    }

    fn add_meaning(&mut self, text: &str) {
        self.semantic.push_str(text);
        self.semantic.push(' ');
    }
}

/// A query while it is read.
struct QueryReading<'a> {
    around: &'a Surroundings<'a>,
    query: ParsedQuery,
    /// What may be a note's name.
    rest: String,
    /// How many words still count.
    room: usize,
}

impl QueryReading<'_> {
    /// Reads what the words' side looks for, and where `both` is so the meaning's, too.
    fn words(&mut self, text: &str, both: bool) {
        for part in parts(text) {
            let query = &mut self.query;
            let excluded = part.sign == Some(Sign::Excluded);
            let is_full = query.conditions.len() == MAX_CONDITIONS;
            let asks = match part.operator.filter(|_| !is_full) {
                Some(Operator::Key(key, value)) => condition(key, value, excluded, self.around),
                Some(Operator::Brackets(inner)) => bracketed(inner, excluded, self.around),
                None => None,
            };
            if let Some(condition) = asks {
                query.open = None;
                if let Predicate::Speaker(name) = &condition.wanted {
                    let term = speaker_term(name);
                    match condition.negated {
                        true => query.keyword.not_said_by.push(term),
                        false => query.keyword.said_by.push(term),
                    }
                }
                query.conditions.push(condition);
                continue;
            }
            let unread = part.operator.and_then(Operator::key_and_value);
            if let Some((key, value)) = unread.filter(|_| query.no_conditions.len() < MAX_NO_CONDITIONS) {
                let bracketed = matches!(part.operator, Some(Operator::Brackets(_)));
                query.no_conditions.push(NoCondition { key: key.to_owned(), value: value.to_owned(), bracketed });
            }
            let mut words = plain_words(part.text, !(part.sign.is_some() || part.quoted));
            words.truncate(self.room);
            self.room -= words.len();
            if excluded {
                query.keyword.excluded.extend((!words.is_empty()).then_some(words));
                continue;
            }
            let is_word = !part.quoted && part.sign.is_none();
            query.open = words.last().filter(|_| is_word).cloned();
            if let Some(prefix) = query.open.as_ref().filter(|_| part.text.ends_with('*')) {
                query.prefixes.push(prefix.clone());
            }
            if both {
                query.add_meaning(part.text.trim_end_matches('*'));
            }
            self.rest.push_str(part.text);
            self.rest.push(' ');
            if part.quoted || part.sign == Some(Sign::Required) {
                query.keyword.phrases.extend((!words.is_empty()).then_some(words));
            } else {
                query.keyword.words.extend(words);
            }
        }
    }
}

/// A query as the name of a note; of a path the file's name counts.
fn name_of(text: &str) -> Option<Label> {
    let text = cut(text.trim(), MAX_SEMANTIC_BYTES);
    let file = text.len().checked_sub(".md".len()).and_then(|end| text.split_at_checked(end));
    let path = file.filter(|(_, extension)| extension.eq_ignore_ascii_case(".md")).map(|(path, _)| path);
    Label::of_name(path.map_or(text, |path| path.rsplit('/').next().unwrap_or(path)))
}

struct QueryPart<'a> {
    /// As words, when it is nothing else.
    text: &'a str,
    quoted: bool,
    sign: Option<Sign>,
    operator: Option<Operator<'a>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Excluded,
    Required,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Operator<'a> {
    /// `key:value`, `key:"value"`
    Key(&'a str, &'a str),
    /// `[inner]`
    Brackets(&'a str),
}

impl<'a> Operator<'a> {
    /// What may be meant as a condition. `[x]` is a box that is ticked, and `[link]` a word.
    fn key_and_value(self) -> Option<(&'a str, &'a str)> {
        let (key, value) = match self {
            Self::Key(key, value) => (key, value),
            Self::Brackets(inner) => inner.split_once(':')?,
        };
        let (key, value) = (key.trim(), value.trim());
        (!value.is_empty()).then_some((key, value))
    }
}

fn parts(text: &str) -> Vec<QueryPart<'_>> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (sign, body) = sign(rest);
        let (part, after) = match quoted(body) {
            Some((inner, after)) => (QueryPart { text: inner, quoted: true, sign, operator: None }, after),
            None => {
                let (operator, end) = match operator(body) {
                    Some((operator, end)) => (Some(operator), end),
                    None => (None, body.find(char::is_whitespace).unwrap_or(body.len())),
                };
                (QueryPart { text: &body[..end], quoted: false, sign, operator }, &body[end..])
            }
        };
        parts.push(part);
        rest = after.trim_start();
    }
    parts
}

/// A condition that has no value: at the end of a query (`tag:`; before a word it may be a colon in a sentence), or in brackets (`[rating:>]`).
pub(crate) fn condition_without_value(text: &str) -> Option<&str> {
    let parts = parts(cut(text, 64 * MAX_WORDS));
    let is_bare = |part: &&QueryPart<'_>| !part.quoted && part.text.strip_suffix(':').is_some_and(is_condition);
    let is_empty = |part: &&QueryPart<'_>| match part.operator {
        Some(Operator::Brackets(inner)) => {
            inner.split_once(':').is_some_and(|(_, value)| matches!(value.trim(), "<" | "<=" | ">" | ">=" | "="))
        }
        _ => false,
    };
    parts.iter().find(is_empty).or_else(|| parts.last().filter(is_bare)).map(|part| part.text)
}

/// A sign and what follows it. `-5` is a number: what begins with a digit is left out as `-"5"`.
fn sign(text: &str) -> (Option<Sign>, &str) {
    if text.strip_prefix('-').is_some_and(|after| after.starts_with(|next: char| next.is_ascii_digit())) {
        return (None, text);
    }
    let starts = |after: &&str| after.starts_with(|next: char| next == '"' || next == '[' || next.is_alphanumeric());
    for (character, sign) in [('-', Sign::Excluded), ('+', Sign::Required)] {
        if let Some(after) = text.strip_prefix(character).filter(starts) {
            return (Some(sign), after);
        }
    }
    (None, text)
}

/// What stands in quotes at the start of a text, and what follows.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(['"', '\u{201c}'])?;
    let end = inner.find(['"', '\u{201d}'])?;
    let after = inner[end..].chars().next().map_or(end, |quote| end + quote.len_utf8());
    Some((&inner[..end], &inner[after..]))
}

/// The operator at the start of a text, and where it ends. `a::b` and `http://` are none.
fn operator(text: &str) -> Option<(Operator<'_>, usize)> {
    if let Some(inner) = text.strip_prefix('[').filter(|inner| !inner.starts_with('[')) {
        let end = inner.find([']', '[', '\n']).filter(|end| inner[*end..].starts_with(']'))?;
        return Some((Operator::Brackets(&inner[..end]), end + 2));
    }
    let is_key = |character: char| character.is_alphanumeric() || matches!(character, '_' | '-' | '.');
    let colon = text.find(|character| !is_key(character)).filter(|at| *at > 0 && text[*at..].starts_with(':'))?;
    let (key, value) = (&text[..colon], &text[colon + 1..]);
    if value.starts_with([':', '/']) {
        return None;
    }
    let (value, after) = match quoted(value) {
        Some(quoted) => quoted,
        None => value.split_at(value.find(char::is_whitespace).unwrap_or(value.len())),
    };
    (!value.is_empty()).then(|| (Operator::Key(key, value), text.len() - after.len()))
}

fn cut(text: &str, max_bytes: usize) -> &str {
    &text[..text.floor_char_boundary(max_bytes)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_condition_is_one_and_is_told() {
        let around = Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &|_| false, is_there: &|_| true };
        for key in CONDITIONS {
            let value = match key {
                "before" | "after" => "2026-01-05",
                "has" => "task",
                "layer" => "graph",
                _ => "x",
            };
            assert!(condition(key, value, false, &around).is_some(), "{key}");
            let told = OPERATORS.contains(&format!("{key}:").as_str());
            assert!(told || ["tags", "collection"].contains(&key), "{key}: only other names are not told");
        }
        assert!(is_condition("TAG") && !is_condition("status") && !is_condition("Role"));
        assert!(condition("status", "x", false, &around).is_none(), "a property is one where a note has it");
        let around = Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &|_| true, is_there: &|_| true };
        let asked = |value: &str| condition("categories", value, false, &around);
        assert_eq!((asked("[[Books]]"), asked("[[lists/Books|Books]]")), (asked("Books"), asked("Books")));
        assert_eq!(bracketed("categories:[[Books]]", false, &around), asked("Books"));
    }

    #[test]
    fn a_property_called_role_was_who_speaks() {
        let asked = |there: &'static [Predicate], properties: &'static [&str], key: &str| {
            let (is_there, has_property) =
                (|wanted: &Predicate| there.contains(wanted), |key: &str| properties.contains(&key));
            let around = Surroundings { at: Timestamp::UNIX_EPOCH, has_property: &has_property, is_there: &is_there };
            condition(key, "ann", false, &around).map(|condition| condition.wanted)
        };
        for (key, wanted) in
            [("role", Predicate::Speaker("ann".into())), ("conversation", Predicate::Conversation("ann".into()))]
        {
            let all: &'static [Predicate] = vec![wanted.clone(), Predicate::Collection(CONVERSATIONS.into())].leak();
            let property = || Some(Predicate::Labelled(Label::of_property(key, Some("ann"))));
            assert_eq!(asked(all, &["role", "conversation"], key), Some(wanted.clone()), "she speaks");
            assert_eq!(asked(&all[1..], &["role", "conversation"], key), property(), "she does not");
            assert_eq!(asked(&all[1..], &[], key), Some(wanted), "nothing is found, which is said");
            assert_eq!(asked(&[], &["role", "conversation"], key), property(), "there are no conversations");
            assert_eq!(asked(&[], &[], key), None, "nor anything else: they are words");
        }
    }
}

#[cfg(test)]
mod lines_tests {
    use super::*;
    use LineKind::{Both, Intent, Meaning, Words};

    #[test]
    fn lines_say_which_side_they_are_for() {
        for (text, found) in [
            ("plain words", vec![(Both, "plain words")]),
            ("lex: serde -json", vec![(Words, "serde -json")]),
            (
                "LEX:serde\nvec: how is it read\nhyde: It is read so.",
                vec![(Words, "serde"), (Meaning, "how is it read"), (Meaning, "It is read so.")],
            ),
            (
                "lex: serde vec: how is it read intent: a parser",
                vec![(Words, "serde"), (Meaning, "how is it read"), (Intent, "a parser")],
            ),
            ("both\nintent: a parser", vec![(Both, "both"), (Intent, "a parser")]),
            // Alone it is what is looked for; and what stands within a text is part of it.
            ("intent: a parser", vec![(Both, "intent: a parser")]),
            ("what is lex: for", vec![(Both, "what is lex: for")]),
            ("two\nlines", vec![(Both, "two\nlines")]),
            ("lex: a vec:b", vec![(Words, "a vec:b")]),
            ("lex:", vec![(Both, "lex:")]),
            ("", vec![(Both, "")]),
        ] {
            assert_eq!(lines(text), found, "{text}");
        }
    }
}

#[cfg(test)]
mod query_tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use proptest::prelude::*;

    fn words(text: &str) -> (String, String, String) {
        let WordQuery { words, phrases, excluded, .. } = ParsedQuery::new(text).keyword;
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
        read("fridge at -5 degrees -\"6\"", "fridge at 5 degrees", "", "6");
        read("serde_json::Value", "serde_json serde json value", "", "");
        read("well-known a - b", "well known a b", "", "");
        read("\"one\"", "", "one", "");
        assert_eq!(ParsedQuery::new("\"one\" a").relaxed(), None, "one word in quotes is there or not");
        assert!(ParsedQuery::new("-only").only_narrows() && !ParsedQuery::new("-only a").only_narrows());
        read("+must +\"two words\" may", "may", "must two+words", "");
        read("c++ 1+1 +", "c++ c 1+ 1 1", "", "");
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
    fn conditions_are_read_and_what_is_none_is_words() {
        let now: Timestamp = "2026-01-10T12:00:00Z".parse().unwrap();
        let has_property =
            |key: &str| ["status", "rating", "Author"].iter().any(|known| known.eq_ignore_ascii_case(key));
        let around = Surroundings { at: now, has_property: &has_property, is_there: &|_| true };
        let read = |text: &str| ParsedQuery::read(text, &around);
        let shown = |text: &str| {
            let ParsedQuery { keyword, conditions, .. } = read(text);
            let conditions = conditions.iter().map(|condition| {
                let not = if condition.negated { "not " } else { "" };
                match &condition.wanted {
                    Predicate::Labelled(label) => {
                        let known = [
                            ("status=done", Label::of_property("status", Some("done"))),
                            ("status", Label::of_property("status", None)),
                            ("author=Ann Lee", Label::of_property("author", Some("ann lee"))),
                            ("has link", Label::of_content("link").unwrap()),
                        ];
                        format!("{not}{}", known.iter().find(|(_, known)| known == label).map_or("?", |(name, _)| name))
                    }
                    Predicate::Compared { key, ordering, with } => format!("{not}{key} {ordering:?} {with}"),
                    wanted => format!("{not}{wanted:?}"),
                }
            });
            (keyword.words.join(" "), conditions.collect::<Vec<_>>().join("; "))
        };
        for (text, words, conditions) in [
            ("rust tag:work/plan -tag:#old", "rust", "Tag(\"work/plan\"); not Tag(\"#old\")"),
            ("in:notes/ path:daily/2026-*", "", "Collection(\"notes\"); Path(\"daily/2026-*\")"),
            ("title:\"Two Words\" x", "x", "Title(\"Two Words\")"),
            ("status:done [rating:>3] author:\"Ann Lee\"", "", "status=done; rating [Greater] 3; author=Ann Lee"),
            ("[status] [rating: <= 2.5] has:links", "", "status; rating [Less, Equal] 2.5; has link"),
            ("-status:done -[status]", "", "not status=done; not status"),
            ("after:2026-01-05T00:00:00Z", "", "Updated(1767571200000, 9223372036854775807)"),
            // What is none of these is words.
            ("http://a.b std::fs note: a:b", "http a b std fs note a b", ""),
            ("before:lunch has:cheese unknown:x [[link]] [x] [a", "before lunch has cheese unknown x link x a", ""),
            ("10:30 tag: \"tag:x\"", "10 30 tag", ""),
        ] {
            assert_eq!(shown(text), (words.into(), conditions.into()), "{text}");
        }
        assert!(read("status:done").only_narrows() && !read("status:done x").only_narrows());
        assert_eq!(read("status:done blade runner").name, Label::of_name("Blade Runner"));
        assert_eq!(read(&"tag:x ".repeat(90)).conditions.len(), MAX_CONDITIONS);
    }

    #[test]
    fn a_condition_without_a_value_is_none() {
        for (text, part) in [
            ("rust tag:", Some("tag:")),
            ("-before: ", Some("before:")),
            ("[rating:>] rust", Some("[rating:>]")),
            ("[ rating : <= ]", Some("[ rating : <= ]")),
            ("\"tag:\"", None),
            ("in: which path is it", None),
            ("note: 10: http: [ERROR:] [10:] [x] [status] [rating:>3] tag:a", None),
        ] {
            assert_eq!(condition_without_value(text), part, "{text}");
        }
    }

    #[test]
    fn a_megabyte_costs_no_more_than_a_page() {
        let parsed = ParsedQuery::new(&"word ".repeat(200_000));
        assert_eq!(parsed.keyword.words.len(), MAX_WORDS);
        assert!(parsed.semantic.len() <= MAX_SEMANTIC_BYTES);
    }

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn never_panics(text in "\\PC{0,80}|[\"\\-a ]{0,40}|((lex|vec|HYDE|intent):[ é]?|a |\\n|-){0,9}|([+\\-]?\\[?(tag|has|after|a):?[<>=\"é ]{0,2}[a\\]]{0,2} ?){0,6}") {
            let _ = ParsedQuery::new(&text);
            let around = Surroundings { at: Timestamp::MAX, has_property: &|_| true, is_there: &|_| true };
            let _ = ParsedQuery::read(&text, &around);
        }
    }
}
