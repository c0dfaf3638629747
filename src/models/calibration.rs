//! What a model's cosines say of an answer.

/// How likely a chunk answers, as `1 / (1 + exp(−(base + words · √coverage + meaning · cosine)))`: a logistic regression over labelled
/// queries. By the root, what has none of the words is told from what has some: "zebra quantum finance", of which a vault has no word, is
/// nothing, and no 0.14 as it was.
///
/// Fitted on two documentations and five conversations (813 questions and 463 headings with an answer; 565 questions without one, to those, to the
/// conversations and to a personal vault), each set weighing the same, and made 0.4 stricter. Below 0.1 are 3.8 % of the right answers and 75 %
/// of the best hits without one (before, on the same: 3.0 and 68 %); below 0.2 are 6.1 and 86 %, below 0.5 are 13.6 and 94 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Calibration {
    base: f64,
    /// Of the root of the share of the score by words that the chunk has of what it could have at most, 0 to 1.
    words: f64,
    /// Of the cosine.
    meaning: f64,
}

impl Calibration {
    /// Of the words alone, where no model was asked: as likely as before the root, from a tenth of the words to half of them.
    pub(crate) const WORDS: Self = Self { base: -6.5, words: 15.1, meaning: 0.0 };
    const MINILM: Self = Self { base: -8.9, words: 10.3, meaning: 15.8 };
    const MINILM_ALONE: Self = Self { base: -7.50, words: 0.0, meaning: 18.09 };

    /// Of a model's cosines beside the words or, with `alone`, without them; `None` of a model that was not measured.
    pub(crate) fn of(model: &str, alone: bool) -> Option<Self> {
        match model {
            "all-MiniLM-L6-v2" if alone => Some(Self::MINILM_ALONE),
            "all-MiniLM-L6-v2" => Some(Self::MINILM),
            _ => None,
        }
    }

    /// How likely a chunk answers, 0 to 1.
    pub(crate) fn relevance(&self, coverage: f64, cosine: f64) -> f64 {
        1.0 / (1.0 + (-(self.base + self.words * coverage.sqrt() + self.meaning * cosine)).exp())
    }
}

/// How likely two short texts with such a cosine say the same, 0 to 1, by the name of the model: `1 / (1 + exp(−(base + slope · cosine)))`, a
/// logistic regression over 30 pairs of entries that say the same in other words and 19 that do not, though they begin and end alike. From
/// 0.85 on, which is a cosine of 0.92, are 18 of the former and none of the latter.
///
/// Of a model that was not measured the cosine itself is taken.
pub(crate) fn sameness(model: &str, cosine: f64) -> f64 {
    match model {
        "all-MiniLM-L6-v2" => 1.0 / (1.0 + (25.6 - 29.7 * cosine).exp()),
        _ => cosine.clamp(0.0, 1.0),
    }
}

#[cfg(test)]
mod tests {
    use super::Calibration;

    #[test]
    fn what_has_none_of_the_words_is_likely_by_its_meaning_alone() {
        let both = Calibration::of("all-MiniLM-L6-v2", false).unwrap();
        // The best hits for nonsense, and for words that no note has, are as near as 0.33.
        assert!(both.relevance(0.0, 0.34) < 0.05 && Calibration::WORDS.relevance(0.0, 0.0) < 0.01);
        // The nearest without one of the words, and what a question's answers have of both.
        assert!(both.relevance(0.0, 0.6) > 0.5 && both.relevance(0.13, 0.46) > 0.5);
    }
}
