//! What a model helps with: it reads the best and puts them in order anew.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::Instant;

use super::fuse::{Candidate, min_max, place};
use crate::index::engine::{EngineError, FileEntry, Reader, unless_damaged};
use crate::models::{MOST_RERANKED, ModelAsker, Reranker};

/// Who helps a search, and with what.
pub(crate) struct Assistant<'a> {
    /// Who puts the best in order anew, or why nobody does.
    pub(crate) reranker: Result<&'a dyn Reranker, String>,
    /// Whether chunks of a file may be sent.
    pub(crate) may_send: &'a dyn Fn(&FileEntry) -> MaySend,
    /// For whom answers are remembered; `None` for nobody.
    pub(crate) asker: Option<ModelAsker>,
    /// Why nothing is judged, once that failed: a request asks no second time, however often it is begun anew.
    pub(crate) failed: &'a OnceCell<String>,
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

/// What was to be done for a search and was not.
#[derive(Debug, Clone)]
pub(crate) enum Unassisted {
    /// Nothing was asked, as these are to be hidden first.
    Hidden(Vec<Arc<FileEntry>>),
    /// The best are in the order that they had, for the reason given.
    OrderKept(String),
    /// So many of the best were not sent, and kept their place.
    Withheld(usize),
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
    let named = candidates.iter().take_while(|candidate| candidate.named.is_some()).count();
    let rest = &mut candidates[named..];
    let (best, others) = rest.split_at_mut(rest.len().min(MOST_RERANKED));
    if best.len() < 2 || query.trim().is_empty() {
        return Ok(Vec::new());
    }
    let reranker = match &assistant.reranker {
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
    if let Some(failed) = assistant.failed.get() {
        return Ok(vec![Unassisted::OrderKept(failed.clone())]);
    }
    let judged = match reranker.rerank(query, &passages, assistant.asker.as_ref(), assistant.until) {
        Ok(judged) => judged,
        Err(error) => {
            let failed = assistant.failed.get_or_init(|| error.to_string());
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
mod rerank_tests {
    use super::*;
    use crate::base::config::StemmerLanguage;
    use crate::index::engine::tests::exact::ExactEngine;
    use crate::index::engine::{Engine, FileUpdate};

    #[test]
    fn what_had_the_same_score_has_another_by_its_judgement() {
        let mut writer = ExactEngine::new(StemmerLanguage::English).open().unwrap();
        let note = |at: usize| FileUpdate::of_text(&format!("{at}.md"), "Water.\n", StemmerLanguage::English);
        writer.apply((0..3).map(note).collect(), Vec::new()).unwrap();
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
