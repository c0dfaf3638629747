//! What a chat model helps with: a query with other words beside those that were typed, which count less; and the best, which it reads and
//! puts in order anew.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::fuse::{Candidate, min_max, place};
use super::query::ParsedQuery;
use crate::index::engine::{
    EngineError, FileEntry, FileSet, PreparedWords, Reader, ScoredChunk, WordQuery, unless_damaged,
};
use crate::models::{ChatExpander, MOST_RERANKED, ModelAsker, QueryVariants, Reranker};
use crate::text::derive::words::plain_words;

/// Maximum of what all words that were not typed count, of what those do that were.
const OTHER_WORDS: f64 = 0.5;
/// Maximum number of words that are looked for besides.
const MAX_OTHER_WORDS: usize = 24;

/// What is looked for besides what was typed.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Expansion {
    /// All words, those that were typed too; `None` where there are no others.
    pub(super) words: Option<WordQuery>,
    /// What the model reads besides.
    pub(super) meaning: Option<String>,
}

/// Says a query in other words, of which the model is given what was `typed`. One that has lines for one side each says itself what is
/// looked for how.
pub(super) fn expand(query: &ParsedQuery, typed: &str, assistant: &Assistant<'_>) -> Result<Expansion, Unassisted> {
    let Some(expander) = &assistant.expander else { return Ok(Expansion::default()) };
    if query.has_lines || query.only_narrows() || typed.trim().is_empty() {
        return Ok(Expansion::default());
    }
    let expander = expander.as_ref().map_err(|reason| Unassisted::AsTyped(reason.clone()))?;
    // Whoever judges the chunks then has as long.
    let now = Instant::now();
    let left = assistant.until.saturating_duration_since(now);
    let judges = matches!(assistant.reranker, Some(Ok(_)));
    let until = if judges { now + left / 2 } else { assistant.until };
    let ask = || expander.expand(typed, assistant.asker.as_ref(), until).map_err(|error| error.to_string());
    match assistant.asked.variants.get_or_init(ask) {
        Ok(variants) => Ok(Expansion::of(&query.keyword, variants)),
        Err(reason) => Err(Unassisted::AsTyped(reason.clone())),
    }
}

impl Expansion {
    fn of(typed: &WordQuery, variants: &QueryVariants) -> Self {
        let mut all = typed.clone();
        // Words and nothing else: no condition comes of what a model says.
        for word in variants.lex.iter().flat_map(|line| plain_words(line, true)) {
            if all.words.len() == typed.words.len() + MAX_OTHER_WORDS {
                break;
            }
            if !all.words.contains(&word) {
                all.words.push(word);
            }
        }
        let lines = variants.vec.iter().chain([&variants.hyde]).filter(|line| !line.is_empty());
        let meaning = lines.map(String::as_str).collect::<Vec<_>>().join(" ");
        Self { words: (all != *typed).then_some(all), meaning: (!meaning.is_empty()).then_some(meaning) }
    }
}

/// The words that were typed beside all that are looked for.
pub(super) struct ExpandedWords<'a> {
    typed: Rc<dyn PreparedWords + 'a>,
    all: Rc<dyn PreparedWords + 'a>,
    /// The weight of what was not typed.
    others: f64,
}

impl<'a> ExpandedWords<'a> {
    pub(super) fn new(typed: Rc<dyn PreparedWords + 'a>, all: Rc<dyn PreparedWords + 'a>) -> Self {
        // However many there are, they do not outweigh what was typed.
        let added = all.most() - typed.most();
        let others = if added > 0.0 { OTHER_WORDS * (typed.most() / added).min(1.0) } else { 0.0 };
        Self { typed, all, others }
    }
}

impl PreparedWords for ExpandedWords<'_> {
    fn most(&self) -> f64 {
        self.typed.most()
    }

    fn has(&self, word: &str) -> bool {
        self.typed.has(word)
    }

    fn best(&self, k: usize, allow: Option<&FileSet>) -> Result<Vec<ScoredChunk>, EngineError> {
        // Those that have many other words must not take the places of those that have what was typed.
        let (typed, all) = (self.typed.best(k, allow)?, self.all.best(k, allow)?);
        let seen: HashSet<u64> = typed.iter().map(|found| found.row).collect();
        let mut best: Vec<ScoredChunk> =
            typed.into_iter().chain(all.into_iter().filter(|found| !seen.contains(&found.row))).collect();
        let rows: Vec<u64> = best.iter().map(|found| found.row).collect();
        for (found, score) in best.iter_mut().zip(self.scores(&rows)?) {
            found.score = score.unwrap_or_default();
        }
        Ok(best)
    }

    fn scores(&self, rows: &[u64]) -> Result<Vec<Option<f64>>, EngineError> {
        let both = self.typed.scores(rows)?.into_iter().zip(self.all.scores(rows)?);
        Ok(both.map(|(typed, all)| typed.zip(all).map(|(typed, all)| typed + self.others * (all - typed))).collect())
    }
}

/// Who helps a search, and with what.
pub(crate) struct Assistant<'a> {
    /// Who puts the best in order anew, or why nobody does; `None` where nobody is to.
    pub(crate) reranker: Option<Result<&'a dyn Reranker, String>>,
    /// Who says the query in other words, likewise.
    pub(crate) expander: Option<Result<&'a ChatExpander, String>>,
    /// Whether chunks of a file may be sent.
    pub(crate) may_send: &'a dyn Fn(&FileEntry) -> MaySend,
    /// For whom answers are remembered; `None` for nobody.
    pub(crate) asker: Option<ModelAsker>,
    /// What came of it so far.
    pub(crate) asked: &'a AskedOnce,
    /// Until when all of it is waited for.
    pub(crate) until: Instant,
}

/// Whether chunks of a file may be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MaySend {
    Yes,
    /// They keep their place.
    No,
    /// The file will be hidden, and the search begun anew: nothing is asked before.
    Hidden,
}

/// What a request was answered, and what failed, however often it is begun anew.
#[derive(Default)]
pub(crate) struct AskedOnce {
    pub(super) variants: OnceCell<Result<Arc<QueryVariants>, String>>,
    /// Why nothing is judged.
    pub(super) not_judged: OnceCell<String>,
}

/// What was to be done for a search and was not.
#[derive(Debug, Clone)]
pub(crate) enum Unassisted {
    /// Nothing was asked, as these are to be hidden first.
    Hidden(Vec<Arc<FileEntry>>),
    /// The best are in the order that they had, for the reason given.
    OrderKept(String),
    /// So many of the best were not sent, and kept their place.
    Withheld(usize),
    /// Only what was typed was looked for, for the reason given.
    AsTyped(String),
}

/// The share of the judgement; the score before has the rest.
pub(super) const JUDGED: f64 = 0.7;

/// Puts the best in order anew: 70 % what the model says of them and 30 % their scores, both scaled over them. What may not be sent keeps its
/// place by its score, what is called as was typed stays first, and whatever fails leaves all as it was. `candidates` are in order.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn rerank(
    candidates: &mut [Candidate],
    query: &str,
    reader: &dyn Reader,
    assistant: &Assistant<'_>,
) -> Result<Vec<Unassisted>, EngineError> {
    let Some(reranker) = &assistant.reranker else { return Ok(Vec::new()) };
    let named = candidates.iter().take_while(|candidate| candidate.named.is_some()).count();
    let rest = &mut candidates[named..];
    let (best, others) = rest.split_at_mut(rest.len().min(MOST_RERANKED));
    if best.len() < 2 || query.trim().is_empty() {
        return Ok(Vec::new());
    }
    let reranker = match reranker {
        Ok(reranker) => reranker,
        Err(reason) => return Ok(vec![Unassisted::OrderKept(reason.clone())]),
    };
    let may_send: Vec<MaySend> = best.iter().map(|candidate| (assistant.may_send)(&candidate.file)).collect();
    let hidden: Vec<_> = best.iter().zip(&may_send).filter(|(_, may)| **may == MaySend::Hidden).collect();
    if !hidden.is_empty() {
        return Ok(vec![Unassisted::Hidden(hidden.into_iter().map(|(hidden, _)| Arc::clone(&hidden.file)).collect())]);
    }
    let (mut sent, mut passages, mut withheld) = (Vec::new(), Vec::new(), 0);
    for (at, (candidate, may_send)) in best.iter().zip(may_send).enumerate() {
        if may_send != MaySend::Yes {
            withheld += 1;
            continue;
        }
        // What is damaged is read by nobody, and said where it would be shown.
        if let Some(chunk) = unless_damaged(reader.chunk(candidate.row))? {
            let context = chunk.document(&candidate.file).context;
            sent.push(at);
            passages.push(format!("{context}\n{}", chunk.text));
        }
    }
    let mut said = Vec::new();
    if withheld > 0 {
        said.push(Unassisted::Withheld(withheld));
    }
    if sent.len() < 2 {
        return Ok(said);
    }
    // A request asks no second time what has failed.
    if let Some(failed) = assistant.asked.not_judged.get() {
        return Ok(vec![Unassisted::OrderKept(failed.clone())]);
    }
    let judged = match reranker.rerank(query, &passages, assistant.asker.as_ref(), assistant.until) {
        Ok(judged) => judged,
        Err(error) => {
            let failed = assistant.asked.not_judged.get_or_init(|| error.to_string());
            return Ok(vec![Unassisted::OrderKept(failed.clone())]);
        }
    };
    for (at, judged) in sent.iter().zip(judged.iter()) {
        best[*at].scores.rerank = Some(*judged);
    }
    // Who says the same of all has told none from another.
    if judged.windows(2).any(|pair| pair[0] != pair[1]) {
        blend(best, others.first().map(|other| other.score));
    }
    Ok(said)
}

/// Orders by both, with scores between those of the best and of what comes after.
fn blend(best: &mut [Candidate], after: Option<f64>) {
    let side = |score: fn(&Candidate) -> Option<f64>| min_max(&best.iter().map(score).collect::<Vec<_>>());
    let before = side(|candidate| Some(candidate.score));
    let judged = side(|candidate| candidate.scores.rerank);
    let blended = best.iter().zip(before.iter().zip(judged)).map(|(candidate, (before, judged))| {
        candidate.scores.rerank.map_or(*before, |_| JUDGED * judged + (1.0 - JUDGED) * before)
    });
    let mut ordered: Vec<(f64, Candidate)> = blended.zip(best.iter().cloned()).collect();
    ordered.sort_by(|one, two| two.0.total_cmp(&one.0).then_with(|| place(&one.1).cmp(&place(&two.1))));
    let most = best.iter().map(|candidate| candidate.score).fold(f64::NEG_INFINITY, f64::max);
    let least = best.iter().map(|candidate| candidate.score).fold(after.unwrap_or(f64::INFINITY), f64::min);
    // Where all had the same score, there is room for the judgement below it, unless more of the same come after.
    let least = if least == most && after.is_none() { least.min(0.0) } else { least };
    for (candidate, (blended, other)) in best.iter_mut().zip(ordered) {
        *candidate = Candidate { score: least + (most - least) * blended, ..other };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variants_are_words_and_texts_and_never_conditions() {
        let typed = ParsedQuery::new("bread -cake").keyword;
        let lex = vec!["-loaf tag:private \"sour dough\"".to_owned(), "bread".to_owned(), "x ".repeat(90)];
        let variants = QueryVariants { lex, vec: vec!["how?".into()], hyde: "So.".into() };
        let expansion = Expansion::of(&typed, &variants);
        let words = expansion.words.unwrap();
        assert_eq!(words.words, ["bread", "loaf", "tag", "private", "sour", "dough", "x"]);
        assert_eq!((words.phrases, words.excluded), (typed.phrases.clone(), typed.excluded.clone()));
        assert_eq!(expansion.meaning.as_deref(), Some("how? So."));
        assert_eq!(Expansion::of(&typed, &QueryVariants::default()), Expansion::default());
        let many =
            QueryVariants { lex: vec![(0..90).map(|at| format!("w{at} ")).collect()], ..QueryVariants::default() };
        assert_eq!(Expansion::of(&typed, &many).words.unwrap().words.len(), 1 + MAX_OTHER_WORDS);
    }
}

#[cfg(test)]
mod rerank_tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::tests::exact::ExactEngine;
    use crate::index::engine::{Engine, FileUpdate};

    #[test]
    fn what_had_the_same_score_has_another_by_its_judgement() {
        let mut writer = ExactEngine::new(StemmerLanguage::English).open(false).unwrap();
        let note = |at: usize| FileUpdate::of_text(&format!("{at}.md"), "Water.\n", StemmerLanguage::English);
        writer.apply(writer.batch((0..3).map(note).collect(), Vec::new())).unwrap();
        let reader = writer.publish().unwrap();
        let judged = [0.0, 1.0, 0.5];
        let mut best: Vec<Candidate> = reader
            .files()
            .iter()
            .map(|file| {
                let at: usize = file.path.as_str()[..1].parse().unwrap();
                let mut candidate = Candidate::new(file.chunks[0].row, Arc::clone(file), 0);
                (candidate.score, candidate.scores.rerank) = (2.0, Some(judged[at]));
                candidate
            })
            .collect();
        blend(&mut best, None);
        let order: Vec<&str> = best.iter().map(|candidate| candidate.file.path.as_str()).collect();
        assert_eq!(order, ["1.md", "2.md", "0.md"]);
        assert!(best.is_sorted_by(|one, two| one.score > two.score), "{:?}", best[2].score);
    }
}
