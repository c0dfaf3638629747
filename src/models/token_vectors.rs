//! A vector for each token of a text, and how near two such texts are.

use super::unit::unit;

/// The vectors of a text's tokens, each of length 1 and rounded to 8 bits a component.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TokenVectors {
    dimension: usize,
    /// One after the other, in 127ths.
    values: Vec<i8>,
}

/// What a component of 1 is stored as.
const SCALE: f32 = 127.0;

/// Rounds of k-means. What comes of three is measured in docs/retrieval.md; other numbers were not tried.
const MERGING_ROUNDS: usize = 3;

impl TokenVectors {
    /// Takes vectors of `dimension` numbers, one after the other, and scales each to length 1. One without a direction is left out.
    ///
    /// # Panics
    /// When `dimension` is 0.
    pub fn new(dimension: usize, values: &[f32]) -> Self {
        Self { dimension, values: values.chunks_exact(dimension).filter_map(unit).flat_map(rounded).collect() }
    }

    /// How many tokens there are.
    pub fn len(&self) -> usize {
        self.values.len() / self.dimension
    }

    /// Whether there is no token.
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// The length of each vector.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The vectors, one after the other.
    pub(super) fn iter(&self) -> impl Iterator<Item = Vec<f32>> {
        let number = |value: &i8| f32::from(*value) / SCALE;
        self.values.chunks_exact(self.dimension).map(move |token| token.iter().map(number).collect())
    }

    /// Half as many vectors that stand for these, and not more than `most`, those that are alike for one: k-means by cosine, begun with
    /// tokens as far from each other in the text as can be, so that the same tokens give the same.
    pub(super) fn merged(&self, most: usize) -> Self {
        let tokens: Vec<&[i8]> = self.values.chunks_exact(self.dimension).collect();
        let count = tokens.len().div_ceil(2).min(most);
        let mut centres: Vec<Vec<i8>> = (0..count).map(|at| tokens[at * tokens.len() / count].to_vec()).collect();
        for _ in 0..MERGING_ROUNDS {
            let mut sums = vec![vec![0_i32; self.dimension]; centres.len()];
            for token in &tokens {
                // The first of those that are as near.
                let nearest = (0..centres.len()).rev().max_by_key(|at| dot(token, &centres[*at]));
                let Some(sum) = nearest.map(|at| &mut sums[at]) else { continue };
                sum.iter_mut().zip(*token).for_each(|(sum, value)| *sum += i32::from(*value));
            }
            for (centre, sum) in centres.iter_mut().zip(sums) {
                let sum: Vec<f32> = sum.into_iter().map(|sum| sum as f32).collect();
                // One that is nearest to none stays where it is.
                if let Some(vector) = unit(&sum) {
                    *centre = rounded(vector).collect();
                }
            }
        }
        Self { dimension: self.dimension, values: centres.concat() }
    }

    /// What they take in memory, in bytes.
    #[cfg(feature = "gguf")]
    pub(super) fn bytes(&self) -> usize {
        self.values.len()
    }

    /// MaxSim: the mean over these tokens of the highest cosine with one of the other text's (Khattab and Zaharia, SIGIR 2020, where it is
    /// the sum). −1 to 1; 0 when either text has no token.
    ///
    /// # Panics
    /// When the two are of different dimensions.
    pub fn max_sim(&self, text: &Self) -> f64 {
        assert_eq!(self.dimension, text.dimension, "vectors of one model are compared");
        if self.is_empty() || text.is_empty() {
            return 0.0;
        }
        let best = |token: &[i8]| text.values.chunks_exact(self.dimension).map(|other| dot(token, other)).max();
        let sum: i64 = self.values.chunks_exact(self.dimension).filter_map(best).map(i64::from).sum();
        sum as f64 / (self.len() as f64 * f64::from(SCALE * SCALE))
    }
}

fn rounded(vector: Vec<f32>) -> impl Iterator<Item = i8> {
    vector.into_iter().map(|value| (value * SCALE).round() as i8)
}

/// Whole numbers, so that the same two texts are as near in any order of adding up.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other))).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_of_the_query_takes_its_best() {
        let query = TokenVectors::new(2, &[1.0, 0.0, 0.0, 2.0]);
        let both = TokenVectors::new(2, &[0.0, 1.0, 1.0, 1.0, 3.0, 0.0]);
        assert!((query.max_sim(&both) - 1.0).abs() < 0.01);
        let one = TokenVectors::new(2, &[5.0, 0.0]);
        assert!((query.max_sim(&one) - 0.5).abs() < 0.01);
        let between = TokenVectors::new(2, &[1.0, 1.0]);
        assert!((query.max_sim(&between) - 0.5_f64.sqrt()).abs() < 0.01);
        assert!(query.max_sim(&TokenVectors::new(2, &[-1.0, -1.0])) < -0.7);
    }

    #[test]
    fn tokens_without_a_direction_are_none() {
        let none = TokenVectors::new(2, &[0.0, 0.0, f32::NAN, 1.0]);
        assert!(none.is_empty());
        assert_eq!(none.max_sim(&TokenVectors::new(2, &[1.0, 0.0])), 0.0);
        assert_eq!(TokenVectors::new(2, &[1.0, 0.0]).max_sim(&none), 0.0);
    }
}
