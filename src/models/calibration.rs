//! What a model's cosines say of an answer.

/// How likely a chunk answers, as `1 / (1 + exp(−(base + words · coverage + meaning · cosine)))`: a logistic regression over labelled
/// queries, those with an answer and those without weighing the same (`benches/relevance`, which has the shares below each threshold).
///
/// Fitted on two documentations, with 45 questions, 490 headings and halves of sentences, and as many that the notes do not answer. Below 0.1
/// are 2 % of the right answers and 44 % of the best hits without one; of questions alone 5 % and 56 %.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Calibration {
    base: f64,
    /// Of the share of the score by words that the chunk has of what it could have at most, 0 to 1.
    words: f64,
    /// Of the cosine.
    meaning: f64,
}

impl Calibration {
    /// Of the words alone, where no model was asked.
    pub(crate) const WORDS: Self = Self { base: -3.81, words: 19.52, meaning: 0.0 };
    const MINILM: Self = Self { base: -5.60, words: 9.43, meaning: 11.26 };
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
        1.0 / (1.0 + (-(self.base + self.words * coverage + self.meaning * cosine)).exp())
    }
}

/// How likely two short texts say the same, as `1 / (1 + exp(−(base + slope · cosine)))`: a logistic regression over 30 pairs of entries that
/// say the same in other words and 19 that do not, though they begin and end alike. From 0.85 on, which is a cosine of 0.92, are 18 of the
/// former and none of the latter.
///
/// Of a model that was not measured the cosine itself is taken.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Sameness {
    /// Of a model that was measured.
    Measured {
        /// Of no cosine.
        base: f64,
        /// Of the cosine.
        slope: f64,
    },
    /// Of another.
    Cosine,
}

impl Sameness {
    /// By the name of a model.
    pub(crate) fn of(model: &str) -> Self {
        match model {
            "all-MiniLM-L6-v2" => Self::Measured { base: -25.6, slope: 29.7 },
            _ => Self::Cosine,
        }
    }

    /// How likely texts with such a cosine say the same, 0 to 1.
    pub(crate) fn likely(self, cosine: f64) -> f64 {
        match self {
            Self::Measured { base, slope } => 1.0 / (1.0 + (-(base + slope * cosine)).exp()),
            Self::Cosine => cosine.clamp(0.0, 1.0),
        }
    }
}
