//! How a query is compared with the vectors of chunks.

use half::f16;

use super::error::EngineError;
use crate::text::derive::nearest::edits;

/// A query's vector at unit length.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryVector {
    unit: Vec<f32>,
}

impl QueryVector {
    /// Takes a vector of any length.
    ///
    /// # Errors
    /// When a component is not finite, or all are zero.
    pub fn new(vector: &[f32]) -> Result<Self, EngineError> {
        if vector.iter().any(|value| !value.is_finite()) {
            return Err(EngineError::other("the vector of the query has a component that is not a finite number"));
        }
        let norm = vector.iter().map(|&value| f64::from(value) * f64::from(value)).sum::<f64>().sqrt();
        if norm == 0.0 {
            return Err(EngineError::other("the vector of the query has length zero, so distances mean nothing"));
        }
        Ok(Self { unit: vector.iter().map(|&value| (f64::from(value) / norm) as f32).collect() })
    }

    /// The components.
    pub fn unit(&self) -> &[f32] {
        &self.unit
    }

    /// The cosine with a chunk's vector (of unit length, as many components).
    pub fn cosine(&self, vector: &[f32]) -> f32 {
        // Adding zero turns -0 into 0, so that the two tie.
        dot(&self.unit, vector) + 0.0
    }
}

/// The dot product in f32, the same to the last bit on every machine.
///
/// Eight sums run side by side, in an order that is written down here and not chosen by the compiler, so that equal vectors
/// get equal scores everywhere and the loop still becomes SIMD instructions.
pub(crate) fn dot(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [0.0_f32; 8];
    let (a_blocks, a_rest) = a.as_chunks::<8>();
    let (b_blocks, b_rest) = b.as_chunks::<8>();
    for (a, b) in a_blocks.iter().zip(b_blocks) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    for (lane, (a, b)) in a_rest.iter().zip(b_rest).enumerate() {
        sums[lane] += a * b;
    }
    sums.iter().sum()
}

const LARGEST: f32 = 2047.0;

/// Packs a vector: the scale as f32, then two components in each three bytes, little endian.
pub(crate) fn pack(vector: &[f16]) -> Vec<u8> {
    let largest = vector.iter().map(|value| value.to_f32().abs()).fold(0.0, f32::max);
    let scale = if largest > 0.0 { largest / LARGEST } else { 1.0 };
    let code = |value: &f16| (value.to_f32() / scale).round().clamp(-LARGEST, LARGEST) as i16 as u16 & 0xfff;
    let mut bytes = Vec::with_capacity(4 + vector.len().div_ceil(2) * 3);
    bytes.extend(scale.to_le_bytes());
    for pair in vector.chunks(2) {
        let (low, high) = (code(&pair[0]), pair.get(1).map_or(0, code));
        bytes.extend([low as u8, (low >> 8 | high << 4) as u8, (high >> 4) as u8]);
    }
    bytes
}

/// How many bytes a packed vector has.
pub(crate) fn packed_bytes(dimension: usize) -> usize {
    size_of::<f32>() + dimension.div_ceil(2) * 3
}

/// Unpacks a vector as the catalog has it; `None` when the bytes are not `dimension` components.
pub fn unpack(bytes: &[u8], dimension: usize) -> Option<Vec<f16>> {
    let (scale, packed) = bytes.split_first_chunk::<4>()?;
    let scale = f32::from_le_bytes(*scale);
    if bytes.len() != packed_bytes(dimension) {
        return None;
    }
    let value = |code: u16| f16::from_f32(f32::from((code << 4) as i16 >> 4) * scale);
    let mut vector = Vec::with_capacity(dimension + 1);
    for triple in packed.as_chunks::<3>().0 {
        let [a, b, c] = triple.map(u16::from);
        vector.push(value(a | (b & 0xf) << 8));
        vector.push(value(b >> 4 | c << 4));
    }
    vector.truncate(dimension);
    Some(vector)
}

/// What becomes of a vector that is stored and read again: searches use this from the start, so that a restart changes no
/// score.
pub(crate) fn rounded(vector: &[f16]) -> Vec<f16> {
    unpack(&pack(vector), vector.len()).expect("what was packed is whole")
}

/// What a word is like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Like {
    /// It begins so, and goes on.
    Prefix(String),
    /// So many letters at most are changed, put in, left out or exchanged with their neighbour.
    Edits(String, u8),
}

impl Like {
    /// How far a word is from it, when it is like it: 0 of what begins so.
    pub fn distance(&self, word: &str) -> Option<usize> {
        match self {
            Self::Prefix(prefix) => (word.starts_with(prefix.as_str()) && word.len() > prefix.len()).then_some(0),
            Self::Edits(other, most) => {
                // Cheaper than the distance, which is never less than this.
                let apart = word.chars().count().abs_diff(other.chars().count());
                let near = || Some(edits(word, other)).filter(|edits| *edits <= usize::from(*most));
                (apart <= usize::from(*most)).then(near).flatten()
            }
        }
    }
}

/// A word that is like another, and how many chunks have it in their text, their title or their headings.
pub type LikeWord = (String, u64);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::chance::proptest_config;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(proptest_config(256))]

        #[test]
        fn a_vector_comes_back_as_it_was_rounded(values in prop::collection::vec(-1.0f32..1.0, 1..400)) {
            let vector: Vec<f16> = values.iter().copied().map(f16::from_f32).collect();
            let once = rounded(&vector);
            let largest = values.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
            for (value, rounded) in vector.iter().zip(&once) {
                prop_assert!((value.to_f32() - rounded.to_f32()).abs() <= largest / 2000.0);
            }
            prop_assert_eq!(unpack(&pack(&vector), vector.len()), Some(once));
            prop_assert_eq!(unpack(&pack(&vector), vector.len() + 2), None);
        }
    }
}

#[cfg(test)]
mod tests_of_like {
    use super::*;

    #[test]
    fn slips_of_the_finger_are_near() {
        let edits = |typed: &str, most, word: &str| Like::Edits(typed.into(), most).distance(word);
        assert_eq!(edits("ownreship", 2, "ownership"), Some(1), "two letters that changed places are one slip");
        assert_eq!(edits("clousre", 1, "closure"), Some(1));
        assert_eq!([edits("gardne", 1, "gardens"), edits("gardne", 2, "gardens")], [None, Some(2)]);
        assert_eq!(edits("bok", 1, "books"), None);
        let prefix = |word: &str| Like::Prefix("necta".into()).distance(word);
        assert_eq!([prefix("nectar"), prefix("necta"), prefix("connectable")], [Some(0), None, None]);
    }
}
