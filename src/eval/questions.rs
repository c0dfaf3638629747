//! Questions with the places that answer them, as a person writes them down.

use serde::Deserialize;

use super::target::Relevant;

/// A question, and where its answers are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Question {
    /// What is searched for.
    pub query: String,
    /// The places that answer; none when nothing does.
    pub targets: Vec<Relevant>,
    /// The heading that it stands under; empty in JSON Lines.
    pub section: String,
}

/// Why a file has no questions.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QuestionsError {
    /// A line of JSON Lines is none.
    #[error("line {line}: {reason}")]
    Json {
        /// From 1.
        line: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is none.
    #[error("there is no question: write list items like `- query → notes/a.md#L3-L8` or `- query → [[note#heading]]`")]
    None,
}

/// Reads questions: list items of Markdown, `- query → target, target`, or JSON Lines, `{"query": …, "relevant": [target, …]}`. All else of
/// a Markdown page is prose.
///
/// # Errors
/// When a line is not JSON where the first is, or there is no question.
pub(crate) fn read(text: &str) -> Result<Vec<Question>, QuestionsError> {
    let text = text.trim_start_matches('\u{feff}');
    let questions = if text.trim_start().starts_with('{') { json_lines(text)? } else { markdown(text) };
    if questions.is_empty() { Err(QuestionsError::None) } else { Ok(questions) }
}

fn markdown(text: &str) -> Vec<Question> {
    let mut section = String::new();
    let mut questions = Vec::new();
    for line in text.lines() {
        if let Some(heading) = line.strip_prefix('#') {
            section = heading.trim_start_matches('#').trim().to_owned();
        }
        let Some(item) = ["- ", "* ", "+ "].iter().find_map(|marker| line.trim_start().strip_prefix(marker)) else {
            continue;
        };
        let (query, targets) = match item.split_once(" → ").or_else(|| item.split_once(" -> ")) {
            Some((query, targets)) => (query, split(targets)),
            None => (item, Vec::new()),
        };
        if !query.trim().is_empty() {
            questions.push(Question { query: query.trim().to_owned(), targets, section: section.clone() });
        }
    }
    questions
}

/// Cuts at commas, but for those within a path: what has folders ends with its lines or heading or with `.md`, where any follows.
fn split(targets: &str) -> Vec<Relevant> {
    let mut found = Vec::new();
    let mut rest = targets.trim();
    while !rest.is_empty() {
        let end = match rest.strip_prefix("[[") {
            Some(link) => link.find("]]").map_or(rest.len(), |end| end + "[[]]".len()),
            None => {
                rest.match_indices(", ").map(|(at, _)| at).find(|at| is_whole(&rest[..*at], rest)).unwrap_or(rest.len())
            }
        };
        let one = rest[..end].trim_start_matches("[[").trim_end_matches("]]");
        let one = one.split_once('|').map_or(one, |(target, _)| target);
        found.extend(Relevant::parse(one));
        rest = rest[end..].trim_start_matches([',', ' ']);
    }
    found
}

fn is_whole(target: &str, rest: &str) -> bool {
    target.ends_with(".md") || target.contains('#') || !target.contains('/') || !rest.contains(".md")
}

#[derive(Deserialize)]
struct JsonQuestion {
    query: String,
    #[serde(default)]
    relevant: Vec<JsonTarget>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum JsonTarget {
    Text(String),
    Lines { path: String, lines: Option<(u32, u32)> },
}

fn json_lines(text: &str) -> Result<Vec<Question>, QuestionsError> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines
        .map(|(at, line)| {
            let wrong = |reason: String| QuestionsError::Json { line: at + 1, reason };
            let JsonQuestion { query, relevant } =
                serde_json::from_str(line).map_err(|error| wrong(error.to_string()))?;
            if query.trim().is_empty() {
                return Err(wrong("`query` is empty".into()));
            }
            let target = |target: &JsonTarget| match target {
                JsonTarget::Text(text) => Relevant::parse(text.trim_start_matches("[[").trim_end_matches("]]")),
                JsonTarget::Lines { path, lines: None } => Relevant::parse(path),
                JsonTarget::Lines { path, lines: Some((first, last)) } => {
                    Relevant::parse(&format!("{path}#L{first}-L{last}"))
                }
            };
            let targets = relevant.iter().map(target).collect::<Option<Vec<_>>>();
            let targets = targets.ok_or_else(|| wrong("a target names no note".to_owned()))?;
            Ok(Question { query, targets, section: String::new() })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::proptest_config;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(2000))]
        #[test]
        fn whatever_a_file_has_its_questions_are_questions(
            text in "\\PC{0,60}|(([#\\-*+] |  |\u{feff})?(a|é|\\[\\[|\\]\\]|#L?[0-9]{0,12}|-L3| → | -> |, |\"|\\|)*\\n){0,6}|(\\{\"query\":(\"a?\"|1)(,\"relevant\":(\\[(\"[a#L\\-0-9\\[\\]]{0,6}\",?)*\\]|\\[\\{\"path\":\"e\",\"lines\":\\[-?[0-9]{1,11},[0-9]\\]\\}\\]))?\\}?\\n){1,4}",
        ) {
            match read(&text) {
                Ok(questions) => prop_assert!(!questions.is_empty() && questions.iter().all(|question| !question.query.trim().is_empty())),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    fn said(text: &str) -> Vec<(String, Vec<String>)> {
        let said =
            |question: &Question| (question.query.clone(), question.targets.iter().map(Relevant::to_string).collect());
        read(text).unwrap().iter().map(said).collect()
    }

    #[test]
    fn questions_are_list_items_and_all_else_is_prose() {
        let text = "# Mine\n\nSome prose.\n\n## One\n\n- a → b → c.md#L1-L2\n* nothing answers\n\n## Two\n\n- d -> [[e#F, g|h]], Notes/a, b.md#L3, x.md, Y\n";
        assert_eq!(
            said(text),
            [
                ("a".to_owned(), vec!["b → c.md#L1-L2".to_owned()]),
                ("nothing answers".to_owned(), vec![]),
                ("d".to_owned(), ["e#F, g", "Notes/a, b.md#L3-L3", "x.md", "Y"].map(str::to_owned).to_vec()),
            ]
        );
        let sections: Vec<String> = read(text).unwrap().into_iter().map(|question| question.section).collect();
        assert_eq!(sections, ["One", "One", "Two"]);
        assert_eq!(read("only prose"), Err(QuestionsError::None));
    }

    #[test]
    fn questions_are_json_lines_too() {
        let text = "{\"query\":\"a\",\"relevant\":[\"b.md#L1-L2\",\"[[c#d]]\",{\"path\":\"e.md\",\"lines\":[3,4]}]}\n\n{\"query\":\"f\"}\n";
        let targets = ["b.md#L1-L2", "c#d", "e.md#L3-L4"].map(str::to_owned).to_vec();
        assert_eq!(said(text), [("a".to_owned(), targets), ("f".to_owned(), vec![])]);
        assert!(matches!(read("{\"query\":\"a\"}\nnonsense"), Err(QuestionsError::Json { line: 2, .. })));
        assert!(matches!(read("{\"query\":\"a\",\"relevant\":[\"\"]}"), Err(QuestionsError::Json { line: 1, .. })));
        assert!(matches!(read("{\"query\":\" \"}"), Err(QuestionsError::Json { line: 1, .. })));
    }
}
