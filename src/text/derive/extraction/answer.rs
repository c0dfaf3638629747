//! What a chat model answers, of which nothing is believed: JSON somewhere in it, or what is wrong with it.

use serde_json::Value;

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
pub(super) const LISTS: [&str; 5] = ["text", "topics", "decisions", "dates", "actions"];

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
pub(super) fn read_object(text: &str) -> Result<Value, String> {
    if text.len() > MOST_BYTES {
        return Err(format!("it has {} bytes, and {MOST_BYTES} are read", text.len()));
    }
    // What it thought may have braces, too, and what it found may quote such a tag.
    let (first, last) = (text.find(THOUGHT_END), text.rfind(THOUGHT_END));
    let is_thought = first.is_some_and(|end| text[..end].contains("<think"));
    let behind = |end: usize| &text[end + THOUGHT_END.len()..];
    let whole = (last.is_none() || !is_thought).then_some(text);
    let parts = [last.map(behind), first.filter(|_| first != last).map(behind), whole];
    let mut problem = None;
    for part in parts.into_iter().flatten() {
        match object_in(part) {
            Ok(object) => return Ok(object),
            Err(error) => _ = problem.get_or_insert(error),
        }
    }
    Err(problem.unwrap_or_default())
}

/// The object from the first brace of a text to the last.
fn object_in(text: &str) -> Result<Value, String> {
    if text.trim().is_empty() {
        return Err("it is empty".into());
    }
    let (Some(first), Some(last)) = (text.find('{'), text.rfind('}')) else {
        return Err("there is no JSON object in it".into());
    };
    if last < first {
        return Err("there is no JSON object in it".into());
    }
    serde_json::from_str(&text[first..=last]).map_err(|error| {
        format!("it is no JSON from line {}, column {} of the object on", error.line(), error.column())
    })
}

#[cfg(test)]
mod tests {
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
