use memory_vault::access::request::ErrorKind;
use memory_vault::base::config::StemmerLanguage;
use memory_vault::index::search::{Highlighter, ParsedQuery, snippet};
use memory_vault::serve::wire::SearchQuery;
use memory_vault::vault::notes;

use super::Vault;

/// A query is words, never an error; a parameter is understood or named; and hits pass the filters.
///
/// The first line is the query, in which `\n` stands for a new line; `name=value` lines follow.
pub fn query(vault: &Vault, data: &[u8]) {
    let text = super::text(data);
    let (q, rest) = text.split_once('\n').unwrap_or((text, ""));
    let q = q.replace("\\n", "\n");
    parsed(&q, text);
    let mut params = SearchQuery { q, ..SearchQuery::default() };
    for (name, value) in rest.lines().filter_map(|line| line.split_once('=')) {
        let value = Some(value.to_owned());
        match name {
            "collection" => params.collection = value,
            "tag" => params.tag = value,
            "path" => params.path = value,
            "since" => params.since = value,
            "until" => params.until = value,
            "context" => params.context = value.and_then(|value| value.parse().ok()),
            "min_score" => params.min_score = value.and_then(|value| value.parse().ok()),
            "timeout_ms" => params.timeout_ms = value.and_then(|value| value.parse().ok()),
            "set" => params.set = value,
            "limit" => params.limit = value.and_then(|value| value.parse().ok()),
            "mode" => params.mode = value.and_then(|value| serde_json::from_value(value.into()).ok()),
            _ => {}
        }
    }
    match notes::search(&vault.app().owner(), &params) {
        Ok(answer) => {
            assert!(params.set.is_some() || answer.results.len() <= params.limit.unwrap_or(10));
            for hit in &answer.results {
                assert!(params.collection.as_ref().is_none_or(|wanted| hit.chunk.collection == *wanted), "{params:?}");
                assert!(params.path.as_ref().is_none_or(|wanted| hit.chunk.path.starts_with(wanted)), "{params:?}");
                assert!(hit.score.is_finite() && !hit.snippet.is_empty());
            }
            assert!(answer.results.windows(2).all(|pair| pair[0].score >= pair[1].score), "best first");
        }
        Err(error) => {
            assert_eq!(error.kind, ErrorKind::Invalid, "{error}");
            assert!(error.message.starts_with('`'), "{error} names no parameter");
        }
    }
}

fn parsed(query: &str, text: &str) {
    let parsed = ParsedQuery::new(query);
    let keyword = &parsed.keyword;
    let runs = keyword.phrases.iter().chain(&keyword.excluded);
    let words = keyword.words.len() + runs.clone().map(Vec::len).sum::<usize>();
    assert!(words <= 64 && parsed.semantic.len() <= 4000);
    assert!(keyword.words.iter().chain(runs.flatten()).all(|word| !word.is_empty()));
    if let Some(relaxed) = parsed.relaxed() {
        assert!(relaxed.keyword.phrases.iter().all(|phrase| phrase.len() == 1) && !relaxed.is_empty());
    }

    let mut highlighter = Highlighter::new(query, StemmerLanguage::English);
    let matches = highlighter.matches(text);
    assert!(matches.iter().all(|range| text.get(range.clone()).is_some_and(|word| !word.is_empty())));
    assert!(matches.windows(2).all(|pair| pair[0].end <= pair[1].start));
    for max_chars in [50, 120] {
        let shown = snippet(text, &mut highlighter, max_chars);
        assert!(shown.chars().count() <= max_chars && text.contains(shown.trim_matches('…')), "{shown:?}");
    }
}
