//! The field's measures of a ranking.

use super::questions::Question;
use super::target::Place;

/// At which places of an answer its targets stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Judged {
    /// For each target its place, from 1; `None` where it was not found.
    ranks: Vec<Option<usize>>,
}

/// What is measured: a name, and a number from 0 to 1 of one question.
pub(crate) type Measure = (&'static str, fn(&Judged) -> f64);

/// In the order in which they are shown.
pub(crate) const MEASURES: [Measure; 5] = [
    ("hit@1", |judged| judged.hit(1)),
    ("hit@5", |judged| judged.hit(5)),
    ("recall@10", |judged| judged.recall(10)),
    ("MRR", Judged::reciprocal_rank),
    ("nDCG@10", |judged| judged.ndcg(10)),
];

impl Judged {
    /// Looks for a question's targets among the hits, the best first. A hit counts for the first target that it is at and that no better
    /// one was at.
    pub(crate) fn new<'a>(question: &Question, hits: impl Iterator<Item = Place<'a>>) -> Self {
        let mut ranks = vec![None; question.targets.len()];
        for (at, hit) in hits.enumerate() {
            let new =
                ranks.iter_mut().zip(&question.targets).find(|(rank, target)| rank.is_none() && target.is_at(&hit));
            if let Some((rank, _)) = new {
                *rank = Some(at + 1);
            }
        }
        Self { ranks }
    }

    /// The place of the first that answers, from 1.
    pub(crate) fn first(&self) -> Option<usize> {
        self.ranks.iter().flatten().min().copied()
    }

    fn within(&self, k: usize) -> usize {
        self.ranks.iter().flatten().filter(|rank| **rank <= k).count()
    }

    /// 1 when any target is among the first `k`.
    fn hit(&self, k: usize) -> f64 {
        f64::from(u8::from(self.within(k) > 0))
    }

    /// The share of the targets that are among the first `k`.
    fn recall(&self, k: usize) -> f64 {
        self.within(k) as f64 / self.ranks.len().max(1) as f64
    }

    /// 1 over the place of the first target, 0 where there is none; its mean is MRR.
    fn reciprocal_rank(&self) -> f64 {
        self.first().map_or(0.0, |rank| 1.0 / rank as f64)
    }

    /// The discounted cumulative gain of the first `k`, each target a gain of 1, as a share of the highest there could be (Järvelin and
    /// Kekäläinen, TOIS 2002).
    fn ndcg(&self, k: usize) -> f64 {
        let gain = |rank: usize| 1.0 / (rank as f64 + 1.0).log2();
        let best: f64 = (1..=self.ranks.len().min(k)).map(gain).sum();
        let sum: f64 = self.ranks.iter().flatten().filter(|rank| **rank <= k).map(|rank| gain(*rank)).sum();
        if best > 0.0 { sum / best } else { 0.0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::read;

    fn measured(targets: &str, hits: &[&str]) -> [f64; 5] {
        let question = read(&format!("- q → {targets}")).unwrap().remove(0);
        let place = |path| Place { path, title: "", heading_path: &[], lines: (1, 2) };
        let judged = Judged::new(&question, hits.iter().copied().map(place));
        MEASURES.map(|(_, measure)| measure(&judged))
    }

    #[test]
    fn measures_are_those_of_the_field() {
        assert_eq!(measured("a.md", &["a.md", "a.md"]), [1.0; 5]);
        assert_eq!(measured("a.md", &["b.md"]), [0.0; 5]);
        let second = 1.0 / 3f64.log2();
        assert_eq!(measured("a.md", &["b.md", "a.md"]), [0.0, 1.0, 1.0, 0.5, second]);
        assert_eq!(measured("a.md, b.md", &["c.md", "b.md"]), [0.0, 1.0, 0.5, 0.5, second / (1.0 + second)]);
        let late: Vec<&str> = std::iter::repeat_n("x.md", 10).chain(["a.md"]).collect();
        assert_eq!(measured("a.md", &late), [0.0, 0.0, 0.0, 1.0 / 11.0, 0.0]);
    }

    #[test]
    fn one_hit_is_one_answer() {
        let [first, .., ndcg] = measured("a.md#L1, a.md#L2", &["a.md"]);
        assert!(first == 1.0 && ndcg < 1.0);
    }
}
