//! What a chat model answers, of which nothing is believed: JSON somewhere in it, or what is wrong with it; and which of its claims stand: an
//! entry has a quote of its lines, and its numbers and names are in that quote. Whether what was said is meant, denied or over is for the
//! person to judge, who reviews it.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;
use unicode_segmentation::UnicodeSegmentation;

use super::prompt::MOST_ENTRIES;
use crate::base::config::MemoryKind;
use crate::base::redact::redact;
use crate::text::derive::conversation::Voice;
use crate::text::derive::plain;
use crate::text::derive::words::{fold, is_parted_within, is_the_person};

/// Maximum length of an entry or a line of a summary, in characters.
const MOST_CHARS: usize = 300;
/// Lines that one of them may come from.
const MOST_LINES: usize = 40;
/// Tags of an entry, and characters of one.
const MOST_TAGS: usize = 5;
const MOST_TAG_CHARS: usize = 30;
/// Entries of an answer that are looked at, and lines of each list of its summary.
const MOST_LOOKED_AT: usize = 64;
const MOST_LOOKED_AT_IN_A_LIST: usize = 24;
/// Lines of each list of a summary: as many as rules give.
const MOST_LISTED: usize = 8;
/// Where the model does not say how sure it is.
const USUAL_CONFIDENCE: f64 = 0.8;

/// Maximum length of an answer that is read, in bytes: some thousand times what was asked for is none.
const MOST_BYTES: usize = 512 << 10;

/// An answer as it was given.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ExtractionAnswer {
    /// The lists of the summary, by their names, each item as it came.
    pub(crate) summary: Vec<(&'static str, Vec<Value>)>,
    /// The entries as they came.
    pub(crate) entries: Vec<Value>,
}

/// With what a model ends to think.
const THOUGHT_END: &str = "</think>";

/// The lists of a summary.
const LISTS: [&str; 5] = ["text", "topics", "decisions", "dates", "actions"];

/// Reads an answer: the first object in it, in a code block or among other words.
///
/// # Errors
/// What is wrong with it, as the end of a sentence. Nothing of the answer is quoted.
pub(crate) fn read_extraction(text: &str) -> Result<ExtractionAnswer, String> {
    let json = read_object(text)?;
    let Some(Value::Array(entries)) = json.get("entries") else { return Err("it has no list `entries`".into()) };
    let summary = match json.get("summary") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::Object(summary)) => {
            let list = |name: &'static str| match summary.get(name) {
                None | Some(Value::Null) => Ok((name, Vec::new())),
                Some(Value::Array(items)) => Ok((name, items.clone())),
                Some(_) => Err(format!("`summary.{name}` is no list")),
            };
            LISTS.into_iter().map(list).collect::<Result<_, _>>()?
        }
        Some(_) => return Err("`summary` is no object".into()),
    };
    Ok(ExtractionAnswer { summary, entries: entries.clone() })
}

/// The first object in an answer; an error as of [`read_extraction`].
fn read_object(text: &str) -> Result<Value, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("it has {} bytes, and {MOST_BYTES} are read", text.len()));
    }
    // What it thought may have braces, too, and what it found may quote such a tag.
    let Some(end) = text.find(THOUGHT_END) else { return object_in(text) };
    let answer = object_in(&text[end + THOUGHT_END.len()..]);
    if text[..end].contains("<think") { answer } else { answer.or_else(|_| object_in(text)) }
}

/// The object from the first brace of a text to the last.
fn object_in(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("it is empty".into());
    }
    let object = text.find('{').zip(text.rfind('}')).and_then(|(first, last)| text.get(first..=last));
    serde_json::from_str(object.ok_or("there is no JSON object in it")?).map_err(|error| {
        format!("it is no JSON from line {}, column {} of the object on", error.line(), error.column())
    })
}

/// What of an answer stands.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct CheckedAnswer {
    /// The entries, in the order of the conversation.
    pub(crate) entries: Vec<CheckedEntry>,
    /// The lists of the summary: `text`, `topics`, `decisions`, `dates`, `actions`.
    pub(crate) summary: Vec<(&'static str, Vec<CheckedLine>)>,
    /// Why others were dropped, and how many for each reason.
    pub(crate) dropped: BTreeMap<&'static str, usize>,
}

/// An entry that the conversation says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckedEntry {
    /// What it is.
    pub(crate) kind: MemoryKind,
    /// It, in one line.
    pub(crate) text: String,
    /// How sure the model is, from 0 to 1.
    pub(crate) confidence: f64,
    /// Single words.
    pub(crate) tags: Vec<String>,
    /// From when on it is so, as `2026-01-31`, where the lines say that.
    pub(crate) valid_from: Option<String>,
    /// The first and the last of its lines.
    pub(crate) lines: (usize, usize),
    /// Who said it; of several the one who is trusted least.
    pub(crate) voice: Voice,
}

/// A line of a summary that the conversation says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CheckedLine {
    /// It, in one line.
    pub(crate) text: String,
    /// The first and the last of its lines.
    pub(crate) lines: (usize, usize),
}

/// The lines that were shown, by their numbers.
type ShownLines = BTreeMap<usize, (Voice, String)>;

/// Holds an answer against the lines that were shown. `date` is that of the conversation.
pub(crate) fn check_extraction(answer: &ExtractionAnswer, shown: &ShownLines, date: Option<&str>) -> CheckedAnswer {
    let (mut dropped, mut said) = (BTreeMap::new(), HashSet::new());
    let mut drop = |reason: &'static str, count: usize| *dropped.entry(reason).or_insert(0) += count;
    // What nobody asked for is not looked at, whatever it would cost.
    let listed = answer.summary.iter().map(|(_, items)| items.len().saturating_sub(MOST_LOOKED_AT_IN_A_LIST));
    drop("too many", answer.entries.len().saturating_sub(MOST_LOOKED_AT) + listed.sum::<usize>());
    let (mut entries, mut summary) = (Vec::new(), Vec::new());
    for entry in answer.entries.iter().take(MOST_LOOKED_AT) {
        match checked_entry(entry, shown, date) {
            Ok(entry) if said.insert(plain(&entry.text)) => entries.push(entry),
            Ok(_) => drop("said twice", 1),
            Err(reason) => drop(reason, 1),
        }
    }
    entries.sort_by(|one, two| two.confidence.total_cmp(&one.confidence));
    drop("too many", entries.len().saturating_sub(MOST_ENTRIES));
    entries.truncate(MOST_ENTRIES);
    entries.sort_by_key(|entry| entry.lines);
    for (name, items) in &answer.summary {
        let mut list = Vec::new();
        for item in items.iter().take(MOST_LOOKED_AT_IN_A_LIST) {
            match checked_line(item, shown) {
                Ok((line, _)) if list.len() < MOST_LISTED => list.push(line),
                Ok(_) => drop("too many", 1),
                Err(reason) => drop(reason, 1),
            }
        }
        summary.push((*name, list));
    }
    dropped.retain(|_, count| *count > 0);
    CheckedAnswer { entries, summary, dropped }
}

fn checked_entry(entry: &Value, shown: &ShownLines, date: Option<&str>) -> Result<CheckedEntry, &'static str> {
    let kind = entry.get("kind").and_then(Value::as_str).and_then(MemoryKind::of).ok_or("no kind of entry")?;
    let (CheckedLine { text, lines }, said) = checked_line(entry, shown)?;
    let voices = shown.range(lines.0..=lines.1).map(|(_, (voice, _))| *voice);
    let voice = voices.min().ok_or("no such lines")?;
    if voice != Voice::Person && !matches!(kind, MemoryKind::Decision | MemoryKind::Commitment) {
        return Err("not said by the person");
    }
    let quote = entry.get("quote").and_then(Value::as_str).unwrap_or_default();
    let words = plain(quote);
    if words.is_empty() || !plain(&said).contains(&words) {
        return Err("quote not in its lines");
    }
    is_said(&text, quote)?;
    let confidence = entry.get("confidence").and_then(Value::as_f64).unwrap_or(USUAL_CONFIDENCE);
    let valid_from = entry.get("valid_from").and_then(Value::as_str).map(str::trim);
    Ok(CheckedEntry {
        kind,
        confidence: (confidence.clamp(0.0, 1.0) * 100.0).round() / 100.0,
        tags: entry.get("tags").and_then(Value::as_array).map(|tags| checked_tags(tags)).unwrap_or_default(),
        valid_from: valid_from.filter(|from| is_said_date(from, &said, date)).map(str::to_owned),
        lines,
        text,
        voice,
    })
}

/// A text with the lines that it names, and what those say.
fn checked_line(item: &Value, shown: &ShownLines) -> Result<(CheckedLine, String), &'static str> {
    let text = short_text(item)?;
    let lines = lines_of(item.get("lines"), shown).ok_or("no such lines")?;
    let said: Vec<&str> = shown.range(lines.0..=lines.1).map(|(_, (_, text))| text.as_str()).collect();
    let said = said.join("\n");
    is_said(&text, &said)?;
    Ok((CheckedLine { text, lines }, said))
}

/// The text of an item, on one line.
fn short_text(item: &Value) -> Result<String, &'static str> {
    let text = item.get("text").and_then(Value::as_str).ok_or("no text")?;
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let text = text.trim_start_matches(['-', '*', ' ']);
    let text: String = text.chars().filter(|character| !character.is_control() && !misleads(*character)).collect();
    if text.is_empty() || text.chars().count() > MOST_CHARS {
        return Err("no short text");
    }
    Ok(text)
}

/// Whether a sign is not seen and turns what is around it, or hides words.
fn misleads(sign: char) -> bool {
    matches!(sign, '\u{200b}' | '\u{202a}'..='\u{202e}' | '\u{2060}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{e0000}'..='\u{e007f}')
}

/// Whether the numbers and names of a text were said; else why it is dropped.
fn is_said(text: &str, said: &str) -> Result<(), &'static str> {
    if redact(text) != text || text.contains("[redacted") {
        return Err("a secret");
    }
    if !numbers(text).is_subset(&numbers(said)) {
        return Err("number not said");
    }
    if lacking_name(text, said).is_some() {
        return Err("name not said");
    }
    Ok(())
}

/// The numbers of a text that are written in digits, as they are compared: without marks of thousands and zeros in front, `8:00` as `8`. Of what has more
/// than two parts, as a date, each may be meant by itself.
fn numbers(text: &str) -> BTreeSet<String> {
    static THOUSANDS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[,.'\u{2019}](\p{N}{3})\b").expect("a test uses it"));
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\p{N}+(?:[,.:/]\p{N}+)*").expect("a test uses it"));
    let text = fold(text);
    let mut found = BTreeSet::new();
    for number in NUMBER.find_iter(&THOUSANDS.replace_all(&text, "$1")) {
        let number = number.as_str().trim_end_matches(":00");
        let parts: Vec<&str> = number.split([',', '.', ':', '/']).map(|part| part.trim_start_matches('0')).collect();
        found.extend(parts.iter().filter(|_| parts.len() > 2).map(|part| (*part).to_owned()));
        found.insert(parts.join("."));
    }
    found
}

fn number(value: &Value) -> Option<usize> {
    usize::try_from(value.as_u64()?).ok()
}

fn lines_of(lines: Option<&Value>, shown: &ShownLines) -> Option<(usize, usize)> {
    let (first, last) = match lines? {
        Value::Array(both) => (number(both.first()?)?, number(both.last()?)?),
        one => (number(one)?, number(one)?),
    };
    let is_there = shown.contains_key(&first) && shown.contains_key(&last);
    (is_there && first <= last && last - first < MOST_LINES).then_some((first, last))
}

fn checked_tags(tags: &[Value]) -> Vec<String> {
    let is_tag = |tag: &String| {
        let letters = tag.chars().any(char::is_alphabetic);
        letters
            && tag.chars().count() <= MOST_TAG_CHARS
            && tag.chars().all(|c| c.is_alphanumeric() || matches!(c, '-' | '_'))
    };
    let tags = tags.iter().filter_map(|tag| Some(tag.as_str()?.trim().trim_start_matches('#').to_lowercase()));
    // What hides a note is the person's to say.
    let mut tags: Vec<String> = tags.filter(is_tag).filter(|tag| tag != "private").take(MOST_TAGS).collect();
    tags.dedup();
    tags
}

/// Whether a date is that of the conversation, or its day and year are in the lines.
fn is_said_date(from: &str, said: &str, date: Option<&str>) -> bool {
    let Ok(day) = from.parse::<jiff::civil::Date>() else { return false };
    let there = numbers(said);
    let has = |number: i16| there.contains(&number.to_string());
    date.is_some_and(|date| date.starts_with(from))
        || (has(i16::from(day.day())) && (has(day.year()) || has(i16::from(day.month()))))
}

/// What may stand between the end of a sentence and the next.
const OPENING: &str = "\"'“„«»([*_-–—¿¡#";

/// The first name of a sentence that some words lack: what has a capital and begins no sentence.
fn lacking_name<'s>(sentence: &'s str, said: &str) -> Option<&'s str> {
    let said: BTreeSet<String> = said.unicode_words().map(fold).collect();
    let is_said = |name: &str| said.contains(name) || said.iter().any(|word| is_like(name, word));
    let mut words = sentence.unicode_word_indices();
    let lacking = words.find(|(start, word)| {
        let is_name = word.chars().skip(1).any(char::is_uppercase)
            || word.starts_with(char::is_uppercase) && !begins(&sentence[..*start]);
        let folded = fold(word);
        is_name && !is_the_person(&folded) && !is_said(&folded)
    });
    lacking.map(|(_, word)| word)
}

/// Whether a sentence begins behind a text.
fn begins(before: &str) -> bool {
    let before = before.trim_end_matches(|mark: char| mark.is_whitespace() || OPENING.contains(mark));
    before.is_empty() || before.ends_with(['.', '!', '?', '…', '。'])
}

/// Whether two words are the same but for their ends, as `Anna` and `Annas`.
fn is_like(one: &str, other: &str) -> bool {
    let common = one.chars().zip(other.chars()).take_while(|(one, other)| one == other).count();
    let lengths = (one.chars().count(), other.chars().count());
    common >= 3
        && common + 1 >= lengths.0.min(lengths.1)
        && lengths.0.max(lengths.1) - common <= 3
        && !one.contains(|character: char| character.is_ascii_digit() || is_parted_within(character))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::text::derive::conversation::read_turns;

    const SAID: &str = "**18:32 · user:** I moved to Bonn on 3 May 2026 with 2 cats.\n\
        **18:33 · bot:** You like dogs. We decided to use tabs.\n\
        **18:34 · user:** I do not like dogs, and my password: hunter2butlonger.\n";

    /// An entry that quotes the whole line.
    fn entry(text: &str, lines: (usize, usize), quote: &str) -> Value {
        json!({"kind": "fact", "text": text, "lines": [lines.0, lines.1], "quote": quote})
    }

    fn shown(said: &str) -> ShownLines {
        let turns = read_turns(said, &[]).into_iter();
        turns.flat_map(|turn| turn.lines.into_iter().map(move |line| (line.number, (turn.voice, line.text)))).collect()
    }

    fn check(entries: Value) -> CheckedAnswer {
        let entries = entries.as_array().unwrap().clone();
        let answer = ExtractionAnswer { entries, summary: Vec::new() };
        check_extraction(&answer, &shown(SAID), Some("2026-05-04"))
    }

    #[track_caller]
    fn is_dropped(entry: Value, reason: &str) {
        let checked = check(json!([entry]));
        assert_eq!(checked.dropped.keys().copied().collect::<Vec<_>>(), [reason], "{checked:?}");
    }

    #[test]
    fn what_the_lines_say_stands() {
        let checked = check(json!([
            {"kind": "decision", "text": "Decided to use tabs", "confidence": 7, "lines": [2, 2], "quote": "we decided\n to use TABS"},
            {"kind": "Fact", "text": "- Moved \u{202e}to Bonn\nwith 2 cats\u{e0041}", "confidence": 0.951, "tags": ["Bonn", "#pets", "a b", "private", 3],
             "valid_from": "2026-05-03", "lines": [1], "quote": "I moved to Bonn on 3 May 2026 with 2 cats"},
            {"kind": "fact", "text": "Moved to Bonn with two cats.", "lines": 1, "quote": "moved to Bonn on 3 May 2026 with 2 cats"},
            {"kind": "preference", "text": "Likes dogs", "lines": 3, "quote": "like dogs"},
        ]));
        assert_eq!(checked.dropped, BTreeMap::new());
        let fact = &checked.entries[0];
        assert_eq!((fact.text.as_str(), fact.confidence, fact.lines), ("Moved to Bonn with 2 cats", 0.95, (1, 1)));
        assert_eq!((fact.tags.join(" "), fact.valid_from.as_deref()), ("bonn pets".into(), Some("2026-05-03")));
        assert_eq!(fact.voice, Voice::Person);
        let decision = &checked.entries[2];
        assert_eq!((decision.confidence, decision.voice), (1.0, Voice::Agent));
        assert_eq!(checked.entries[3].text, "Likes dogs", "what is meant is for the person to judge");
    }

    #[test]
    fn what_they_do_not_say_is_dropped_for_a_reason() {
        let moved = "I moved to Bonn on 3 May 2026 with 2 cats";
        is_dropped(entry("Moved to Bonn with 5 cats", (1, 1), moved), "number not said");
        is_dropped(entry("Moved to Bonn with 2 cats", (1, 1), "I moved to Bonn"), "number not said");
        is_dropped(entry("Moved to Bonn in June", (1, 1), moved), "name not said");
        is_dropped(entry("Moved to Berlin with 2 cats", (1, 1), moved), "name not said");
        is_dropped(entry("Likes dogs", (2, 2), "You like dogs"), "not said by the person");
        is_dropped(entry("Likes dogs", (2, 3), "You like dogs"), "not said by the person");
        is_dropped(entry("Moved to Bonn", (1, 4), moved), "no such lines");
        is_dropped(entry("Moved to Bonn", (3, 1), moved), "no such lines");
        is_dropped(entry("Moved to Bonn", (0, 1), moved), "no such lines");
        is_dropped(entry("", (1, 1), moved), "no short text");
        is_dropped(entry(&"Bonn ".repeat(100), (1, 1), moved), "no short text");
        is_dropped(entry("My password: hunter2butlonger", (3, 3), "my password: hunter2butlonger"), "a secret");
        is_dropped(json!({"kind": "rumour", "text": "Moved to Bonn", "lines": [1, 1]}), "no kind of entry");
        is_dropped(json!({"kind": "fact", "lines": [1, 1]}), "no text");
        is_dropped(json!("Moved to Bonn"), "no kind of entry");
        for quote in ["I went to Bonn", "We decided to use tabs", "…", ""] {
            is_dropped(entry("Moved to Bonn", (1, 1), quote), "quote not in its lines");
        }
        is_dropped(json!({"kind": "fact", "text": "Moved to Bonn", "lines": [1, 1]}), "quote not in its lines");
        is_dropped(json!({"kind": "fact", "text": "Moved to Bonn", "lines": [1e300, -1]}), "no such lines");
    }

    #[test]
    fn dates_and_names_that_nobody_said_are_dropped() {
        for (said, good, bad) in [
            (
                "Tengo reunión con Ana el martes 5 de mayo",
                "Reunión con Ana el martes 5 de mayo",
                "Reunión con Ana el martes 6 de mayo",
            ),
            ("I meet Anna on Tuesday at noon", "Meets anna on tuesday at noon", "Meets Anna on Wednesday at noon"),
            ("I drink 3.5 litres of water", "Drinks 3.5 litres of water", "Drinks 5.3 litres of water"),
            ("My flight is 03/05/2027 at 08:20", "Flight is 03/05/2027 at 8:20", "Flight is 05/03/2027 at 20:08"),
        ] {
            let shown = BTreeMap::from([(1, (Voice::Person, said.to_owned()))]);
            let item = |text: &str| entry(text, (1, 1), said);
            let answer = ExtractionAnswer {
                entries: vec![item(good), item(bad)],
                summary: vec![("text", vec![item(bad), item(good)])],
            };
            let checked = check_extraction(&answer, &shown, None);
            let texts: Vec<&str> = checked.entries.iter().map(|entry| entry.text.as_str()).collect();
            let lines: Vec<&str> = checked.summary[0].1.iter().map(|line| line.text.as_str()).collect();
            assert_eq!((texts, lines), (vec![good], vec![good]), "{:?}", checked.dropped);
        }
    }

    #[test]
    fn no_more_than_eight_stand_the_surest_first() {
        let entries: Vec<Value> = (0..20)
            .map(|at| json!({"kind": "fact", "text": format!("{} to Bonn with cats", "Moved ".repeat(at % 20 + 1)), "confidence": at as f64 / 20.0, "lines": [1, 1], "quote": "moved to bonn"}))
            .collect();
        let checked = check(json!(entries));
        assert_eq!((checked.entries.len(), checked.dropped["too many"]), (MOST_ENTRIES, 12));
        assert!(checked.entries.iter().all(|entry| entry.confidence >= 0.6));
    }

    #[test]
    fn a_date_that_the_lines_do_not_have_is_left_out() {
        for (from, is_so) in
            [("2026-05-03", true), ("2026-05-04", true), ("2025-01-01", false), ("tomorrow", false), ("", false)]
        {
            let checked = check(
                json!([{"kind": "fact", "text": "Moved to Bonn", "valid_from": from, "lines": [1, 1], "quote": "moved to Bonn"}]),
            );
            assert_eq!(checked.entries[0].valid_from.is_some(), is_so, "{from}");
        }
    }

    #[test]
    fn lines_of_a_summary_cite_turns_or_go() {
        let answer = ExtractionAnswer {
            entries: Vec::new(),
            summary: vec![(
                "topics",
                vec![
                    json!({"text": "Moving to Bonn", "lines": [1, 1]}),
                    json!({"text": "Bonn"}),
                    json!("Bonn"),
                    json!({"text": "Moving to Rome", "lines": [1]}),
                ],
            )],
        };
        let shown = BTreeMap::from([(1, (Voice::Agent, "So you are moving to Bonn".to_owned()))]);
        let checked = check_extraction(&answer, &shown, None);
        assert_eq!(checked.summary[0].1, [CheckedLine { text: "Moving to Bonn".into(), lines: (1, 1) }]);
        assert_eq!(checked.dropped.values().sum::<usize>(), 3);
    }

    #[test]
    fn a_hostile_answer_takes_no_more_time_than_a_good_one() {
        let long = format!("I like {} tea", "green ".repeat(200_000));
        let turns = read_turns(&format!("**18:32 · user:** {long}\n"), &[]);
        let prompt = super::super::prompt::extraction_prompt(&turns, None);
        let sent = &prompt.shown[&1].1;
        assert!(sent.len() <= 2_000 && sent.lines().all(|part| prompt.request.material.contains(part)));
        let item = json!({"kind": "preference", "text": "Likes green tea", "lines": [1], "quote": "I like green"});
        let answer = ExtractionAnswer {
            entries: vec![item.clone(); 9_000],
            summary: vec![("text", vec![item.clone(); 9_000]), ("topics", vec![item; 3])],
        };
        let checked = check_extraction(&answer, &prompt.shown, None);
        assert_eq!(
            (checked.entries.len(), checked.summary[0].1.len(), checked.summary[1].1.len()),
            (1, MOST_LISTED, 3)
        );
        assert_eq!(checked.dropped["too many"], 2 * 9_000 - 64 - MOST_LISTED);
    }

    #[test]
    fn a_name_that_was_not_said_is_found() {
        let said = "I moved to Bonn with Anna's sister, and ich mag Tabs.";
        for (sentence, lacks) in [
            ("Moved to Bonn", None),
            ("Moved to Berlin", Some("Berlin")),
            ("Anna moved to Bonn", None),
            ("A friend, Bob, moved to Bonn", Some("Bob")),
            ("Has to mark the day", None),
            ("Der Nutzer mag Tabs", None),
            ("The user prefers tabs. Lives in Bonn", None),
            ("Uses iPhone", Some("iPhone")),
            ("Lives in: Berlin", Some("Berlin")),
            ("用户住在上海", None),
        ] {
            assert_eq!(lacking_name(sentence, said), lacks, "{sentence}");
        }
    }
}

#[cfg(test)]
mod tests_of_numbers {
    use super::*;

    #[test]
    fn a_number_is_among_those_that_were_said() {
        for (claimed, said, is_so) in [
            ("5.3", "3.5 litres", false),
            ("5", "3.5 litres", false),
            ("05/03/2027", "03/05/2027", false),
            ("20:08", "08:20", false),
            ("8:20", "at 08:20 am", true),
            ("8.20", "08:20", true),
            ("3", "2027-05-03", true),
            ("8", "8:00", true),
            ("$5,000", "5000 dollars", true),
            ("1.500", "１,500 m", true),
            ("10 to 12", "10-12", true),
        ] {
            assert_eq!(numbers(claimed).is_subset(&numbers(said)), is_so, "{claimed} / {said}");
        }
    }
}

#[cfg(test)]
mod tests_of_answers {
    use super::*;

    #[test]
    fn json_is_found_wherever_it_is() {
        for text in [
            r#"{"summary":{"text":[1]},"entries":[2]}"#,
            "Here you are:\n```json\n{\"summary\":{\"text\":[1]},\"entries\":[2]}\n```\nAnything else?",
            "<think>{ hm }</think>{\"summary\":{\"text\":[1],\"more\":3},\"entries\":[2],\"more\":{}}",
        ] {
            let answer = read_extraction(text).unwrap();
            assert_eq!((answer.entries.len(), answer.summary[0].1.len()), (1, 1), "{text}");
        }
        for text in [
            r#"{"entries":[{"text":"Ends with </think>"}]}"#,
            r#"<think>{"entries":[]}</think>{"entries":[{"text":"Ends with </think>"}]}"#,
            r#"{ hm }</think>{"entries":[{"text":"Ends it"}]}"#,
        ] {
            assert_eq!(read_extraction(text).unwrap().entries.len(), 1, "{text}");
        }
        assert!(read_extraction(r#"<think>{"entries":[]}</think>No."#).is_err(), "a draft is no answer");
        assert_eq!(read_extraction(r#"{"entries":[],"summary":null}"#).unwrap(), ExtractionAnswer::default());
    }

    #[test]
    fn what_is_wrong_is_said_without_a_word_of_the_answer() {
        let long = format!("{{\"entries\":[\"{}\"]}}", "x".repeat(10 << 20));
        let deep = format!("{{\"entries\":{}", "[".repeat(100_000));
        for text in [
            "",
            " \n",
            "quokka",
            "}quokka{",
            "{\"entries\":[{\"text\":\"quokka",
            "{\"entries\":{}}",
            "{\"entries\":[],\"summary\":[]}",
            "{\"entries\":[],\"summary\":{\"topics\":\"quokka\"}}",
            "<think>{\"entries\":[]}",
            "[]",
            &long,
            &deep,
        ] {
            let problem = match read_extraction(text) {
                Err(problem) => problem,
                Ok(_) if text.starts_with("<think>") => continue,
                Ok(answer) => panic!("{text}: {answer:?}"),
            };
            assert!(!problem.contains("quokka") && problem.len() < 120, "{problem}");
        }
    }
}
