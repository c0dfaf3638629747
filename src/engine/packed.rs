//! How an embedding is stored: 12 bits a component.
//!
//! A component becomes a whole number from -2047 to 2047 times a scale, which is as fine as f16 is for vectors of unit length
//! (an error of at most 1/4094 of the largest component), in three quarters of the room: the index has to stay below
//! 4.5 times the text, and embeddings are half of it.

use half::f16;

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chance::proptest_config;
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
