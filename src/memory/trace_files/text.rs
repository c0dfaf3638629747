//! The texts of an event: which there are, and what goes out of them.

use std::collections::HashMap;
use std::ops::Range;

use serde_json::{Map, Value};

use crate::text::derive::words::is_word;
use crate::text::derive::{is_a_sentence, parts_nothing, plain};
use crate::vault::forgotten::TextPart;

/// The fields of an event that may hold what somebody has said; the others are names and numbers.
const TEXTS: [&str; 4] = ["payload", "error", "backend_name", "model"];
/// Maximum depth to which JSON within a text of JSON is looked into.
const MAX_DEPTH: usize = 4;

/// What becomes of a text that a name may stand before; `None` where it stays.
type TextChange<'c> = dyn FnMut(Option<&str>, &str) -> Option<String> + 'c;

/// Changes every text of an event, names of fields and JSON within texts included; says whether any was changed.
pub(crate) fn change_texts(event: &mut Value, change: &mut TextChange<'_>) -> bool {
    let fields = TEXTS.iter();
    fields.fold(false, |any, field| event.get_mut(field).is_some_and(|value| walk(value, None, 0, change)) | any)
}

fn walk(value: &mut Value, name: Option<&str>, depth: usize, change: &mut TextChange<'_>) -> bool {
    match value {
        Value::String(text) => {
            let inner = within(text, depth, change);
            let changed = change(name, inner.as_deref().unwrap_or(text)).or(inner);
            let Some(changed) = changed else { return false };
            *text = changed;
            true
        }
        Value::Array(items) => items.iter_mut().fold(false, |any, item| walk(item, name, depth, change) | any),
        Value::Object(fields) => {
            let mut any = false;
            let changed = std::mem::take(fields).into_iter().map(|(name, mut field)| {
                any |= walk(&mut field, Some(&name), depth, change);
                let renamed = change(None, &name);
                any |= renamed.is_some();
                (renamed.unwrap_or(name), field)
            });
            *fields = changed.collect::<Map<String, Value>>();
            any
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// A text that is JSON itself, changed; `None` where it is none, or stays.
fn within(text: &str, depth: usize, change: &mut TextChange<'_>) -> Option<String> {
    (depth < MAX_DEPTH && text.trim_start().starts_with(['{', '['])).then_some(())?;
    let mut value: Value = serde_json::from_str(text).ok()?;
    walk(&mut value, None, depth + 1, change).then(|| value.to_string())
}

/// The sentences and paragraphs that are looked for, by their first word.
#[derive(Debug, Default)]
pub(super) struct TraceNeedles(HashMap<String, Vec<Vec<String>>>);

impl TraceNeedles {
    /// Of parts of texts that are to go. What says too little to be told from other texts is not looked for.
    pub(super) fn of(parts: &[TextPart]) -> Self {
        let mut needles: HashMap<String, Vec<Vec<String>>> = HashMap::new();
        for part in parts.iter().filter(|part| is_a_sentence(&part.words)) {
            let words: Vec<String> = part.words.split(' ').map(str::to_owned).collect();
            needles.entry(words[0].clone()).or_default().push(words);
        }
        // The longest first: a paragraph goes before its sentences.
        needles.values_mut().for_each(|all| all.sort_by_key(|words| std::cmp::Reverse(words.len())));
        Self(needles)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// A text without them; `None` where it has none.
    pub(super) fn without(&self, text: &str) -> Option<String> {
        if self.is_empty() {
            return None;
        }
        let words = words(text);
        let (mut left, mut kept, mut at) = (String::new(), 0, 0);
        while at < words.len() {
            let found = self.0.get(&words[at].0).and_then(|all| {
                let fits = |parts: &&Vec<String>| {
                    let there = words.get(at..at + parts.len());
                    there.is_some_and(|there| there.iter().zip(*parts).all(|((word, _), part)| word == part))
                };
                all.iter().find(fits)
            });
            let Some(parts) = found else {
                at += 1;
                continue;
            };
            let (start, last) = (words[at].1.start, words[at + parts.len() - 1].1.end);
            left.push_str(&text[kept..start]);
            let marks = text[last..].chars().take_while(|mark| matches!(mark, '.' | '!' | '?' | '\u{3002}'));
            kept = last + marks.map(char::len_utf8).sum::<usize>();
            at += parts.len();
        }
        (kept > 0).then(|| left + &text[kept..])
    }
}

/// The words of a text as what is said has them, each with where it is.
fn words(text: &str) -> Vec<(String, Range<usize>)> {
    // Apostrophes and what is not seen part no words.
    let is_within = |character: char| is_word(character) || parts_nothing(character);
    let (mut words, mut at) = (Vec::new(), 0);
    for piece in text.split_inclusive(|character| !is_within(character)) {
        let word = piece.trim_end_matches(|character| !is_within(character));
        let span = at..at + word.len();
        at += piece.len();
        let parts = plain(word);
        let parts = parts.split(' ').filter(|part| !part.is_empty());
        words.extend(parts.map(|part| (part.to_owned(), span.clone())));
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_text_is_reached_and_nothing_else_changes() {
        let mut value = json!({ "a": ["x", { "b": "y" }], "n": 1, "j": "{\"k\": \"x\", \"l\": [1.50]}", "x": null });
        let mut seen = Vec::new();
        let changed = walk(&mut value, None, 0, &mut |name, text| {
            seen.push((name.map(str::to_owned), text.to_owned()));
            (text == "x").then(|| "-".to_owned())
        });
        assert!(changed);
        assert_eq!(value, json!({ "a": ["-", { "b": "y" }], "n": 1, "j": "{\"k\":\"-\",\"l\":[1.5]}", "-": null }));
        assert!(seen.contains(&(Some("b".into()), "y".into())) && seen.contains(&(Some("k".into()), "x".into())));
        let mut same = json!({ "j": "{ \"k\": 1.50 }" });
        assert!(!walk(&mut same, None, 0, &mut |_, _| None));
        assert_eq!(same, json!({ "j": "{ \"k\": 1.50 }" }), "what stays stays as it was written");
    }

    #[test]
    fn a_sentence_is_found_between_others() {
        let note = "# Keys\n\nThe key lies under the *third* pot, dear. Bring it back.\n\n- PIN 4711\n- I like tea\n"
            .to_owned();
        let needles = TraceNeedles::of(&crate::vault::forgotten::parts_of(&[note]));
        let without = |text: &str| needles.without(text);
        assert_eq!(
            without("Known: the KEY lies under the third pot, dear. (notes/a.md#L3) Go on.").unwrap(),
            "Known:  (notes/a.md#L3) Go on."
        );
        assert_eq!(without("say pin 4711!").unwrap(), "say ");
        assert_eq!(without("The key lies under the third pot, dear. Bring it back. x").unwrap(), " x");
        for other in ["The key lies under the fourth pot, dear.", "Do you know that I like tea?", "", "PIN 47", "Keys"]
        {
            assert_eq!(without(other), None, "{other}");
        }
    }
}
