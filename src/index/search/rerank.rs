//! The stage for a second judgement: the best are read by a model, and put in order anew.

use std::sync::Arc;

use super::candidate::{Candidate, place};
use super::expand::{Assistant, MaySend, Unassisted};
use super::fuse::min_max;
use crate::index::engine::{EngineError, Reader, unless_damaged};
use crate::models::MOST_RERANKED;

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
