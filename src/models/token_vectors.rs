//! A vector of length 1 for each token of a text, and how near two such texts are; the same in little room, two tokens merged into one, and one bit a
//! component.

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
}

fn rounded(vector: Vec<f32>) -> impl Iterator<Item = i8> {
    vector.into_iter().map(|value| (value * SCALE).round() as i8)
}

/// Whole numbers, so that the same two texts are as near in any order of adding up.
fn dot(one: &[i8], other: &[i8]) -> i32 {
    one.iter().zip(other).map(|(one, other)| i32::from(i16::from(*one) * i16::from(*other))).sum()
}

/// Of 384 components these take 2 kB, so that three chunks with their vectors fit into a page of the catalog.
const MOST_KEPT: usize = 42;

/// What a text keeps of its tokens, so that they need not be computed when it is searched.
///
/// Of each token that is left one bit a component says whether it is above the mean of the model's tokens (as in RaBitQ, Gao and Long,
/// SIGMOD 2024, without the rotation): 48 bytes of 384 components. The mean belongs to the model and not to the texts, so that no text
/// moves the score of another.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PackedTokens(Vec<u8>);

impl PackedTokens {
    /// Packs tokens, half as many as there were, or [`MOST_KEPT`]. `mean` is that of the model's tokens, of the same dimension.
    ///
    /// # Panics
    /// When the mean is of another dimension.
    pub(super) fn of(tokens: &TokenVectors, mean: &[f32]) -> Self {
        let merged = tokens.merged(MOST_KEPT);
        let mut bits = Vec::new();
        for token in merged.iter() {
            assert_eq!(token.len(), mean.len(), "the mean is of the same model");
            let above = |(value, mean): (f32, &f32)| value > *mean;
            let above: Vec<bool> = token.iter().copied().zip(mean).map(above).collect();
            bits.extend(
                above
                    .chunks(8)
                    .map(|eight| eight.iter().enumerate().fold(0, |byte, (at, above)| byte | u8::from(*above) << at)),
            );
        }
        Self(bits)
    }

    /// Takes up what was stored.
    pub fn from_bytes(bytes: Vec<u8>) -> Self {
        Self(bytes)
    }

    /// What is stored.
    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }
}

fn bytes_each(dimension: usize) -> usize {
    dimension.div_ceil(8)
}

/// A query's tokens, in full, ready to be held against packed ones.
#[derive(Debug, Clone)]
pub struct TokenQuery {
    /// Of each token, for each byte of a packed one, what that byte adds to their product.
    sums: Vec<Vec<[f32; 256]>>,
    bytes_each: usize,
}

impl TokenQuery {
    /// Prepares a query's tokens: 49 kB each of 384 components.
    pub fn new(tokens: &TokenVectors) -> Self {
        let bytes_each = bytes_each(tokens.dimension());
        let sums = |token: Vec<f32>| token.chunks(8).map(sums).collect();
        Self { sums: tokens.iter().map(sums).collect(), bytes_each }
    }

    /// The mean over the query's tokens of the greatest product with one of the text's, each of which counts as ±1 a component over the
    /// square root of how many there are: MaxSim but for what is the same for all texts. `None` of a text without tokens, or of another model.
    pub fn max_sim(&self, text: &PackedTokens) -> Option<f64> {
        let tokens = text.as_bytes().chunks_exact(self.bytes_each);
        if tokens.len() == 0 || self.sums.is_empty() || !text.as_bytes().len().is_multiple_of(self.bytes_each) {
            return None;
        }
        let product = |sums: &[[f32; 256]], token: &[u8]| -> f32 {
            sums.iter().zip(token).map(|(sums, byte)| sums[usize::from(*byte)]).sum()
        };
        let best = |sums: &Vec<[f32; 256]>| tokens.clone().map(|token| product(sums, token)).fold(f32::MIN, f32::max);
        let sum: f64 = self.sums.iter().map(best).map(f64::from).sum();
        Some(sum / (self.sums.len() as f64 * (self.bytes_each as f64 * 8.0).sqrt()))
    }
}

/// Of up to eight components, what each byte of signs makes of them.
fn sums(eight: &[f32]) -> [f32; 256] {
    let mut sums = [0.0; 256];
    sums[0] = -eight.iter().sum::<f32>();
    for byte in 1..256_usize {
        let lowest = byte.trailing_zeros() as usize;
        sums[byte] = sums[byte & (byte - 1)] + 2.0 * eight.get(lowest).copied().unwrap_or_default();
    }
    sums
}

/// Scales a vector to length 1. Returns `None` for one that has no direction: all zero, or not finite.
pub(super) fn unit(vector: &[f32]) -> Option<Vec<f32>> {
    let squares: f64 = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    let length = squares.sqrt();
    (length.is_finite() && length > 0.0).then(|| vector.iter().map(|&x| (f64::from(x) / length) as f32).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DIMENSION: usize = 20;

    /// Vectors that are much the same for the same seed.
    fn tokens(seeds: &[u32]) -> TokenVectors {
        let value = |seed: u32, at: usize| f32::from(blake3::hash(&[seed as u8, at as u8]).as_bytes()[0]) / 128.0 - 1.0;
        let values: Vec<f32> = seeds.iter().flat_map(|seed| (0..DIMENSION).map(|at| value(*seed, at))).collect();
        TokenVectors::new(DIMENSION, &values)
    }

    fn packed(seeds: &[u32]) -> PackedTokens {
        PackedTokens::of(&tokens(seeds), &[0.0; DIMENSION])
    }

    #[test]
    fn the_sum_of_a_byte_is_that_of_its_signs() {
        let eight = [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 128.0];
        for (byte, sum) in sums(&eight).into_iter().enumerate() {
            assert_eq!(sum, 2.0 * byte as f32 - 255.0);
        }
        assert_eq!(sums(&[3.0])[0b10], -3.0, "what is not there counts for nothing");
    }

    #[test]
    fn a_text_with_the_query_s_tokens_is_nearer_than_another() {
        let query = TokenQuery::new(&tokens(&[1, 2]));
        let both = query.max_sim(&packed(&[1, 1, 2, 2])).unwrap();
        let one = query.max_sim(&packed(&[1, 1, 9, 9])).unwrap();
        let none = query.max_sim(&packed(&[7, 7, 9, 9])).unwrap();
        assert!(both > one && one > none, "{both} {one} {none}");
        assert!((0.5..=1.0).contains(&both), "{both}");
    }

    #[test]
    fn half_as_many_tokens_are_kept_and_every_text_keeps_one() {
        assert_eq!(packed(&[1, 1, 2, 2, 3]).as_bytes().len(), 3 * 3);
        assert_eq!(packed(&[1]).as_bytes().len(), 3);
        assert_eq!(packed(&[]).as_bytes().len(), 0);
    }

    #[test]
    fn what_is_not_of_this_model_is_near_nothing() {
        let query = TokenQuery::new(&tokens(&[1]));
        for bytes in [vec![], vec![0; 4]] {
            assert_eq!(query.max_sim(&PackedTokens::from_bytes(bytes)), None);
        }
        assert_eq!(TokenQuery::new(&tokens(&[])).max_sim(&packed(&[1])), None);
    }
}
